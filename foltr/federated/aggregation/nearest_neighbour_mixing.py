"""Nearest-neighbour mixing: before a robust rule, replace each row by the mean of its n - m nearest rows.

    y_i = 1/(n - m) sum of the n - m rows closest to x_i, itself among them;   then a robust rule on y

Allouah et al., "Fixing by mixing: a recipe for optimal Byzantine ML under heterogeneity", AISTATS 2023, Algorithm 2. It
is meant for devices whose honest updates differ, which rules such as Krum or the median take for attacks. Needs
n >= 2m + 1, and what the rule after it needs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import table
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.bulyan import Bulyan
from foltr.federated.aggregation.centred_clipping import CentredClipping
from foltr.federated.aggregation.geometric_median import GeometricMedian
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.norm_clipping import NormClipping
from foltr.federated.aggregation.rows import RuleSettings, Spread, check_rows, distance_blocks, require
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean, least_rows


def mixed_with_neighbours(rows: npt.ArrayLike, n_malicious: int) -> FloatMatrix:
    """The mixed rows `[n_clients, n_params]`; of rows at equal distance the earlier one counts as nearer."""
    x = check_rows(rows)
    n = len(x)
    require("nearest-neighbour mixing", n, at_least=least_rows(n_malicious), n_malicious=n_malicious)
    mixed = np.empty_like(x)
    for block, distances in distance_blocks(Spread.of(x)):
        nearest = distances.argsort(axis=1, kind="stable")[:, : n - n_malicious]
        mixing = np.zeros((len(distances), n))
        mixing[np.arange(len(distances))[:, None], nearest] = 1.0 / (n - n_malicious)
        mixed[block] = table(mixing, x.T)
    return mixed


class NearestNeighbourMixing(RuleSettings, frozen=True, tag="nearest-neighbour-mixing"):
    """Nearest-neighbour mixing, then another rule."""

    n_malicious: int
    """m"""
    then: Mean | Median | TrimmedMean | Krum | MultiKrum | Bulyan | GeometricMedian | CentredClipping | NormClipping
    """the rule that joins the mixed rows"""

    @property
    def least_rows(self) -> int:
        """2m + 1, and what the rule after it takes."""
        return max(least_rows(self.n_malicious), self.then.least_rows)

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """See `mixed_with_neighbours`; `weights` are not used."""
        return self.then.combine(mixed_with_neighbours(rows, self.n_malicious))
