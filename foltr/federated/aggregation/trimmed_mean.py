"""Coordinate-wise trimmed mean and median.

Each parameter on its own: sort its n values, drop the m largest and the m smallest, average the rest; or take the
median (Yin et al., ICML 2018; thesis Eq. 5.4 and 5.5, where beta = n_malicious m). Both need n >= 2m + 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.aggregation.rows import RuleSettings, check_rows, middle_of, require


def least_rows(n_malicious: int) -> int:
    """2m + 1."""
    return 2 * n_malicious + 1


def trimmed_mean(rows: npt.ArrayLike, n_malicious: int) -> FloatVector:
    """The mean `[n_params]` of each parameter's values without its `n_malicious` largest and smallest."""
    x = check_rows(rows)
    n = len(x)
    require("trimmed mean", n, at_least=least_rows(n_malicious), n_malicious=n_malicious)
    kept: FloatVector = np.sort(x, axis=0)[n_malicious : n - n_malicious].mean(axis=0)
    return kept


def median(rows: npt.ArrayLike) -> FloatVector:
    """The median `[n_params]` of each parameter; of an even number of rows the mean of the middle two."""
    return middle_of(check_rows(rows))


class TrimmedMean(RuleSettings, frozen=True, tag="trimmed-mean"):
    """Coordinate-wise trimmed mean."""

    n_malicious: int
    """m, how many values each end loses"""

    @property
    def least_rows(self) -> int:
        """See `least_rows`."""
        return least_rows(self.n_malicious)

    def combine(self, rows: FloatMatrix, weights: FloatVector | None = None) -> FloatVector:
        """See `trimmed_mean`; `weights` are not used."""
        return trimmed_mean(rows, self.n_malicious)


class Median(RuleSettings, frozen=True, tag="median"):
    """Coordinate-wise median."""

    def combine(self, rows: FloatMatrix, weights: FloatVector | None = None) -> FloatVector:
        """See `median`; `weights` are not used."""
        return median(rows)
