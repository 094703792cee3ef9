"""Random numbers for compiled code: those of numpy and of foltr, from the same states, and what is drawn by them.

The numbers are those of SFC64, the generator of the simulated streams:

    out = a + b + w;  w <- w + 1;  a <- b ^ (b >> 11);  b <- c + (c << 3);  c <- rotl(c, 24) + out     (mod 2^64)

(Chris Doty-Humphrey, PractRand). A state is a row `[4]` of uint64 in numpy's order a, b, c, w, advanced in place.

Rankings are those of foltr.ranking.plackett_luce.draw. A rank is found by counting the running sums of the weights that
its number does not exceed: the same few vector operations wherever it lies, and no branch to mispredict. The weight of
a placed document is taken off the running sums behind it, which are added up anew before that can cost digits.

Noise is that of the published FPDGD, foltr.privacy.noise.gamma_shares. numpy draws Gamma(1/n) for n > 1 clients by
rejection (Ahrens and Dieter 1974, algorithm GS). From u uniform and v exponential, u^n stands where it is at most v,
while u <= 1 - 1/n; else with y = -log(n (1 - u)) the number (1 - 1/n + y/n)^n where it is at most v + y. With a whole
number n the powers are products. Exponential numbers come by the ziggurat (Marsaglia and Tsang 2000) with 256 layers,
of which one draw in 50 needs more than a multiplication.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foltr.arithmetic import SMALLEST
from foltr.arrays import FloatVector, Int64Vector
from simulation.batched import compiled, kernel
from simulation.batched.simd_sums import exp, log, log1p, power_of_e

_STEP, _SHIFT, _ELEVEN = np.uint64(1), np.uint64(3), np.uint64(11)
_ROTATE, _BACK = np.uint64(24), np.uint64(40)
_UNIT = 2.0**-53


@compiled()
def seed_compiled(seed):  # type: ignore[no-untyped-def]
    """Seed what compiled code draws from numpy's one common generator, as a step of your own may."""
    np.random.seed(seed)


@kernel(inlined=True)
def advance(a, b, c, w):  # type: ignore[no-untyped-def]
    """The next 64 bits and the next state."""
    out = a + b + w
    return out, b ^ (b >> _ELEVEN), c + (c << _SHIFT), ((c << _ROTATE) | (c >> _BACK)) + out, w + _STEP


@kernel(inlined=True)
def to_unit(bits):  # type: ignore[no-untyped-def]
    """The number in [0, 1) that `Generator.random()` makes of 64 bits: the upper 53 times 2^-53."""
    return np.int64(bits >> _ELEVEN) * _UNIT


@kernel(inlined=True)
def uniform(state):  # type: ignore[no-untyped-def]
    """The next number of a state."""
    bits, state[0], state[1], state[2], state[3] = advance(state[0], state[1], state[2], state[3])
    return to_unit(bits)


@kernel(inlined=True)
def uniforms(state, n, numbers):  # type: ignore[no-untyped-def]
    """The next n numbers of a state, into `numbers`."""
    a, b, c, w = state[0], state[1], state[2], state[3]
    for i in range(n):
        bits, a, b, c, w = advance(a, b, c, w)
        numbers[i] = to_unit(bits)
    state[0], state[1], state[2], state[3] = a, b, c, w


LANES = 8
"""Arrays by document are as long as this many times a whole number, so that loops over them are whole vectors."""


@kernel(inlined=True)
def whole_lanes(n_docs):  # type: ignore[no-untyped-def]
    """`n_docs` rounded up to whole vectors."""
    return (n_docs + LANES - 1) // LANES * LANES


@kernel(inlined=True)
def exponentials(scores, zero, n_docs, weights):  # type: ignore[no-untyped-def]
    """weights[d] = e^(scores[d] - zero) for scores up to `zero`, 0 below e^-700; zeros to the end of the last vector.

    Both arrays have room for whole vectors; what follows the scores is lost.
    """
    n_rows = whole_lanes(n_docs)
    for d in range(n_docs, n_rows):
        scores[d] = -np.inf
    for d in range(n_rows):
        given = scores[d] - zero
        power = power_of_e(max(given, SMALLEST))
        weights[d] = power if given >= SMALLEST else 0.0


