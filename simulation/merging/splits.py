"""Queries parted between two owners, so that each knows what the other does not.

Source: "Learning to Rank for Non Independent and Identically Distributed Datasets" (2024), called the merging paper.
By category (Section 3): every document has one, a query has that of its relevant documents. Client 1 gets the queries
of one category by one of three rules, client 2 the others or, as DS2', those without a relevant document of the
category (Section 5.2). What nobody got can become D_merge (`merge_sets`). Where no feature is a category, documents
above a threshold of a feature are one: the paper itself proposes PageRank (Section 6). Query groups and ranges of
query numbers part queries without looking at documents.

A split takes what it needs from the training queries (`parter`) and then parts any queries of the data set alike.
Features are read as the files have them: a category does not survive normalisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
import numpy as np

from foltr.arrays import BoolVector, FloatMatrix, FloatVector, Int64Vector, IntVector
from simulation.data.queries import QuerySet
from simulation.errors import DatasetError

Rule = Literal["initial", "no-ties", "exclusive"]
"""which queries are client 1's: "initial", those of the category, ties broken (Section 3.1); "no-ties", those with more
relevant documents of the category than of any other; "exclusive", those with no relevant document of another one"""

Second = Literal["others", "none-relevant", "none"]
"""which are client 2's: "others", all that client 1 does not have (DS2); "none-relevant", those without a relevant
document of the category (DS2'); "none", those without any document of it. The paper words DS2' both ways"""

Number = Annotated[int, msgspec.Meta(ge=1)]


class Parted(msgspec.Struct, frozen=True, eq=False):
    """Who has which queries; numbers are places in the query set that was parted, rising."""

    first: IntVector
    """[n] client 1's"""
    second: IntVector
    """[n] client 2's"""
    affinity: FloatVector
    """[n_queries] how much each query is of client 1's kind: what `merge_sets` sorts by"""

    @property
    def rest(self) -> IntVector:
        """What nobody got."""
        return np.setdiff1d(np.arange(len(self.affinity)), np.concatenate([self.first, self.second]))


Parter = Callable[[QuerySet], Parted]


class _Split(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What all splits are: strict records that name themselves in the field `kind`."""


class CategorySplit(_Split, frozen=True, tag="category"):
    """By a feature that numbers the category of a document."""

    feature: Annotated[int, msgspec.Meta(ge=0)]
    """its id in the files, from 1; 0 where a preset cannot know it and the owner of the data must name it"""
    category: int
    """client 1's"""
    rule: Rule = "no-ties"
    second: Second = "none-relevant"

    def parter(self, train: QuerySet, rng: np.random.Generator) -> Parter:
        """`rng` breaks the last ties of "initial"."""
        column = _column(train, self.feature)
        if not (train.features[:, column] == self.category).any():
            raise DatasetError(f"merging.split: feature {self.feature} is never {self.category}: no such category")
        return _parter(self, self.category, lambda queries: queries.features[:, column].astype(np.int64), rng)


class FeatureSplit(_Split, frozen=True, tag="feature"):
    """By a feature of documents: those above a quantile of the relevant training documents are client 1's category."""

    feature: Number
    """its id in the files, from 1: PageRank is 130 in MSLR, 41 in LETOR 4.0"""
    quantile: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    rule: Rule = "exclusive"
    second: Second = "none-relevant"

    def parter(self, train: QuerySet, rng: np.random.Generator) -> Parter:
        """`rng` breaks the last ties of "initial"."""
        column = _column(train, self.feature)
        threshold = np.quantile(train.features[train.grades > 0, column].astype(np.float64), self.quantile)
        return _parter(self, 1, lambda queries: (queries.features[:, column] > threshold).astype(np.int64), rng)


class IntentSplit(_Split, frozen=True, tag="intents"):
    """By the label sets of a data set: the category of a document is the first intent that it is relevant to."""

    intent: Number
    """client 1's, from 1"""
    rule: Rule = "no-ties"
    second: Second = "others"

    def parter(self, train: QuerySet, rng: np.random.Generator) -> Parter:
        """`rng` breaks the last ties of "initial"."""
        if train.label_sets is None or self.intent > len(train.label_sets):
            n_sets = 0 if train.label_sets is None else len(train.label_sets)
            raise DatasetError(f"merging.split.intent: there are {n_sets} label sets, not {self.intent}")
        return _parter(self, self.intent, first_intents, rng)


def _parter(
    split: CategorySplit | FeatureSplit | IntentSplit,
    category: int,
    categories: Callable[[QuerySet], Int64Vector],
    rng: np.random.Generator,
) -> Parter:
    """By those categories of documents, as the split says."""
    return lambda queries: by_category(
        queries, categories(queries), category, rng, rule=split.rule, second=split.second
    )


class GroupSplit(_Split, frozen=True, tag="groups"):
    """By k-means of the queries' mean feature vectors, each feature with mean 0 and deviation 1 over training queries.

    The two largest groups of the training queries are the clients', the larger one client 1's.
    """

    groups: Annotated[int, msgspec.Meta(ge=2)] = 4
    seed: Annotated[int, msgspec.Meta(ge=0)] = 5

    def parter(self, train: QuerySet, rng: np.random.Generator) -> Parter:
        """Draws nothing: the groups are those of `seed`, whatever the seed of the cell is."""
        if train.n_queries < self.groups:
            raise DatasetError(f"merging.split.groups: {self.groups} groups of {train.n_queries} queries")
        means = query_means(train)
        centre, spread = means.mean(axis=0), means.std(axis=0)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        centres, groups = k_means((means - centre) * scale, self.groups, np.random.default_rng(self.seed))
        largest, next_largest = np.argsort(-np.bincount(groups, minlength=self.groups), kind="stable")[:2]

        def part(queries: QuerySet) -> Parted:
            distances = _distances((query_means(queries) - centre) * scale, centres)
            nearest = distances.argmin(axis=1)
            first, second = np.flatnonzero(nearest == largest), np.flatnonzero(nearest == next_largest)
            return Parted(first, second, distances[:, next_largest] - distances[:, largest])

        return part


class RangeSplit(_Split, frozen=True, tag="qids"):
    """By numbers of queries, as the years of the TREC Web Track: 1 to 50 are of 2009, 51 to 100 of 2010, and so on."""

    first: tuple[int, int]
    """client 1's: from, to"""
    second: tuple[int, int]

    def parter(self, train: QuerySet, rng: np.random.Generator) -> Parter:
        """Learns nothing of the training queries and draws nothing."""
        return lambda queries: by_range(queries, self.first, self.second)


Split = CategorySplit | FeatureSplit | IntentSplit | GroupSplit | RangeSplit

SPLITS: dict[str, type[Split]] = {
    "category": CategorySplit,
    "feature": FeatureSplit,
    "intents": IntentSplit,
    "groups": GroupSplit,
    "qids": RangeSplit,
}


def by_category(
    queries: QuerySet, categories: Int64Vector, category: int, rng: np.random.Generator, *, rule: Rule, second: Second
) -> Parted:
    """Client 1 has the queries of `category` by `rule`, client 2 those that `second` names.

    categories  [n_docs]; a document is relevant with a grade of 1 or more
    A query without a relevant document has no category: it is nobody's, or client 2's where that gets "others".
    """
    starts = queries.offsets[:-1]
    relevant = queries.grades > 0
    names, numbers = np.unique(categories, return_inverse=True)
    counts = _per_category(relevant.astype(np.float64), numbers, len(names), starts)
    own = np.flatnonzero(names == category)
    if not len(own):
        return Parted(np.empty(0, np.intp), np.arange(queries.n_queries), np.zeros(queries.n_queries))
    count, others = counts[:, own[0]], np.delete(counts, own[0], axis=1)
    if rule == "initial":
        mine = query_categories(queries, categories, rng) == own[0]
    elif rule == "no-ties":
        mine = count > others.max(axis=1, initial=0.0)
    else:
        mine = (count > 0) & (others.sum(axis=1) == 0)
    return Parted(
        np.flatnonzero(mine), np.flatnonzero(_seconds(queries, categories == category, count, mine, second)), count
    )


def query_categories(queries: QuerySet, categories: Int64Vector, rng: np.random.Generator) -> Int64Vector:
    """The place of each query's category among the sorted ones; -1 without a relevant document (Section 3.1).

    The most frequent one among the relevant documents; of equals that with the highest sum of grades, then that with
    the highest grade, then one at random.
    """
    starts = queries.offsets[:-1]
    grades = np.where(queries.grades > 0, queries.grades, 0).astype(np.float64)
    names, numbers = np.unique(categories, return_inverse=True)
    counts = _per_category((grades > 0).astype(np.float64), numbers, len(names), starts)
    sums = _per_category(grades, numbers, len(names), starts)
    tops = _per_category(grades, numbers, len(names), starts, add=np.maximum)
    candidates = np.ones(counts.shape, dtype=np.bool_)
    for measure in (counts, sums, tops):
        best = np.where(candidates, measure, -1.0).max(axis=1, keepdims=True)
        candidates &= measure == best
    chosen = np.where(candidates, rng.random(candidates.shape), -1.0).argmax(axis=1)
    return np.where(counts.any(axis=1), chosen, -1).astype(np.int64)


def first_intents(queries: QuerySet) -> Int64Vector:
    """The first label set, from 1, in which each document is relevant `[n_docs]`; 0 for none."""
    sets = np.empty((0, len(queries.grades))) if queries.label_sets is None else queries.label_sets
    relevant = np.vstack([np.zeros((1, len(queries.grades)), dtype=np.bool_), sets > 0])
    return np.asarray(relevant.argmax(axis=0), dtype=np.int64)


def by_range(queries: QuerySet, first: tuple[int, int], second: tuple[int, int]) -> Parted:
    """Queries whose numbers lie in one of two ranges, ends included; the others are more of the kind that is nearer."""
    if not all(qid.isdecimal() for qid in queries.qids):
        raise DatasetError("merging.split.kind: qids wants queries that are named by numbers")
    numbers = np.array([int(qid) for qid in queries.qids])
    to_first, to_second = (np.maximum(0, np.maximum(low - numbers, numbers - high)) for low, high in (first, second))
    affinity = (to_second - to_first).astype(np.float64)
    return Parted(np.flatnonzero(to_first == 0), np.flatnonzero((to_second == 0) & (to_first > 0)), affinity)


def merge_sets(affinity: FloatVector, among: IntVector, n_first: int, n_second: int) -> tuple[IntVector, IntVector]:
    """D_merge of both clients out of the queries `among`: half as many as it has, least like its own (Section 5.2).

    Sorted by affinity, equal ones as they come, client 1 gets the first floor(n_first / 2) and client 2 the last
    floor(n_second / 2), at least one and at most all.
    """
    ordered = among[np.argsort(affinity[among], kind="stable")]
    return ordered[: max(1, n_first // 2)], ordered[-max(1, n_second // 2) :]


def query_means(queries: QuerySet) -> FloatMatrix:
    """The mean feature vector of each query's documents `[n_queries, n_features]`."""
    sums = np.add.reduceat(queries.features.astype(np.float64), queries.offsets[:-1], axis=0)
    means: FloatMatrix = sums / np.diff(queries.offsets)[:, None]
    return means


def _seconds(
    queries: QuerySet, of_category: BoolVector, count: FloatVector, mine: BoolVector, second: Second
) -> BoolVector:
    """Which queries are client 2's `[n_queries]`."""
    if second == "others":
        return ~mine
    barred = count > 0 if second == "none-relevant" else _any(of_category, queries)
    return _any(queries.grades > 0, queries) & ~barred


def _any(documents: BoolVector, queries: QuerySet) -> BoolVector:
    """Which queries have one of these documents `[n_queries]`."""
    some: BoolVector = np.logical_or.reduceat(documents, queries.offsets[:-1])
    return some


def _per_category(
    values: FloatVector, numbers: Int64Vector, n_categories: int, starts: Int64Vector, *, add: np.ufunc = np.add
) -> FloatMatrix:
    """Per query and category the sum (or another `add`) of the values of its documents `[n_queries, n_categories]`."""
    columns = [add.reduceat(np.where(numbers == number, values, 0.0), starts) for number in range(n_categories)]
    return np.stack(columns, axis=1)


K_MEANS_STEPS = 10


def k_means(points: FloatMatrix, n_groups: int, rng: np.random.Generator) -> tuple[FloatMatrix, IntVector]:
    """Centres `[n_groups, n]` and each point's group, by Lloyd's steps from k-means++ (Arthur and Vassilvitskii 2007).

    A group that nobody is nearest to keeps its centre. A library finds the nearest by products of matrices, whose last
    digits are the processor's.
    """
    centres, groups = points[[rng.integers(len(points))]], np.zeros(len(points), dtype=np.intp)
    while len(centres) < n_groups:
        so_far = np.cumsum(_distances(points, centres).min(axis=1) ** 2)
        chosen = min(int(np.searchsorted(so_far, rng.random() * so_far[-1])), len(points) - 1)
        centres = np.vstack([centres, points[chosen]])
    for _ in range(K_MEANS_STEPS):
        groups = _distances(points, centres).argmin(axis=1)
        near = [points[groups == group] for group in range(n_groups)]
        centres = np.array([own.mean(axis=0) if len(own) else old for own, old in zip(near, centres, strict=True)])
    return centres, groups


def _distances(points: FloatMatrix, centres: FloatMatrix) -> FloatMatrix:
    """[n_points, n_centres] Euclidean."""
    distances: FloatMatrix = np.linalg.norm(points[:, None, :] - centres[None, :, :], axis=2)
    return distances


def _column(train: QuerySet, feature: int) -> int:
    if feature > train.n_features:
        raise DatasetError(f"merging.split.feature: there are {train.n_features} features, not {feature}")
    return feature - 1
