"""How good a ranker is on held-out queries: nDCG, MRR, MAP and the expected MaxRR, for all queries at once.

Papers differ in what they count, so every convention is an argument:

    no relevant document   "skip" leaves such queries out (the published code of PDGD, of the thesis, and of FOLtR-ES's
                           reproduction), "zero" and "one" give them that value for nDCG, MRR and MAP (trec_eval and
                           the shown pages of a round: zero; LightGBM: one)
    equal scores           "first" keeps the data's order; "last" puts the later document first, as the published
                           FPDGD and FOLtR-ES code, which reverse an ascending sort (theirs is unstable besides)
    gain                   "exponential" 2^grade - 1 in every paper here, "linear" in trec_eval

The ideal is over all documents of the query. MaxRR is an expectation over clicks, which need no relevant document: it
is the mean over all queries whatever `no_relevant` says (FOLtR-ES, Table 3: "average these values over all queries").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from foltr.arrays import FloatVector, Int64Vector
from foltr.errors import ValueRangeError
from foltr.ranking.metrics import discounts, gains
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.batched import compiled
from simulation.batched.pages import linear_scores, neural_scores
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import Users, expected_max_rr

NoRelevant = Literal["skip", "zero", "one"]
Ties = Literal["first", "last"]

BLOCK = 1024
"""documents scored at a time: float64 copies of this many rows stay in the cache"""


class QueryValues(Struct, frozen=True, eq=False):
    """The value of each query that counts, in the order of the data; what paired tests need."""

    ndcg: FloatVector
    reciprocal_rank: FloatVector
    average_precision: FloatVector


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the queries that count."""

    ndcg: float
    mrr: float
    map: float
    max_rr: float | None
    """over all queries; None without users"""
    err: float | None
    """None without the highest grade of the scale"""
    each: QueryValues = field(repr=False, compare=False)
    """what nDCG, MRR and MAP are means of; without a query that counts they are NaN"""

    @property
    def metrics(self) -> dict[str, Any]:
        """By their names in a row."""
        return {
            "offline_ndcg": self.ndcg, "offline_mrr": self.mrr, "offline_map": self.map, "offline_max_rr": self.max_rr,
            "offline_err": self.err,
        }  # fmt: skip

    @property
    def n_queries(self) -> int:
        """How many queries counted for nDCG, MRR and MAP."""
        return len(self.each.ndcg)

    @property
    def query_ndcg(self) -> tuple[float, ...]:
        """nDCG of each query that counts, to six digits: enough for any test, and a third of the length."""
        return tuple(np.round(self.each.ndcg, 6).tolist())


class Judged(Struct, frozen=True, eq=False):
    """Queries with everything about them that no ranker changes; made by `judge`."""

    queries: QuerySet
    gain: FloatVector
    """[n_docs] worth of each document"""
    relevant: FloatVector
    """[n_docs] 1 where MAP and MRR take the document as relevant, else 0"""
    place: FloatVector
    """[n_docs] 1, 2, ... within each query: the rank of whatever stands there once sorted"""
    discount: FloatVector
    """[n_docs] by place, 0 below rank k"""
    within_depth: FloatVector
    """[n_docs] by place, 1 down to the last rank that MAP and MRR look at"""
    ideal: FloatVector
    """[n_queries] the best DCG@k"""
    n_relevant: FloatVector
    """[n_queries]"""
    no_relevant: NoRelevant
    ties: Ties
    k: int
    top_grade: int | None

    def evaluate(self, ranker: Ranker, theta: FloatVector, *, users: Users | None = None) -> Evaluation:
        """How good a ranker is: `evaluate_scores` of its scores."""
        return self.evaluate_scores(scores(ranker, theta, self.queries), users=users)

    def evaluate_scores(self, found: FloatVector, *, users: Users | None = None) -> Evaluation:
        """The means of `values` for the scores `[n_docs]` and, with users, the expected MaxRR of their pages."""
        order = ranked_rows(found, self.queries.offsets, ties=self.ties)
        each = self.values(order)
        max_rr = None if users is None else float(expected_max_rr(users, pages(self.queries, order, k=users.k)).mean())
        err = None
        if self.top_grade is not None:
            found_by = expected_reciprocal_rank(pages(self.queries, order, k=self.k), self.top_grade)
            err = _mean(self._counted(found_by, None))
        return Evaluation(
            err=err,
            ndcg=_mean(each.ndcg),
            mrr=_mean(each.reciprocal_rank),
            map=_mean(each.average_precision),
            max_rr=max_rr,
            each=each,
        )

    def values(self, order: Int64Vector) -> QueryValues:
        """nDCG, reciprocal rank and average precision of each query under `order` (see `ranked_rows`)."""
        starts = self.queries.offsets[:-1]
        dcg = np.add.reduceat(self.gain[order] * self.discount, starts)
        hits = self.relevant[order]
        so_far = np.cumsum(hits)
        before = np.repeat(so_far[starts] - hits[starts], np.diff(self.queries.offsets))
        seen = hits * self.within_depth / self.place
        precision = np.add.reduceat(seen * (so_far - before), starts)
        first = np.maximum.reduceat(seen, starts)
        return QueryValues(
            self._counted(dcg, self.ideal), self._counted(first, None), self._counted(precision, self.n_relevant)
        )

    def _counted(self, values: FloatVector, divisor: FloatVector | None) -> FloatVector:
        """values / divisor of the queries that count, with the agreed value where nothing is relevant."""
        some = self.n_relevant > 0
        blank = 1.0 if self.no_relevant == "one" else 0.0
        shares = np.full(len(values), blank)
        shares[some] = values[some] if divisor is None else values[some] / divisor[some]
        return shares[some] if self.no_relevant == "skip" else shares


