"""Norm clipping: no device moves the mean by more than a radius.

    c + sum_i w_i clip(x_i - c) / sum_i w_i,   clip(u) = u min(1, bound / ||u||_2)

(Sun et al., "Can you really backdoor federated learning?", arXiv 1911.07963). It limits what an attacker can do in a
round, and leaves nobody out. If no bound is given, it is the median length of the round's differences: at most half of
the rows are then shortened, and fewer than half malicious rows cannot raise it above all honest lengths.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import lengths, weighted_sum
from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.rows import RuleSettings, check_rows, middle_of, shares


def norm_clipped_mean(
    rows: npt.ArrayLike, weights: npt.ArrayLike | None, *, bound: float | None, centre: FloatVector | None = None
) -> FloatVector:
    """The mean `[n_params]` of the rows after each is clipped around `centre` `[n_params]`.

    `bound` None is the median length, `centre` None is 0, as it is where rows are differences.
    """
    x = check_rows(rows)
    middle = np.zeros(x.shape[1]) if centre is None else centre
    difference = x - middle
    far = lengths(difference)
    radius = float(middle_of(far)) if bound is None else bound
    return middle + weighted_sum(shares(weights, len(x)) * clip_factors(far, radius), difference)


def clip_factors(lengths: FloatVector, radius: float) -> FloatVector:
    """min(1, radius / length), `[n_clients]`; 1 for length 0."""
    if not (radius >= 0 and np.isfinite(radius)):
        raise ValueRangeError(f"a clipping radius must be finite and not negative, not {radius}")
    return radius / np.maximum(lengths, radius) if radius > 0 else (lengths == 0).astype(np.float64)


class NormClipping(RuleSettings, frozen=True, tag="norm-clipping"):
    bound: float | None = None
    """L2 radius of a device's difference; None: the median length of the round"""

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """See `norm_clipped_mean`."""
        return norm_clipped_mean(rows, weights, bound=self.bound)
