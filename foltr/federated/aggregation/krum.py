"""Krum and Multi-Krum: trust the rows that have close neighbours.

    s(i) = sum of the distances from x_i to its n - m - 2 nearest other rows
    Krum = the row with the smallest s;  Multi-Krum = the mean of the n_kept rows with the smallest s

Blanchard et al. (NIPS 2017) add up squared Euclidean distances: "squared". The thesis prints Euclidean distances
(Section 5.3.1, Eq. 5.2): "euclidean". Their choices can differ; ours is "squared" unless settings say otherwise.
Multi-Krum keeps n - m rows as the thesis does, unless n_kept says otherwise.

Both need n >= 2m + 3: below that, m attackers who agree can be each other's neighbours, and no bound on their harm
holds. With `strict` off, n >= m + 3 is enough, the one neighbour that a score needs: for studies that used so few, as
the thesis with m = 4 of n = 10, and without the guarantee.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.rows import (
    RuleSettings,
    Spread,
    check_rows,
    distance_blocks,
    in_order,
    require,
    scores_by_distance,
    squared_distances,
)

Distance: TypeAlias = Literal["squared", "euclidean"]


def least_rows(n_malicious: int, *, strict: bool) -> int:
    """2m + 3; where it is not `strict`, m + 3."""
    return (2 if strict else 1) * n_malicious + 3


def krum_scores(
    rows: npt.ArrayLike, n_malicious: int, *, distance: Distance = "squared", strict: bool = True
) -> FloatVector:
    """s(i) `[n_clients]`; ValueRangeError for fewer than `least_rows`."""
    x = check_rows(rows)
    require("Krum", len(x), at_least=least_rows(n_malicious, strict=strict), n_malicious=n_malicious)
    return scores_by_distance(distances(x, distance), n_neighbours=len(x) - n_malicious - 2)


def mean_of_trusted(
    rows: npt.ArrayLike, n_malicious: int, *, n_kept: int | None, distance: Distance, strict: bool
) -> FloatVector:
    """The mean `[n_params]` of the `n_kept` rows with the smallest scores; n - m of them for None."""
    x = check_rows(rows)
    scores = krum_scores(x, n_malicious, distance=distance, strict=strict)
    kept = len(x) - n_malicious if n_kept is None else n_kept
    if not 1 <= kept <= len(x):
        raise ValueRangeError(f"Multi-Krum can keep 1 to {len(x)} of {len(x)} rows, not {kept}")
    average: FloatVector = x[in_order(scores, x)[:kept]].mean(axis=0)
    return average


def distances(rows: FloatMatrix, distance: Distance) -> FloatMatrix:
    """`[n_clients, n_clients]`, squared or not; 0 on the diagonal."""
    squared = squared_distances(rows)
    return squared if distance == "squared" else np.sqrt(squared)


def scores_in_blocks(spread: Spread, *, n_neighbours: int) -> FloatVector:
    """`scores_by_distance` of the rows' squared distances, `[n_clients]`, without a table of all pairs."""
    blocks = distance_blocks(spread)
    return np.concatenate([scores_by_distance(d, n_neighbours=n_neighbours, block=block) for block, d in blocks])


class Krum(RuleSettings, frozen=True, tag="krum"):
    n_malicious: int
    """m"""
    distance: Distance = "squared"
    strict: bool = True
    """whether n >= 2m + 3 is asked for, without which nothing is guaranteed; else n >= m + 3"""

    @property
    def least_rows(self) -> int:
        return least_rows(self.n_malicious, strict=self.strict)

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """The row `[n_params]` with the smallest score; `weights` are not used."""
        return mean_of_trusted(rows, self.n_malicious, n_kept=1, distance=self.distance, strict=self.strict)


class MultiKrum(RuleSettings, frozen=True, tag="multi-krum"):
    n_malicious: int
    """m"""
    n_kept: int | None = None
    """None: n - m"""
    distance: Distance = "squared"
    strict: bool = True
    """whether n >= 2m + 3 is asked for, without which nothing is guaranteed; else n >= m + 3"""

    @property
    def least_rows(self) -> int:
        """See `least_rows`; at least as many as are kept."""
        return max(least_rows(self.n_malicious, strict=self.strict), self.n_kept or 1)

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """See `mean_of_trusted`; `weights` are not used."""
        return mean_of_trusted(rows, self.n_malicious, n_kept=self.n_kept, distance=self.distance, strict=self.strict)
