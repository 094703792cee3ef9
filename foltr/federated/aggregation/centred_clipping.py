"""Centred clipping: a mean around a moving centre that no row can pull far.

    v_0 = 0,   v_(l+1) = v_l + sum_i w_i (x_i - v_l) min(1, tau / ||x_i - v_l||)

(Karimireddy, He and Jaggi, "Learning from history for Byzantine robust optimization", ICML 2021, Algorithm 2). Rows
are differences to the global model that devices began with, so 0 is the centre to begin with. A radius tau far above
the honest spread gives the mean, one far below hardly moves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.norm_clipping import norm_clipped_mean
from foltr.federated.aggregation.rows import RuleSettings, check_rows


class CentredClipping(RuleSettings, frozen=True, tag="centred-clipping"):
    radius: float
    """tau"""
    n_iterations: int = 3

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """The centre `[n_params]` after `n_iterations`."""
        if not (self.radius > 0 and np.isfinite(self.radius) and self.n_iterations > 0):
            raise ValueRangeError(
                f"centred clipping needs a positive radius and at least one iteration, not {self.radius}"
                f" and {self.n_iterations}"
            )
        x = check_rows(rows)
        v = np.zeros(x.shape[1])
        for _ in range(self.n_iterations):
            v = norm_clipped_mean(x, weights, bound=self.radius, centre=v)
        return v
