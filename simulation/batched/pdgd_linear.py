"""PDGD on a linear ranker, compiled: a page is drawn, clicked, counted, weighed pair by pair and learned from.

The pair weights are those of foltr.online.pdgd on one page, by rank. rho = P(R*) / (P(R) + P(R*)), and exchanging ranks
lo < hi changes only the denominators of ranks lo+1 .. hi (thesis Eq. 3.12). With den[r] the sum of e over ranks >= r
and all that is not shown,

    P(R*) / P(R) = prod over r = lo+1 .. hi of  den[r] / den'[r],   den'[r] = e_lo + den[hi+1] + e_r + .. + e_{hi-1}

where den' is added up anew, as subtracting would lose all digits when one document dominates. Products of plain
numbers serve as long as none can leave the range of a float; other pages are weighed in logarithms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arrays import BoolVector, FloatVector, Int64Vector
from simulation.batched import kernel
from simulation.batched.pages import Pages, click_through
from simulation.batched.random_numbers import LANES, draw, exponentials, uniforms
from simulation.batched.simd_sums import dot, exp, log1p

_ONE = np.uint64(1)


@kernel(inlined=True)
def pair_weights(weights, rest, clicks, k, den, order, wanted):  # type: ignore[no-untyped-def]
    """`wanted[r]`, by how much the page wants the score at rank r to rise; returns how many ranks were seen.

    `weights` `[k]` are e^(score / temperature) of the shown documents, `rest` the sum of those not shown, `den` is room
    for k + 1 numbers and `order` for k ranks. 0 when the page expresses no preference, -1 when it needs logarithms.
    """
    seen = _seen(clicks, k)
    if seen == 0:
        return 0
    den[k] = rest
    for r in range(k - 1, -1, -1):
        den[r] = den[r + 1] + weights[r]
    # No weight is above 1, so every product of denominators below lies between these two.
    smallest, largest = 1.0, 1.0
    for r in range(seen):
        wanted[r] = 0.0
        smallest *= weights[r]
        largest *= den[0]
    if not (smallest > 1e-250 and largest < 1e250):
        return -1
    n_clicked = _clicked_first(clicks, seen, order)
    for clicked in range(n_clicked):
        i = order[clicked]
        for passed in range(n_clicked, seen):
            j = order[passed]
            w = _pair(weights, den, i, j)
            wanted[i] += w
            wanted[j] -= w
    return seen


@kernel(inlined=True)
def _seen(clicks, k):  # type: ignore[no-untyped-def]
    """The ranks down to the one below the last click; 0 when no pair of an opened and a passed one is among them."""
    last, n_clicks = -1, 0
    for r in range(k):
        if clicks[r]:
            last = r
            n_clicks += 1
    seen = min(last + 2, k)
    return seen if 0 < n_clicks < seen else 0


@kernel(inlined=True)
def _clicked_first(clicks, seen, order):  # type: ignore[no-untyped-def]
    """Put the seen ranks into `order`, those clicked before the others; returns how many are clicked."""
    n_clicked = 0
    for r in range(seen):
        n_clicked += clicks[r]
    next_clicked, next_passed = 0, n_clicked
    for r in range(seen):
        order[next_clicked if clicks[r] else next_passed] = r
        next_clicked += clicks[r]
        next_passed += not clicks[r]
    return n_clicked


@kernel(inlined=True)
def _pair(weights, den, i, j):  # type: ignore[no-untyped-def]
    """The weight of the pair at the unsigned ranks i and j; signed ones are tested for counting from the end."""
    lo, hi = min(i, j), max(i, j)
    here, exchanged = 1.0, 1.0
    changed = weights[lo] + den[hi + _ONE]
    r = hi
    while r > lo:
        here *= den[r]
        exchanged *= changed
        r -= _ONE
        changed += weights[r]
    both = weights[i] + weights[j]
    return here / (here + exchanged) * (weights[i] / both) * (weights[j] / both)


@kernel()
def pair_weights_by_logarithms(scores, n_docs, ranking, clicks, k, room, den, wanted):  # type: ignore[no-untyped-def]
    """`pair_weights` for any finite `scores` `[n_docs]`, divided by the temperature.

    `ranking` is `[k]`; `room` for `[n_docs]`.
    """
    seen = _seen(clicks, k)
    _log_denominators(scores, n_docs, ranking, k, room, den)
    for r in range(seen):
        wanted[r] = 0.0
    for i in range(seen):
        if clicks[i]:
            for j in range(seen):
                if not clicks[j]:
                    w = _pair_by_logarithms(scores, ranking, den, i, j)
                    wanted[i] += w
                    wanted[j] -= w
    return seen


@kernel()
def _log_denominators(scores, n_docs, ranking, k, unshown, den):  # type: ignore[no-untyped-def]
    """den[r] = log sum e^score over ranks >= r and the documents not shown, for r = 0 .. k."""
    for d in range(n_docs):
        unshown[d] = scores[d]
    for r in range(k):
        unshown[ranking[r]] = -np.inf
    den[k] = -np.inf
    for d in range(n_docs):
        den[k] = _log_add(den[k], unshown[d])
    for r in range(k - 1, -1, -1):
        den[r] = _log_add(den[r + 1], scores[ranking[r]])


@kernel()
def _pair_by_logarithms(scores, ranking, den, i, j):  # type: ignore[no-untyped-def]
    lo, hi = min(i, j), max(i, j)
    log_ratio = 0.0
    changed = _log_add(scores[ranking[lo]], den[hi + 1])
    for r in range(hi, lo, -1):
        log_ratio += den[r] - changed
        changed = _log_add(changed, scores[ranking[r - 1]])
    p = _sigmoid(-abs(scores[ranking[i]] - scores[ranking[j]]))
    return _sigmoid(log_ratio) * p * (1.0 - p)


@kernel()
def _log_add(a, b):  # type: ignore[no-untyped-def]
    """log(e^a + e^b); -inf is the logarithm of nothing."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + log1p(exp(low - high))


