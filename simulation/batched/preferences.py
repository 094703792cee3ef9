"""The pair weights of PDGD for compiled code: foltr.online.pdgd on one page, by rank.

rho = P(R*) / (P(R) + P(R*)), and exchanging ranks lo < hi changes only the denominators of ranks lo+1 .. hi
(thesis Eq. 3.12). With den[r] the sum of e over ranks >= r and all that is not shown,

    P(R*) / P(R) = prod over r = lo+1 .. hi of  den[r] / den'[r],   den'[r] = e_lo + den[hi+1] + e_r + .. + e_{hi-1}

where den' is added up anew, as subtracting would lose all digits when one document dominates. Products of plain
numbers serve as long as none can leave the range of a float; other pages are weighed in logarithms.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_ONE = np.uint64(1)


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def _seen(clicks, k):  # type: ignore[no-untyped-def]
    """The ranks down to the one below the last click; 0 when no pair of an opened and a passed one is among them."""
    last, n_clicks = -1, 0
    for r in range(k):
        if clicks[r]:
            last = r
            n_clicks += 1
    seen = min(last + 2, k)
    return seen if 0 < n_clicks < seen else 0


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def pair_weights_by_logarithms(scores, n_docs, ranking, clicks, k, den, wanted):  # type: ignore[no-untyped-def]
    """`pair_weights` for any finite `scores` `[n_docs]`, divided by the temperature; `ranking` `[k]`."""
    seen = _seen(clicks, k)
    _log_denominators(scores, n_docs, ranking, k, den)
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


@njit(cache=True, error_model="numpy")
def _log_denominators(scores, n_docs, ranking, k, den):  # type: ignore[no-untyped-def]
    """den[r] = log sum e^score over ranks >= r and the documents not shown, for r = 0 .. k."""
    unshown = np.ones(n_docs, dtype=np.bool_)
    for r in range(k):
        unshown[ranking[r]] = False
    den[k] = -np.inf
    for d in range(n_docs):
        if unshown[d]:
            den[k] = _log_add(den[k], scores[d])
    for r in range(k - 1, -1, -1):
        den[r] = _log_add(den[r + 1], scores[ranking[r]])


@njit(cache=True, error_model="numpy")
def _pair_by_logarithms(scores, ranking, den, i, j):  # type: ignore[no-untyped-def]
    lo, hi = min(i, j), max(i, j)
    log_ratio = 0.0
    changed = _log_add(scores[ranking[lo]], den[hi + 1])
    for r in range(hi, lo, -1):
        log_ratio += den[r] - changed
        changed = _log_add(changed, scores[ranking[r - 1]])
    p = _sigmoid(-abs(scores[ranking[i]] - scores[ranking[j]]))
    return _sigmoid(log_ratio) * p * (1.0 - p)


@njit(cache=True, error_model="numpy")
def _log_add(a, b):  # type: ignore[no-untyped-def]
    """log(e^a + e^b); -inf is the logarithm of nothing."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@njit(cache=True, error_model="numpy")
def _sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x) without overflow."""
    small = math.exp(-abs(x))
    return (1.0 if x >= 0.0 else small) / (1.0 + small)