def expected_reciprocal_rank(shown: npt.NDArray[np.int8], top_grade: int) -> FloatVector:
    """ERR `[n_queries]` of grades in ranked order `[n_queries, k]`, -1 where there is no document.

    The sum over ranks r of R_r / r times (1 - R_i) of all i above, R = (2^grade - 1) / 2^top_grade: the user stops at a
    document with probability R (Chapelle, Metzler, Zhang and Grinspan, CIKM 2009).
    """
    stops = gains(np.maximum(shown, 0)) / 2.0**top_grade
    reached = np.cumprod(np.column_stack([np.ones(len(stops)), 1.0 - stops[:, :-1]]), axis=1)
    found: FloatVector = (reached * stops / np.arange(1, shown.shape[1] + 1)).sum(axis=1)
    return found


def judge(
    queries: QuerySet,
    *,
    k: int = 10,
    no_relevant: NoRelevant = "skip",
    ties: Ties = "first",
    depth: int | None = None,
    top_grade: int | None = None,
) -> Judged:
    """Prepare queries for many evaluations: nDCG@k, MRR and MAP over the first `depth` ranks (None: all), and ERR@k
    where the highest grade of the scale is given; ValueRangeError for a higher one.
    """
    if top_grade is not None and queries.grades.max() > top_grade:
        raise ValueRangeError(f"data.top_grade: {top_grade} is below {queries.grades.max()}, a grade of these queries")
    offsets, lengths = queries.offsets, np.diff(queries.offsets)
    place = (np.arange(len(queries.grades)) - np.repeat(offsets[:-1], lengths) + 1).astype(np.float64)
    worth = gains(queries.grades)
    relevant = (queries.grades > 0).astype(np.float64)
    deepest = min(k, int(lengths.max()))
    discount = np.where(place <= k, discounts(deepest)[np.minimum(place, deepest).astype(np.intp) - 1], 0.0)
    best_first = worth[ranked_rows(worth, offsets)]
    return Judged(
        queries=queries,
        gain=worth,
        relevant=relevant,
        place=place,
        discount=discount,
        within_depth=(place <= (np.inf if depth is None else depth)).astype(np.float64),
        ideal=np.add.reduceat(best_first * discount, offsets[:-1]),
        n_relevant=np.add.reduceat(relevant, offsets[:-1]),
        no_relevant=no_relevant,
        ties=ties,
        k=k,
        top_grade=top_grade,
    )


def scores(ranker: Ranker, theta: FloatVector, queries: QuerySet) -> FloatVector:
    """The ranker's score of every document `[n_docs]`, in float64; ValueRangeError when one is not finite."""
    found = np.empty(len(queries.grades))
    for start in range(0, len(found), BLOCK):
        features, part = queries.features[start : start + BLOCK], found[start : start + BLOCK]
        if isinstance(ranker, Linear):  # compiled: float64 copies of all features are most of the time else
            linear_scores(features, 0, len(features), theta, part)
        elif isinstance(ranker, Neural):
            neural_scores(features, 0, len(features), theta, ranker.n_hidden, part, np.empty_like(part))
        else:
            part[:] = ranker.score(theta, features.astype(np.float64))
    if not np.isfinite(found).all():
        raise ValueRangeError(f"{int((~np.isfinite(found)).sum())} of {len(found)} scores are not finite")
    return found


def ranked_rows(scores: FloatVector, offsets: Int64Vector, *, ties: Ties = "first") -> Int64Vector:
    """The rows of each query by falling score `[n_docs]`: query q's best stands at offsets[q], and so on."""
    rows: Int64Vector = _sorted_rows(scores, offsets, ties == "last")
    return rows


def pages(queries: QuerySet, order: Int64Vector, *, k: int) -> npt.NDArray[np.int8]:
    """The grades of the first k documents of every query `[n_queries, k]`, -1 where a query has fewer."""
    columns = np.arange(k)
    there = columns < np.diff(queries.offsets)[:, None]
    rows = np.where(there, queries.offsets[:-1, None] + columns, 0)
    return np.where(there, queries.grades[order[rows]], np.int8(-1))


@compiled()
def _sorted_rows(scores: FloatVector, offsets: Int64Vector, last_first: bool) -> Int64Vector:
    """In loops: what numba compiles for one array put into a part of another takes seconds, for the error alone."""
    rows = np.empty(len(scores), dtype=np.int64)
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        first, step = (end - 1, -1) if last_first else (start, 1)
        falling = np.empty(end - start)
        for place in range(len(falling)):
            falling[place] = -scores[first + step * place]
        order = np.argsort(falling, kind="mergesort")
        for place in range(len(order)):
            rows[start + place] = first + step * order[place]
    return rows


def _mean(values: FloatVector) -> float:
    return float(values.mean()) if len(values) else float("nan")
