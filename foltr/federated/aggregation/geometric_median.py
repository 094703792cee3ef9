"""The geometric median: the point with the smallest sum of distances to the rows.

    argmin_v  sum_i w_i ||x_i - v||

by Weiszfeld's iteration until it stands still (Pillutla, Kakade and Harchaoui, "Robust aggregation for federated
learning", IEEE TSP 2022). Withstands any number of malicious rows that have less than half of the weight. Published
programs stop after 4 iterations or smooth the distances; here the fixed point itself is reached.

The iteration divides by distances and so must not land on a row. We begin at the best row: if it is the median (the
pull of the others is no more than its own weight; Vardi and Zhang, PNAS 2000) it is the answer, else their step leaves
it downhill, and as the sum of distances never rises again no row is met on the way.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import dots, length, lengths, weighted_sum
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.rows import RuleSettings, check_rows, in_order, shares, squared_distances


def _leave_row(x: FloatMatrix, w: FloatVector, row: FloatVector) -> FloatVector | None:
    """The first point after `row` `[n_params]` by Vardi and Zhang's step; None when `row` is the median itself."""
    apart = np.any(x != row, axis=1)
    if not apart.any():
        return None
    pull = _pull(x[apart], w[apart], row)
    strength = length(pull)
    own = float(w[~apart].sum())
    if strength <= own * (1.0 + 1e-12):
        return None
    first: FloatVector = row + (1.0 - own / strength) * pull / np.sum(w[apart] / _distances(x[apart], row))
    return first


def _pull(x: FloatMatrix, w: FloatVector, v: FloatVector) -> FloatVector:
    """sum_i w_i (x_i - v) / ||x_i - v||, `[n_params]`: minus the gradient of the sum of distances."""
    return weighted_sum(w / _distances(x, v), x - v)


def _distances(x: FloatMatrix, v: FloatVector) -> FloatVector:
    """||x_i - v||, `[n_clients]`, never quite 0."""
    return np.maximum(lengths(x - v), 1e-300)


class GeometricMedian(RuleSettings, frozen=True, tag="geometric-median"):
    tolerance: float = 1e-13
    """it stops when a step is shorter than this times the mean distance,"""
    n_iterations: int = 10_000
    """and at the latest after so many"""

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """The geometric median `[n_params]`; of rows on one line with no single middle, a point between the two."""
        if not (self.tolerance > 0 and self.n_iterations > 0):
            raise ValueRangeError("the tolerance and the number of iterations of a geometric median must be positive")
        x = check_rows(rows)
        w = shares(weights, len(x))
        sums = dots(np.sqrt(squared_distances(x)), w)
        best: FloatVector = x[in_order(sums, x)[0]]
        v = _leave_row(x, w, best)
        if v is None:
            return best.copy()
        for _ in range(self.n_iterations):
            distances = _distances(x, v)
            step = _pull(x, w, v) / np.sum(w / distances)
            v = v + step
            if length(step) <= self.tolerance * float(dots(w, distances)):
                break
        return v
