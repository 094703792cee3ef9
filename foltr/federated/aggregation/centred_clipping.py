"""Centred clipping: a mean around a moving centre that no row can pull far.

    v_0 = 0,   v_(l+1) = v_l + sum_i w_i (x_i - v_l) min(1, tau / ||x_i - v_l||)

(Karimireddy, He and Jaggi, "Learning from history for Byzantine robust optimization", ICML 2021, Algorithm 2). Rows
are differences to the global model that devices began with, so 0 is the centre to begin with. A radius tau far above
the honest spread gives the mean, one far below hardly moves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.norm_clipping import norm_clipped_mean
from foltr.federated.aggregation.rows import RuleSettings, check_rows


def centred_clipping(
    rows: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    radius: float,
    n_iterations: int = 3,
) -> FloatVector:
    """The centre `[n_params]` after `n_iterations`, for clipping radius tau = `radius`."""
    if not (radius > 0 and np.isfinite(radius) and n_iterations > 0):
        raise ValueRangeError(
            f"centred clipping needs a positive radius and at least one iteration, not {radius} and {n_iterations}"
        )
    x = check_rows(rows)
    v = np.zeros(x.shape[1])
    for _ in range(n_iterations):
        v = norm_clipped_mean(x, weights, bound=radius, centre=v)
    return v


class CentredClipping(RuleSettings, frozen=True, tag="centred-clipping"):
    """Centred clipping."""

    radius: float
    """tau"""
    n_iterations: int = 3

    def combine(self, rows: FloatMatrix, weights: FloatVector | None = None) -> FloatVector:
        """See `centred_clipping`."""
        return centred_clipping(rows, weights, radius=self.radius, n_iterations=self.n_iterations)
