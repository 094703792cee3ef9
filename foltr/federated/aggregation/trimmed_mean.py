"""Coordinate-wise trimmed mean and median.

Each parameter on its own: sort its n values, drop the m largest and the m smallest, average the rest; or take the
median (Yin et al., ICML 2018; thesis Eq. 5.4 and 5.5, where beta = n_malicious m). Both need n >= 2m + 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatVector
from foltr.federated.aggregation.rows import RuleSettings, check_rows, middle_of, require


def least_rows(n_malicious: int) -> int:
    """2m + 1."""
    return 2 * n_malicious + 1


class TrimmedMean(RuleSettings, frozen=True, tag="trimmed-mean"):
    """Coordinate-wise trimmed mean."""

    n_malicious: int
    """m, how many values each end loses"""

    @property
    def least_rows(self) -> int:
        return least_rows(self.n_malicious)

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """The mean `[n_params]` of what is left of each parameter's values; `weights` are not used."""
        x, m = check_rows(rows), self.n_malicious
        require("trimmed mean", len(x), at_least=self.least_rows, n_malicious=m)
        kept: FloatVector = np.sort(x, axis=0)[m : len(x) - m].mean(axis=0)
        return kept


class Median(RuleSettings, frozen=True, tag="median"):
    """Coordinate-wise median."""

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """The median `[n_params]`; of an even number of rows the mean of the middle two; `weights` are not used."""
        return middle_of(check_rows(rows))