@kernel()
def _sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x) without overflow."""
    small = exp(-abs(x))
    return (1.0 if x >= 0.0 else small) / (1.0 + small)


class Sheet(NamedTuple):
    """Room for one page, used again for each."""

    scores: FloatVector
    """[whole vectors of longest] of the query's documents, divided by the temperature"""
    weights: FloatVector
    """as scores"""
    sums: FloatVector
    """as scores"""
    numbers: FloatVector
    """[k] that decide who is shown"""
    ranking: Int64Vector
    """[k]"""
    placed: FloatVector
    """[k] the weights of the shown documents"""
    clicks: BoolVector
    """[k]"""
    denominators: FloatVector
    """[k + 1]"""
    order: npt.NDArray[np.uint64]
    """[k] the ranks in another order"""
    wanted: FloatVector
    """[k] by how much each rank's score should rise"""


def new_sheet(longest: int, k: int) -> Sheet:
    """Room for pages of k documents, of queries with up to `longest`."""
    n_rows = longest + LANES
    return Sheet(
        np.empty(n_rows),
        np.empty(n_rows),
        np.empty(n_rows),
        np.empty(k),
        np.empty(k, np.int64),
        np.empty(k),
        np.empty(k, np.bool_),
        np.empty(k + 1),
        np.empty(k, np.uint64),
        np.empty(k),
    )


class Steps(NamedTuple):
    """How every client learns."""

    n_local: Int64Vector
    """[n_clients] its pages in a round"""
    rate: float
    """the learning rate"""
    scale: float
    """1 / temperature"""
    each: bool
    """whether a page is ranked and learned from by the theta of the moment, else by the round's first"""
    radius: float
    """theta is held within: after each page, else after all; inf bounds nothing"""
    proximal: float
    """mu of FedProx"""


