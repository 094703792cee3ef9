"""What Laplace noise over rounds guarantees: the sum of the rounds' epsilons, or less with a delta.

One round with sensitivity s (in scales of the noise) has, for the worst pair, delta(epsilon) = 1 - e^((epsilon - s)/2)
for |epsilon| <= s. Over rounds the privacy losses add up, so their distributions are convolved (Sommer, Meiser and
Mohammadi, PETS 2019). The distribution is put on a grid by joining the dots of the curve (Doroshenko et al.,
PETS 2022): delta is convex in e^epsilon, so the chords lie above it and the answer is never too small; what the fast
Fourier transform can lose is added to delta. The worst pair moves one number by s: moving several by s together costs
no more, which a test checks on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from foltr.privacy.gaussian_accounting import check_delta

N_BINS = 1 << 20
"""of the grid of privacy losses"""


class LaplaceRounds(NamedTuple):
    """Rounds of equal Laplace noise."""

    sensitivity: float
    """s, what a device can change over the scale of the noise: the epsilon of one round"""
    n_rounds: int


def laplace_epsilon(spent: Sequence[LaplaceRounds], delta: float = 0.0) -> float:
    """An upper bound of epsilon for `delta` after these rounds; for delta 0, and never above, the basic sum.

    Beyond 250,000 rounds, where the grid would be too coarse, it is the basic sum too.
    """
    basic = basic_sum(spent)
    if delta == 0 or basic == 0 or math.isinf(basic):
        return basic
    check_delta(delta)
    real = [rounds for rounds in spent if rounds.n_rounds and rounds.sensitivity]
    step = _step(real, basic)
    if step is None:
        return basic
    masses = _composed(real, step)
    n_rounds = sum(r.n_rounds for r in real)
    # the transform's relative error in each frequency, carried to the sum of all masses by Parseval and Cauchy-Schwarz
    slack = math.sqrt(N_BINS) * math.log2(N_BINS) * n_rounds * 2.0**-52 * float(np.sqrt(masses @ masses))
    return min(basic, _epsilon(masses, step, delta - slack))


def basic_sum(spent: Sequence[LaplaceRounds]) -> float:
    """sum of s * rounds: pure epsilon-differential privacy, delta 0."""
    for sensitivity, n_rounds in spent:
        if not sensitivity >= 0 or n_rounds < 0:
            raise ValueRangeError(f"Laplace noise of sensitivity {sensitivity} over {n_rounds} rounds makes no sense")
    return math.fsum(sensitivity * n_rounds for sensitivity, n_rounds in spent if n_rounds)


def loss_masses(sensitivity: float, steps: int) -> FloatVector:
    """P(loss = k sensitivity / steps) for k from -steps to steps, `[2 steps + 1]`, of one round with the dots joined.

    The chords of delta over e^epsilon between neighbouring dots l and l + h change their slope by the mass that the
    other distribution has at a dot, and e^l times that is the mass here: e^((l - s)/2) tanh(h/4) inside,
    1 / (1 + e^(-h/2)) at l = s, and e^(-s) times that at l = -s.
    """
    h = sensitivity / steps
    losses = h * np.arange(-steps, steps + 1)
    masses: FloatVector = np.exp((losses - sensitivity) / 2) * math.tanh(h / 4)
    masses[-1] = 1.0 / (1.0 + math.exp(-h / 2))
    masses[0] = math.exp(-sensitivity) * masses[-1]
    return masses


def _step(spent: Sequence[LaplaceRounds], basic: float) -> float | None:
    """The grid's step: fits all losses into the bins and divides the sensitivity that costs most; None: too coarse."""
    n_rounds = sum(r.n_rounds for r in spent)
    if n_rounds >= N_BINS // 4:
        return None
    widest = max(spent, key=lambda r: r.sensitivity * r.n_rounds).sensitivity
    steps = int(widest * (N_BINS // 2 - 1 - n_rounds) / basic)
    return widest / steps if steps else None


def _composed(spent: Sequence[LaplaceRounds], step: float) -> FloatVector:
    """The masses `[N_BINS]` of the summed losses step * (-N_BINS / 2), ..., step * (N_BINS / 2 - 1)."""
    spectrum = np.ones(N_BINS // 2 + 1, dtype=np.complex128)
    for sensitivity, n_rounds in spent:
        steps = math.ceil(sensitivity / step - 1e-9)
        masses = loss_masses(steps * step, steps)
        circle = np.zeros(N_BINS)
        circle[: steps + 1], circle[N_BINS - steps :] = masses[steps:], masses[:steps]
        spectrum *= np.fft.rfft(circle) ** n_rounds
    composed: FloatVector = np.maximum(np.roll(np.fft.irfft(spectrum, N_BINS), N_BINS // 2), 0.0)
    return composed


def _epsilon(masses: FloatVector, step: float, delta: float) -> float:
    """The smallest epsilon from 0 with sum over losses l > epsilon of p(l) (1 - e^(epsilon - l)) <= `delta`."""
    if delta <= 0:
        return math.inf
    positive = masses[N_BINS // 2 :]
    low, high = 0, len(positive) - 1
    if _tail(positive, step, low, 0.0)[0] <= delta:
        return 0.0
    while high - low > 1:  # delta at the dot `low` is too much, at the dot `high` it is enough
        middle = (low + high) // 2
        enough = _tail(positive, step, middle, step * middle)[0] <= delta
        low, high = (low, middle) if enough else (middle, high)
    _, mass, discounted = _tail(positive, step, high, step * high)
    return step * high + math.log((mass - delta) / discounted) if mass > delta else step * low


def _tail(masses: FloatVector, step: float, first: int, epsilon: float) -> tuple[float, float, float]:
    """delta, sum p(l) and sum p(l) e^(epsilon - l) over the losses l = step * first and above."""
    losses = step * np.arange(first, len(masses))
    tail = masses[first:]
    return (
        float(tail @ -np.expm1(epsilon - losses)),
        float(tail.sum()),
        float(tail @ np.exp(epsilon - losses)),
    )
