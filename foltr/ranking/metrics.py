"""How good one ranking is: all take values in ranked order, best rank first, and give a number in [0, 1].

A query without any relevant document scores 0 everywhere; whether to leave such queries out is the caller's choice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.errors import ShapeError, ValueRangeError

FloatVector = npt.NDArray[np.float64]


def dcg_at_k(grades: npt.ArrayLike, k: int) -> float:
    """sum over the first k ranks i = 1..k of (2^grade_i - 1) / log2(i + 1)."""
    top = _row(grades, "grades")[: _positive(k)]
    return float(np.sum((np.exp2(top) - 1.0) / np.log2(np.arange(2, len(top) + 2))))


def ndcg_at_k(grades: npt.ArrayLike, k: int, *, judged: npt.ArrayLike | None = None) -> float:
    """DCG divided by the DCG of the best possible ranking of the `judged` grades (default: of `grades`).

    `judged` matters when relevant documents were never retrieved.
    """
    everything = _row(grades if judged is None else judged, "judged")
    best = dcg_at_k(np.sort(everything)[::-1], k)
    return dcg_at_k(grades, k) / best if best > 0 else 0.0


def average_precision(relevant: npt.ArrayLike, *, n_relevant: int | None = None) -> float:
    """Mean over the relevant documents of the precision at their rank; those not retrieved count 0.

    `n_relevant` is how many there are in all, by default those in the ranking.
    """
    hits = _row(relevant, "relevant") > 0
    total = int(hits.sum()) if n_relevant is None else n_relevant
    if total < hits.sum():
        raise ValueRangeError(f"{int(hits.sum())} relevant documents in the ranking, but n_relevant is {total}")
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].sum() / total) if total else 0.0


def reciprocal_rank(relevant: npt.ArrayLike) -> float:
    """1 / rank of the first relevant document, 0 without one."""
    ranks = np.flatnonzero(_row(relevant, "relevant") > 0)
    return 1.0 / float(ranks[0] + 1) if ranks.size else 0.0


def max_rr(clicks: npt.ArrayLike, k: int = 10) -> float:
    """Reciprocal rank of the highest click among the first k results, 0 without one (FOLtR-ES, Section 3)."""
    return reciprocal_rank(_row(clicks, "clicks")[: _positive(k)])


def _row(values: npt.ArrayLike, what: str) -> FloatVector:
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1:
        raise ShapeError(f"{what} must be [n_docs], not {list(row.shape)}")
    return row


def _positive(k: int) -> int:
    if k < 1:
        raise ValueRangeError(f"k must be at least 1, not {k}")
    return k