@kernel(inlined=True)
def visit(pages, sheet, client, query, top, state, sums):  # type: ignore[no-untyped-def]
    """Show a page of the query whose scores, up to `top`, are in `sheet.scores`; add its metrics to `sums` `[4]`.

    Leaves the page's PDGD weights in `sheet.wanted` and returns how many ranks have one: 0 when the page teaches
    nothing, -1 when the scores were not finite.
    """
    n_docs = pages.offsets[query + 1] - pages.offsets[query]
    k = min(len(pages.discounts), n_docs)
    uniforms(state, k, sheet.numbers)
    exponentials(sheet.scores, top, n_docs, sheet.weights)
    rest = draw(sheet.scores, n_docs, k, sheet.numbers, sheet.weights, sheet.sums, sheet.ranking, sheet.placed)
    if np.isnan(rest):
        return -1
    click_through(pages, client, query, sheet.ranking, k, state, sheet.clicks, sums)
    seen = -1
    if rest >= 0.0:
        seen = pair_weights(sheet.placed, rest, sheet.clicks, k, sheet.denominators, sheet.order, sheet.wanted)
    if seen < 0:
        seen = pair_weights_by_logarithms(
            sheet.scores, n_docs, sheet.ranking, sheet.clicks, k, sheet.sums, sheet.denominators, sheet.wanted
        )
    return seen


@kernel(inlined=True)
def linear_scores(features, first, last, theta, scale, scores):  # type: ignore[no-untyped-def]
    """scores[d] = scale * theta . x_d for the rows `first` to `last` - 1; returns the largest.

    The products are added up in the precision of `features` and `theta`.
    """
    top = -np.inf
    for row in range(first, last):
        scores[row - first] = scale * dot(features[row], theta)
        top = max(top, scores[row - first])
    return top


@kernel(inlined=True)
def ascend(theta, slope, features, first, ranking, wanted, seen, rate):  # type: ignore[no-untyped-def]
    """theta += rate * sum over the seen ranks of wanted[r] * x_r; `slope` is room for it, of the features' type."""
    for f in range(len(theta)):
        slope[f] = 0.0
    for r in range(seen):
        row, weight = first + ranking[r], features.dtype.type(wanted[r])
        for f in range(len(theta)):
            slope[f] += weight * features[row, f]
    for f in range(len(theta)):
        theta[f] += rate * slope[f]


@kernel(inlined=True)
def hold_within(theta, radius):  # type: ignore[no-untyped-def]
    """theta <- theta * min(1, radius / ||theta||_2); inf bounds nothing."""
    if radius < np.inf:
        square = dot(theta, theta)
        if square > radius * radius:
            factor = radius / np.sqrt(square)
            for f in range(len(theta)):
                theta[f] *= factor


@kernel(inlined=True)
def draw_back(theta, start, rate):  # type: ignore[no-untyped-def]
    """theta <- theta - rate (theta - start), the step of FedProx's penalty; rate 0 changes nothing."""
    if rate > 0.0:
        for f in range(len(theta)):
            theta[f] -= rate * (theta[f] - start[f])


@kernel(inlined=True)
def copy_to(target, source):  # type: ignore[no-untyped-def]
    """target = source, in the target's precision."""
    for f in range(len(target)):
        target[f] = source[f]


class LinearRoom(NamedTuple):
    """Room for one client, used again for each."""

    ranker: npt.NDArray[np.floating[Any]]
    """[n_features] theta in the precision of the features"""
    slope: npt.NDArray[np.floating[Any]]
    """as ranker"""
    start: FloatVector
    """[n_features] what the client began with"""


def linear_room(pages: Pages) -> LinearRoom:
    n_features, precision = pages.features.shape[1], pages.features.dtype
    return LinearRoom(np.empty(n_features, precision), np.empty(n_features, precision), np.empty(n_features))
