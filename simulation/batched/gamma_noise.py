"""The noise of the published FPDGD, compiled: foltr.privacy.noise.gamma_shares from the same device streams.

numpy draws Gamma(1/n) for n > 1 clients by rejection (Ahrens and Dieter 1974, algorithm GS). From u uniform and v
exponential, u^n stands where it is at most v, while u <= 1 - 1/n; else with y = -log(n (1 - u)) the number
(1 - 1/n + y/n)^n where it is at most v + y. With a whole number n the powers are products. Exponential numbers come by
the ziggurat (Marsaglia and Tsang 2000) with 256 layers, of which one draw in 50 needs more than a multiplication.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foltr.arrays import FloatVector, Int64Vector
from simulation.batched import kernel
from simulation.batched.drawing import advance, uniform

_RIGHT = np.longdouble("7.69711747013104972")
"""where the lowest layer's rectangle ends"""
_FAR = float(_RIGHT)
_LAYERS = 256
_THREE, _EIGHT, _LOWEST = np.uint64(3), np.uint64(8), np.uint64(_LAYERS - 1)


def _layers() -> tuple[FloatVector, FloatVector, FloatVector]:
    """Of each layer its width / 2^53, the share of it that lies inside the layer above times 2^53, and its height."""
    area, edges = np.exp(-_RIGHT) * (_RIGHT + 1), np.empty(_LAYERS, np.longdouble)
    edges[-1] = _RIGHT
    for layer in range(_LAYERS - 2, 0, -1):
        edges[layer] = -np.log(area / edges[layer + 1] + np.exp(-edges[layer + 1]))
    widths = np.concatenate([[area / np.exp(-_RIGHT)], edges[1:]])
    inside = np.concatenate([[_RIGHT / widths[0], 0], edges[1:-1] / edges[2:]])
    heights = np.concatenate([[1], np.exp(-edges[1:])])
    unit = np.longdouble(2) ** 53
    return (widths / unit).astype(np.float64), (inside * unit).astype(np.float64), heights.astype(np.float64)


_WIDTH, _INSIDE, _HEIGHT = _layers()


class Noise(NamedTuple):
    """What every device adds to what it learned."""

    n_shares: int
    """shares that make one Laplace variable; 0: no noise"""
    scale: float
    """of that variable"""
    places: Int64Vector
    """[n_sent] the column that each weight has where it is learned: noise is drawn in the order of the message"""


@kernel()
def add_noise(noise, theta, state):  # type: ignore[no-untyped-def]
    """theta + gamma - gamma', all gammas drawn before all gamma primes."""
    for place in noise.places:
        theta[place] += noise.scale * standard_gamma(noise.n_shares, state)
    for place in noise.places:
        theta[place] -= noise.scale * standard_gamma(noise.n_shares, state)


@kernel()
def standard_gamma(n, state):  # type: ignore[no-untyped-def]
    """The next `Generator.standard_gamma(1 / n)` for a whole number n; the last digits may differ."""
    if n == 1:
        return standard_exponential(state)
    shape = 1.0 / n
    while True:
        u = uniform(state)
        v = standard_exponential(state)
        if u <= 1.0 - shape:
            x = _power(u, n)
            if x <= v:
                return x
        else:
            y = -math.log((1.0 - u) / shape)
            x = _power(1.0 - shape + shape * y, n)
            if x <= v + y:
                return x


@kernel()
def _power(x, n):  # type: ignore[no-untyped-def]
    """x^n by squaring."""
    power = 1.0
    while n > 0:
        power *= x if n & 1 else 1.0
        x *= x
        n >>= 1
    return power


@kernel()
def standard_exponential(state):  # type: ignore[no-untyped-def]
    """The next `Generator.standard_exponential()`; the last digits may differ."""
    while True:
        bits, state[0], state[1], state[2], state[3] = advance(state[0], state[1], state[2], state[3])
        bits >>= _THREE
        layer, across = bits & _LOWEST, np.float64(np.int64(bits >> _EIGHT))
        x = across * _WIDTH[layer]
        if across < _INSIDE[layer]:
            return x
        if layer == 0:
            return _FAR - math.log1p(-uniform(state))
        above = _HEIGHT[layer - np.uint64(1)]
        if (above - _HEIGHT[layer]) * uniform(state) + _HEIGHT[layer] < math.exp(-x):
            return x
