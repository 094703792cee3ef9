"""Evolution strategies: the slope of an expected reward, from rewards of randomly perturbed rankers.

    g = E[ f(theta + sigma v) v ] / sigma,                                  v ~ N(0, I)    (FOLtR-ES, Eq. 4)
    g = E[ (f(theta + sigma v) - f(theta - sigma v)) v ] / (2 sigma)        antithetic     (Section 3.2)

A perturbation v is a function of a 32-bit seed, so that a device sends the seed in place of the vector. With c the
counter seed * 2^32 + i for i = 0, 1, .. n_params - 1 (and one more where n_params is odd),

    z = (c + 1) * 0x9E3779B97F4A7C15                                                       (mod 2^64)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;  x_i = z ^ (z >> 31)

which is a stretch of 2^32 numbers of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), another for every seed; then, by
Box and Muller (1958), for i even and y = floor(x / 2^11) the upper 53 bits,

    r = sqrt(-2 ln((y_i + 1) / 2^53)),  a = 2 pi y_{i+1} / 2^53,     v_i = r cos(a),  v_{i+1} = r sin(a)

The published program takes numpy's generator. Its numbers are not promised to be the same in every version of numpy,
and a device and a server that differ would follow different perturbations. Here they are the same on all
machines (foltr.arithmetic).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import log, waves, weighted_sum
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError

SEEDS = 1 << 32
"""how many seeds there are"""

_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
_TO_UNIT = 2.0**-53
_BLOCK = 1 << 20
"""normal numbers held in memory at a time"""


def perturbation(seed: int, n_params: int) -> FloatVector:
    """v `[n_params]` of one seed in [0, 2^32); ValueRangeError for another seed."""
    v: FloatVector = perturbations(np.array([seed]), n_params)[0]
    return v


def perturbations(seeds: npt.ArrayLike, n_params: int) -> FloatMatrix:
    """v of each seed `[n_seeds]`: `[n_seeds, n_params]`; ValueRangeError for a seed that is not in [0, 2^32)."""
    given = np.asarray(seeds)
    if given.size and not (np.issubdtype(given.dtype, np.integer) and given.min() >= 0 and given.max() < SEEDS):
        raise ValueRangeError(f"seeds must be whole numbers from 0 to {SEEDS - 1}")
    even = n_params + n_params % 2
    counters = np.left_shift(given.astype(np.uint64), np.uint64(32))[:, None] + np.arange(even, dtype=np.uint64)
    upper = (_splitmix(counters) >> np.uint64(11)).astype(np.float64)
    radius = np.sqrt(-2.0 * log((upper[:, 0::2] + 1.0) * _TO_UNIT))
    across, along = waves(upper[:, 1::2] * _TO_UNIT)
    v = np.empty(counters.shape)
    v[:, 0::2], v[:, 1::2] = radius * across, radius * along
    return v[:, :n_params]


def ascent_gradient(
    seeds: npt.ArrayLike, rewards: npt.ArrayLike, *, sigma: float, n_params: int, opposite: npt.ArrayLike | None = None
) -> FloatVector:
    """The mean over the clients of the estimates above: `[n_params]`, zeros without clients.

    `rewards` `[n_clients]` were earned at theta + sigma v; `opposite`, if given, at theta - sigma v. ShapeError when
    they do not fit; ValueRangeError for a reward that is not finite or a sigma that is not positive.
    """
    given, weights = np.asarray(seeds), reward_weights(rewards, opposite, sigma=sigma)
    if given.shape != weights.shape:
        raise ShapeError(f"one seed for each reward: {list(given.shape)} seeds, {list(weights.shape)} rewards")
    gradient = np.zeros(n_params)
    rows = max(1, _BLOCK // max(1, n_params))
    for begin in range(0, len(given), rows):
        block = slice(begin, begin + rows)
        gradient += weighted_sum(weights[block], perturbations(given[block], n_params))
    return gradient


def reward_weights(rewards: npt.ArrayLike, opposite: npt.ArrayLike | None = None, *, sigma: float) -> FloatVector:
    """What each client's v is multiplied with in the sum that is the gradient: `[n_clients]`."""
    earned = np.asarray(rewards, dtype=np.float64)
    if not (sigma > 0 and np.isfinite(sigma)):
        raise ValueRangeError(f"sigma must be positive, not {sigma}")
    if opposite is not None:
        if np.shape(opposite) != earned.shape:
            raise ShapeError(f"opposite rewards must be {list(earned.shape)}, not {list(np.shape(opposite))}")
        earned = (earned - np.asarray(opposite, dtype=np.float64)) / 2.0
    if earned.ndim != 1:
        raise ShapeError(f"rewards must be [n_clients], not {list(earned.shape)}")
    if not np.isfinite(earned).all():
        raise ValueRangeError("rewards must be finite")
    weights: FloatVector = earned / (sigma * max(1, len(earned)))
    return weights


def _splitmix(counters: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Number counters + 1 of the SplitMix64 sequence that starts at 0."""
    z = (counters + np.uint64(1)) * _STRIDE
    for shift, factor in _MIX:
        z = (z ^ (z >> np.uint64(shift))) * factor
    return z ^ (z >> np.uint64(31))
