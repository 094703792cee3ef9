"""The Plackett-Luce model: a random ranking drawn from scores, and its probability.

    P(R) = prod_i  e^{s(d_i)} / sum of e^{s(d)} over the documents not yet placed before rank i
    (thesis Eq. 3.7 and 3.8)

Everything works on logarithms after the largest score was subtracted, so scores of any finite size are safe.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import exp, log_sum, log_sums
from foltr.arrays import FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError

_EXHAUSTED = 1e-100
"""A sum of weights below which `draw` measures the remaining ones from the largest of them again."""
_LOWEST = -1e100
"""Where shifted scores end: e to this power is 0 as it is for -1e4, and differences of such numbers stay finite."""


def shift(scores: npt.ArrayLike) -> FloatVector:
    """Scores `[n_docs]` moved so that the largest is 0, which leaves every probability as it was.

    Raises ShapeError unless one-dimensional, ValueRangeError unless finite.
    """
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 1:
        raise ShapeError(f"scores must be [n_docs], not {list(s.shape)}")
    if not np.isfinite(s).all():
        raise ValueRangeError("scores must be finite")
    if not s.size:
        return s
    with np.errstate(over="ignore"):
        moved: FloatVector = np.maximum(s - s.max(), _LOWEST)
    return moved


def rank_with_noise(scores: npt.ArrayLike, noise: npt.ArrayLike, *, k: int) -> IntVector:
    """The `min(k, n_docs)` rows with the largest score plus noise, best first; equal ones by row.

    With Gumbel noise this is an exact Plackett-Luce sample of the first k places; with zeros it is sorting.
    """
    s = shift(scores)
    g = np.asarray(noise, dtype=np.float64)
    if g.shape != s.shape:
        raise ShapeError(f"noise must be {list(s.shape)} as the scores are, not {list(g.shape)}")
    return np.argsort(-(s + g), kind="stable")[: max(k, 0)]


def draw(scores: npt.ArrayLike, k: int, rng: np.random.Generator) -> IntVector:
    """A Plackett-Luce ranking of `min(k, n_docs)` rows, from exactly as many numbers of `rng.random()`.

    At each rank, with u in [0, 1) and the weights w_d = e^(s_d - largest s) of the rows not yet placed, in row order,

        the row is the first d with  w_0 + .. + w_d > u * (sum of all w)

    which has probability w_d / sum of all w (thesis Eq. 3.7). The sums are made anew at each rank, for subtracting
    would lose all digits once a dominant row is placed; when what remains adds up to less than 1e-100, the largest
    remaining score becomes the new zero. The published programs let numpy draw and reject; the law is the same.
    """
    remaining = shift(scores).copy()
    weights = exp(remaining)
    ranking = np.empty(min(max(k, 0), len(remaining)), dtype=np.intp)
    for rank in range(len(ranking)):
        running = np.cumsum(weights)
        if running[-1] < _EXHAUSTED:
            remaining -= remaining.max()
            weights = exp(remaining)
            running = np.cumsum(weights)
        row = int(np.searchsorted(running, rng.random() * running[-1], side="right"))
        ranking[rank], remaining[row], weights[row] = row, -np.inf, 0.0
    return ranking


def log_denominators(scores: npt.ArrayLike, ranking: npt.ArrayLike) -> tuple[FloatVector, FloatVector]:
    """Shifted scores of the ranked documents `[k]`, and log of what was still to be placed at each rank `[k + 1]`.

    The second array at rank r is log sum e^s over the documents at ranks >= r and those not ranked at all; its
    last entry holds the unranked alone, -inf when there are none.
    """
    s = shift(scores)
    order = np.asarray(ranking, dtype=np.intp)
    unranked = np.ones(len(s), dtype=np.bool_)
    unranked[order] = False
    rest = log_sum(s[unranked]) if unranked.any() else -np.inf
    ranked = s[order]
    return ranked, log_sums(np.concatenate([[rest], ranked[::-1]]))[::-1]
