"""foltr.online.evolution_strategies.perturbation in compiled code: the same numbers for the same seed.

Logarithm, sine and cosine may differ from numpy's in the last digit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_FIRST_SHIFT, _SECOND_SHIFT, _LAST_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
_ONE, _LOW_BITS, _SEED_SHIFT = np.uint64(1), np.uint64(11), np.uint64(32)
_TO_UNIT = 2.0**-53


@njit(cache=True)
def upper_bits(counter):  # type: ignore[no-untyped-def]
    """The upper 53 bits of number counter + 1 of the SplitMix64 sequence that starts at 0."""
    z = (counter + _ONE) * _STRIDE
    z = (z ^ (z >> _FIRST_SHIFT)) * _FIRST_FACTOR
    z = (z ^ (z >> _SECOND_SHIFT)) * _SECOND_FACTOR
    return np.float64(np.int64((z ^ (z >> _LAST_SHIFT)) >> _LOW_BITS))


@njit(cache=True)
def perturb(seed, v):  # type: ignore[no-untyped-def]
    """Fill v `[n_params]` with the perturbation of the seed, a uint64 below 2^32."""
    first = seed << _SEED_SHIFT
    for i in range(0, len(v), 2):
        counter = first + np.uint64(i)
        radius = np.sqrt(-2.0 * np.log((upper_bits(counter) + 1.0) * _TO_UNIT))
        angle = 2.0 * np.pi * (upper_bits(counter + _ONE) * _TO_UNIT)
        v[i] = radius * np.cos(angle)
        if i + 1 < len(v):
            v[i + 1] = radius * np.sin(angle)
