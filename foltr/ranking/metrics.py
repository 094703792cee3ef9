"""How good one ranking is: all take values in ranked order, best rank first, and lie in [0, 1].

A query without any relevant document scores 0 everywhere; whether to leave such queries out is the caller's choice.
A grade is worth 2^grade - 1 (Burges et al., ICML 2005, and every paper here); any above 0 is relevant to MAP and MRR.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatVector
from foltr.errors import ShapeError, ValueRangeError


def gains(grades: npt.ArrayLike) -> FloatVector:
    """The worth of each grade, of any shape; that of a whole grade is exact, which no library's power promises."""
    given = np.asarray(grades, dtype=np.float64)
    whole = np.floor(given)
    worth: FloatVector = np.ldexp(np.exp2(given - whole), whole.astype(np.int64)) - 1.0
    return worth


def discounts(n: int) -> FloatVector:
    """1 / log2(i + 1) for the ranks i = 1..n (Järvelin and Kekäläinen, TOIS 2002, with base 2 for every rank)."""
    return _discounts(1 << max(n - 1, 0).bit_length())[:n].copy()


@lru_cache(maxsize=32)
def _discounts(n: int) -> FloatVector:
    """`discounts`, of logarithms worked out with 28 digits: a processor's own may end in another digit."""
    from decimal import Context, Decimal  # loads slowly, and no search asks for it

    digits = Context(prec=28)
    logs = [digits.ln(Decimal(rank)) for rank in range(2, n + 2)]
    return np.array([1.0 / float(digits.divide(log, logs[0])) for log in logs])


def dcg_at_k(grades: npt.ArrayLike, k: int) -> float:
    """sum over the first k ranks i = 1..k of gain(grade_i) / log2(i + 1)."""
    top = gains(_row(grades, "grades")[: _positive(k)])
    return float(np.sum(top * discounts(len(top))))


def ndcg_at_k(grades: npt.ArrayLike, k: int, *, judged: npt.ArrayLike | None = None) -> float:
    """DCG divided by the DCG of the best possible ranking of the `judged` grades (default: of `grades`).

    `judged` matters when relevant documents were never retrieved.
    """
    everything = _row(grades if judged is None else judged, "judged")
    best = dcg_at_k(np.sort(everything)[::-1], k)
    return dcg_at_k(grades, k) / best if best > 0 else 0.0


def average_precision(relevant: npt.ArrayLike, *, n_relevant: int | None = None, k: int | None = None) -> float:
    """Mean over the relevant documents of the precision at their rank; those not among the first k count 0.

    `n_relevant` is how many there are in all, by default those in the ranking; without `k` every rank counts.
    """
    hits = _row(relevant, "relevant") > 0
    total = int(hits.sum()) if n_relevant is None else n_relevant
    if total < hits.sum():
        raise ValueRangeError(f"{int(hits.sum())} relevant documents in the ranking, but n_relevant is {total}")
    top = hits[: _depth(k)]
    precision = np.cumsum(top) / np.arange(1, len(top) + 1)
    return float(precision[top].sum() / total) if total else 0.0


def reciprocal_rank(relevant: npt.ArrayLike, *, k: int | None = None) -> float:
    """1 / rank of the first relevant document, 0 without one among the first k (without `k`: at all)."""
    ranks = np.flatnonzero(_row(relevant, "relevant")[: _depth(k)] > 0)
    return 1.0 / float(ranks[0] + 1) if ranks.size else 0.0


def max_rr(clicks: npt.ArrayLike, k: int = 10) -> float:
    """Reciprocal rank of the highest click among the first k results, 0 without one (FOLtR-ES, Section 3)."""
    return reciprocal_rank(_row(clicks, "clicks"), k=k)


def _row(values: npt.ArrayLike, what: str) -> FloatVector:
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1:
        raise ShapeError(f"{what} must be [n_docs], not {list(row.shape)}")
    return row


def _depth(k: int | None) -> int | None:
    return None if k is None else _positive(k)


def _positive(k: int) -> int:
    if k < 1:
        raise ValueRangeError(f"k must be at least 1, not {k}")
    return k
