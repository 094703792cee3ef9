"""Bulyan: choose n - 2m rows by Krum, one after another, then average each parameter's values nearest to its median.

El Mhamdi et al. (ICML 2018): Krum chooses a row, the row is taken out, and again, until n - 2m are chosen; then for
each parameter the mean of the n - 4m chosen values that are closest to the median of the chosen ones. Needs n >= 4m +
3. Krum of the r rows that are left looks at max(1, r - m - 2) neighbours, because the last choices have fewer than
Krum's own 2m + 3 rows, a case that the paper leaves open. With one neighbour two rows are each other's nearest and tie;
the earlier row wins, as in published programs, so there the order of the rows can matter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.federated.aggregation.krum import Distance, distances
from foltr.federated.aggregation.rows import RuleSettings, check_rows, middle_of, require, scores_by_distance


def chosen_by_krum(rows: FloatMatrix, n_malicious: int, *, n_chosen: int, distance: Distance) -> IntVector:
    """Indices `[n_chosen]` of the rows that Krum chooses one after another."""
    between = distances(rows, distance)
    left = np.arange(len(rows))
    chosen = np.empty(n_chosen, dtype=np.intp)
    for place in range(n_chosen):
        n_neighbours = max(1, len(left) - n_malicious - 2)
        scores = scores_by_distance(between[np.ix_(left, left)], n_neighbours=n_neighbours)
        best = int(np.argmin(scores))
        chosen[place] = left[best]
        left = np.delete(left, best)
    return chosen


def mean_around_median(rows: FloatMatrix, *, n_kept: int) -> FloatVector:
    """For each parameter the mean of its `n_kept` values closest to its median, `[n_params]`."""
    distance = np.abs(rows - middle_of(rows))
    nearest = np.argsort(distance, axis=0, kind="stable")[:n_kept]
    kept: FloatVector = np.take_along_axis(rows, nearest, axis=0).mean(axis=0)
    return kept


class Bulyan(RuleSettings, frozen=True, tag="bulyan"):
    n_malicious: int
    """m"""
    distance: Distance = "squared"

    @property
    def least_rows(self) -> int:
        """4m + 3."""
        return 4 * self.n_malicious + 3

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """The Bulyan aggregate `[n_params]`; `weights` are not used. ValueRangeError when n < 4m + 3."""
        x, m = check_rows(rows), self.n_malicious
        require("Bulyan", len(x), at_least=self.least_rows, n_malicious=m)
        chosen = x[chosen_by_krum(x, m, n_chosen=len(x) - 2 * m, distance=self.distance)]
        return mean_around_median(chosen, n_kept=len(x) - 4 * m)