_EXHAUSTED = 1e-100
"""a sum of weights below which they are measured anew"""
_WORN = 2.0**-10
"""The share of the sum that running sums began with, below which they are added up anew: 13 digits are right."""
_FOUR, _ONE, _TWO, _THREE = (np.uint64(n) for n in (4, 1, 2, 3))


@kernel(inlined=True)
def _add_up(weights, n_rows, sums):  # type: ignore[no-untyped-def]
    """sums[d] = the sum of the weights of the rows up to d, four rows at a time; returns the last."""
    total = 0.0
    row = np.uint64(0)
    while row < n_rows:
        first, third = weights[row], weights[row + _TWO]
        two = first + weights[row + _ONE]
        sums[row], sums[row + _ONE], sums[row + _TWO] = total + first, total + two, total + (two + third)
        total += two + (third + weights[row + _THREE])
        sums[row + _THREE] = total
        row += _FOUR
    return total


@kernel()
def _begin_again(scores, n_docs, weights, ranking, rank, left):  # type: ignore[no-untyped-def]
    """Weights measured from the largest score that is not yet placed; `left` is room as `weights`."""
    for d in range(n_docs):
        left[d] = scores[d]
    for r in range(rank):
        left[ranking[r]] = -np.inf
    zero = -np.inf
    for d in range(n_docs):
        zero = max(zero, left[d])
    exponentials(left, zero, n_docs, weights)


@kernel()
def _nearest(weights, row):  # type: ignore[no-untyped-def]
    """The row with a weight next to one without, should rounding have led there: before it, else behind it."""
    for before in range(row, -1, -1):
        if weights[before] > 0.0:
            return before
    while not weights[row] > 0.0:
        row += 1
    return row


@kernel(inlined=True)
def draw(scores, n_docs, k, numbers, weights, sums, ranking, placed):  # type: ignore[no-untyped-def]
    """Draw k <= n_docs rows into `ranking`, their weights into `placed`; return the sum of all weights left over.

    `numbers` `[k]` decide; `weights` holds those of `exponentials` on entry, `sums` is room as `weights`. -1 when the
    weights had to be measured anew on the way, so that those of `placed` are not on one scale; NaN when the scores
    were not finite (the ranking then means nothing).
    """
    n_rows = whole_lanes(n_docs)
    anew = False
    total = _add_up(weights, np.uint64(n_rows), sums)
    if not total > 0.0:
        return np.nan
    whole, taken, taken_at = total, 0.0, n_rows
    for rank in range(k):
        if total < whole * _WORN:
            total = _add_up(weights, np.uint64(n_rows), sums)
            if total < _EXHAUSTED:
                anew = True
                _begin_again(scores, n_docs, weights, ranking, rank, sums)
                total = _add_up(weights, np.uint64(n_rows), sums)
                if not total > 0.0:
                    return np.nan
            whole, taken = total, 0.0
        target = numbers[rank] * total
        row = 0
        for d in range(n_rows):
            sums[d] -= taken if d >= taken_at else 0.0
            row += sums[d] <= target
        if row >= n_docs or not weights[np.uint64(row)] > 0.0:
            row = _nearest(weights, min(row, n_docs - 1))
        taken, taken_at = weights[np.uint64(row)], row
        ranking[rank], placed[rank] = row, taken
        weights[np.uint64(row)] = 0.0
        total -= taken
    if total < whole * _WORN:
        total = _add_up(weights, np.uint64(n_rows), sums)
    return -1.0 if anew else total


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
            y = -log((1.0 - u) / shape)
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
            return _FAR - log1p(-uniform(state))
        above = _HEIGHT[layer - np.uint64(1)]
        if (above - _HEIGHT[layer]) * uniform(state) + _HEIGHT[layer] < exp(-x):
            return x
