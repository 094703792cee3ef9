"""What compiled code needs of a population, and what happens on a page apart from learning.

Candidates are scored, shown best first, clicked and measured.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatArray, FloatMatrix, FloatVector, Int64Matrix, Int64Vector
from foltr.errors import ValueRangeError
from foltr.ranking.metrics import discounts, gains
from simulation.batched import kernel
from simulation.batched.random_numbers import advance, to_unit, uniform
from simulation.batched.simd_sums import dot
from simulation.data.queries import QuerySet
from simulation.rounds.federation import Population, Shown


class Pages(NamedTuple):
    """A population as plain arrays."""

    features: npt.NDArray[np.floating[Any]]
    """[n_docs, n_features] float32 or float64, which is the precision of the scores"""
    grades: npt.NDArray[np.uint8]
    """[n_docs]"""
    offsets: Int64Vector
    """[n_queries + 1]"""
    ideal: FloatVector
    """[n_queries] the DCG of the best page"""
    gains: FloatVector
    """[n_grades] 2^grade - 1"""
    discounts: FloatVector
    """[k] 1 / log2(rank + 1)"""
    click: FloatMatrix
    """[n_behaviours or 1, n_grades]"""
    stop: FloatArray
    """[n_behaviours or 1, n_grades, k]"""
    examination: FloatMatrix
    """[n_behaviours or 1, k]"""
    leave: FloatVector
    """[n_behaviours or 1]"""
    n_mixed: int
    """behaviours of which every page draws one; 0: client c has behaviour c"""
    ranges: Int64Matrix
    """[n_clients, 2] the first of the queries that a client asks, and the one after its last"""
    longest: int
    """documents of the query that has the most"""


@lru_cache(maxsize=8)
def pages_of(population: Population) -> Pages:
    """The arrays of a population, kept for the rounds to come; ValueRangeError for a grade the users do not know."""
    data, users, n_grades = population.data, population.users, population.users.n_grades
    if data.grades.min() < 0 or data.grades.max() >= n_grades:
        raise ValueRangeError(f"users know grades 0 to {n_grades - 1}, not {data.grades.min()} to {data.grades.max()}")
    discount = discounts(users.k)
    features, grades = np.ascontiguousarray(data.features), data.grades.view(np.uint8)
    return Pages(
        np.broadcast_to(features, features.shape),  # read-only, as mapped files are: kernels are compiled for these
        np.broadcast_to(grades, grades.shape),
        np.broadcast_to(data.offsets, data.offsets.shape),
        ideal_dcg(data, discount),
        gains(np.arange(n_grades)),
        discount,
        np.ascontiguousarray(users.click),
        np.ascontiguousarray(users.stop_by_rank),
        np.ascontiguousarray(users.examination),
        np.ascontiguousarray(users.leave),
        users.n_behaviours if users.mixed else 0,
        np.ascontiguousarray(population.ranges),
        int(np.diff(data.offsets).max()),
    )


def alone(pages: Pages, client: int) -> Pages:
    """What the kernels need of one client, who is then client 0."""
    row, tables = slice(client, client + 1), ("click", "stop", "examination", "leave")
    own = {name: table[row] for name in tables if not pages.n_mixed and len(table := getattr(pages, name)) > 1}
    return pages._replace(ranges=pages.ranges[row], **own)


def ideal_dcg(data: QuerySet, discount: FloatVector) -> FloatVector:
    """The largest DCG that a page can have, for each query `[n_queries]`; `discount` `[k]`."""
    query = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
    grades = data.grades[np.lexsort((-data.grades, query))]
    rank = np.arange(len(grades)) - data.offsets[query]
    to_shown = rank < len(discount)
    gained = gains(grades[to_shown]) * discount[rank[to_shown]]
    return np.bincount(query[to_shown], weights=gained, minlength=data.n_queries).astype(np.float64)


def to_shown(sums: FloatVector, interactions: int) -> Shown:
    """The sums `[4]` that `click_through` made, as a record."""
    return Shown(interactions, float(sums[0]), float(sums[1]), float(sums[2]), int(sums[3]))


@kernel(inlined=True)
def next_query(pages, client, state):  # type: ignore[no-untyped-def]
    """A query drawn uniformly from those of the client."""
    first = pages.ranges[client, 0]
    return first + np.int64(uniform(state) * (pages.ranges[client, 1] - first))


@kernel(inlined=True)
def click_through(pages, client, query, ranking, k, state, clicks, sums):  # type: ignore[no-untyped-def]
    """Users.clicks of simulation.rounds.click_models on the query's rows `ranking` `[k]`; fills `clicks` `[k]`.

    Adds the page's nDCG, reciprocal rank, MaxRR and number of clicks to `sums` `[4]`.
    """
    grades = pages.grades[pages.offsets[query] :]
    dcg, first_relevant = 0.0, k
    for rank in range(k):
        grade = grades[ranking[rank]]
        dcg += pages.gains[grade] * pages.discounts[rank]
        first_relevant = min(first_relevant, rank if grade > 0 else k)
        clicks[rank] = False
    ideal = pages.ideal[query]
    sums[0] += dcg / ideal if ideal > 0.0 else 0.0
    sums[1] += 1.0 / (first_relevant + 1.0) if first_relevant < k else 0.0
    behaviour = np.int64(uniform(state) * pages.n_mixed) if pages.n_mixed > 0 else client
    click = pages.click[behaviour if len(pages.click) > 1 else 0]
    stop = pages.stop[behaviour if len(pages.stop) > 1 else 0]
    looks = pages.examination[behaviour if len(pages.examination) > 1 else 0]
    leave = pages.leave[behaviour if len(pages.leave) > 1 else 0]
    n_clicks = _look_through(click, stop, looks, leave, grades, ranking, k, state, clicks)
    sums[3] += n_clicks
    if n_clicks > 0:
        rank = 0
        while not clicks[rank]:
            rank += 1
        sums[2] += 1.0 / (rank + 1.0)


@kernel(inlined=True)
def _look_through(click, stop, looks, leave, grades, ranking, k, state, clicks):  # type: ignore[no-untyped-def]
    """Look from the top until a click satisfies, or until patience is over; returns how many clicks there are.

    Both numbers that a result can cost are drawn, and the second is kept where it was asked for: cheaper than a branch
    that nobody can guess.
    """
    a, b, c, w = state[0], state[1], state[2], state[3]
    n_clicks = 0
    for rank in range(k):
        grade = grades[ranking[rank]]
        bits, a, b, c, w = advance(a, b, c, w)
        opened = to_unit(bits) < click[grade] * looks[rank]
        clicks[rank] = opened
        n_clicks += opened
        bits, next_a, next_b, next_c, next_w = advance(a, b, c, w)
        ends = stop[grade, rank] if opened else leave
        asked = ends > 0.0
        a, b = next_a if asked else a, next_b if asked else b
        c, w = next_c if asked else c, next_w if asked else w
        if asked and to_unit(bits) < ends:
            break
    state[0], state[1], state[2], state[3] = a, b, c, w
    return n_clicks


@kernel()
def linear_scores(features, first, last, theta, scores):  # type: ignore[no-untyped-def]
    """scores[d] = theta . x_d for the rows `first` to `last` - 1, in the wider precision of `features` and `theta`."""
    for row in range(first, last):
        scores[row - first] = dot(features[row], theta)


@kernel()
def neural_scores(features, first, last, theta, n_hidden, scores, unit):  # type: ignore[no-untyped-def]
    """scores[d] = v . relu(W x_d + b), theta laid out as foltr.ranking.rankers.Neural; `unit` is room as `scores`."""
    n_features = features.shape[1]
    biases, output = n_hidden * n_features, n_hidden * (n_features + 1)
    zero = theta.dtype.type(0)
    n_docs = last - first
    scores[:n_docs] = zero
    for h in range(n_hidden):
        weights = theta[h * n_features : (h + 1) * n_features]
        linear_scores(features, first, last, weights, unit)
        for d in range(n_docs):
            scores[d] += theta[output + h] * max(unit[d] + theta[biases + h], zero)


@kernel()
def best_first(scores, n_docs, k, ranking, placed):  # type: ignore[no-untyped-def]
    """Fill `ranking` with the k best of the first n_docs, equal ones later first; `placed` `[k]` are their scores.

    False when a score is not a number.
    """
    filled = 0
    for d in range(n_docs):
        score = scores[d]
        if filled == k and score < placed[k - 1]:
            continue
        if np.isnan(score):
            return False
        rank = filled if filled < k else k - 1
        while rank > 0 and placed[rank - 1] <= score:
            placed[rank], ranking[rank] = placed[rank - 1], ranking[rank - 1]
            rank -= 1
        placed[rank], ranking[rank] = score, d
        filled = min(filled + 1, k)
    return True
