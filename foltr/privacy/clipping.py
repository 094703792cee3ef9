"""Clipping: scale a vector into a ball, so that no device can move the sum by more than the radius.

    clip(x) = x * min(1, bound / ||x||)

L2 for Gaussian noise, L1 for Laplace noise: the norm must be the one that the noise was made for.
"""

from __future__ import annotations

import numpy as np

from foltr.arithmetic import length
from foltr.arrays import FloatArray, FloatVector
from foltr.errors import ValueRangeError

ROUNDING_MARGIN = 2.0**-40
"""A radius shrunk by this share holds in exact arithmetic too: the norm, the factor and the product are each wrong by
less than 2**-44 for vectors of up to 2**32 numbers."""


def l1_norm(x: FloatVector) -> float:
    """sum |x_i|; ValueRangeError when a number is not finite, inf when the sum is too large for a float."""
    _refuse_not_finite(x)
    with np.errstate(over="ignore"):
        return float(np.abs(x).sum())


def l2_norm(x: FloatVector) -> float:
    """sqrt(sum x_i^2), without overflow of the squares; ValueRangeError when a number is not finite."""
    _refuse_not_finite(x)
    largest = float(np.abs(x).max(initial=0.0))
    if 1e-100 < largest < 1e100:
        return length(x)
    return 0.0 if largest == 0.0 else largest * float(np.sqrt(np.sum((x / largest) ** 2)))


def clip_l1(x: FloatVector, bound: float) -> FloatVector:
    """`x` `[n_params]` scaled into the L1 ball of that radius; `x` itself when it lies inside."""
    return _scaled(x, norm=l1_norm(x), bound=bound)


def clip_l2(x: FloatVector, bound: float) -> FloatVector:
    """`x` `[n_params]` scaled into the L2 ball of that radius; `x` itself when it lies inside.

    Thesis Eq. 3.19 with bound = Delta/2; the published program uses bound = Delta (its utils/dp.py).
    """
    return _scaled(x, norm=l2_norm(x), bound=bound)


def _scaled(x: FloatVector, *, norm: float, bound: float) -> FloatVector:
    if not bound > 0:
        raise ValueRangeError(f"a clipping bound must be positive, not {bound}")
    return x if norm <= bound else x * (bound / norm)


def _refuse_not_finite(x: FloatArray) -> None:
    if not np.isfinite(x).all():
        raise ValueRangeError("a vector to be clipped holds a number that is not finite")
