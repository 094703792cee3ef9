"""What Gaussian noise over rounds guarantees, exactly, when every device takes part in every round.

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),   mu^2 = sum over rounds of 1/z_r^2

(Balle and Wang, ICML 2018, Theorem 8; Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Corollary 2.13
and 3.3). z is the standard deviation of the noise over the sensitivity. Nothing is gained by sampling: a server sees
who takes part. All is computed in logarithms, so any epsilon and any delta above 1e-300 are met to about 10 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from foltr.errors import ValueRangeError


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The exact delta of epsilon for the total `mu`; 0 when it is below the smallest float."""
    return math.exp(log_delta(mu, epsilon))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon for `delta` in (0, 1), rounded up; inf for an infinite mu, 0 when delta needs none."""
    check_delta(delta)
    _check_not_negative(mu, "mu")
    if math.isinf(mu):
        return math.inf
    target = math.log(delta)
    return smallest(lambda epsilon: log_delta(mu, epsilon) <= target)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu that keeps (`epsilon`, `delta`), rounded down."""
    check_delta(delta)
    _check_not_negative(epsilon, "epsilon")
    target = math.log(delta)
    return 1.0 / smallest(lambda inverse: inverse > 0 and log_delta(1.0 / inverse, epsilon) <= target)


def noise_multiplier_for(epsilon: float, delta: float, *, n_rounds: int, sensitivity: float = 1.0) -> float:
    """The smallest z = sensitivity sqrt(T) / mu for T = `n_rounds` rounds; sensitivity 2 for replace neighbours."""
    if n_rounds < 1:
        raise ValueRangeError(f"n_rounds must be at least 1, not {n_rounds}")
    return sensitivity * math.sqrt(n_rounds) / gaussian_mu(epsilon, delta)


def log_delta(mu: float, epsilon: float) -> float:
    """log delta(epsilon), -inf for mu = 0.

    With x = epsilon/mu - mu/2 and y = epsilon/mu + mu/2 the density phi obeys phi(x) = e^epsilon phi(y), so that
    delta = phi(x) (R(x) - R(y)), R = (1 - Phi) / phi being Mills' ratio: nothing overflows.
    """
    _check_not_negative(mu, "mu")
    if mu == 0:
        return -math.inf
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    log_density = -x * x / 2 - math.log(2 * math.pi) / 2
    if x < 0:
        return math.log1p(-math.exp(log_density) * (_mills_ratio(-x) + _mills_ratio(y)))
    difference = _mills_ratio(x) - _mills_ratio(y)
    return log_density + math.log(difference) if difference > 0 else -math.inf


def smallest(holds: Callable[[float], bool]) -> float:
    """The smallest number from 0 for which `holds`, which is false below it and true above, rounded up by 1e-13."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def check_delta(delta: float) -> None:
    """ValueRangeError unless 0 < delta < 1."""
    if not 0 < delta < 1:
        raise ValueRangeError(f"delta must be between 0 and 1, not {delta}")


def _check_not_negative(value: float, name: str) -> None:
    if not value >= 0:
        raise ValueRangeError(f"{name} must not be negative, and is {value}")


def _mills_ratio(x: float) -> float:
    """(1 - Phi(x)) / phi(x) for x >= 0: by erfc, from 5 on by Laplace's continued fraction 1/(x + 1/(x + 2/(x + ..."""
    if x < 5:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    tail = x
    for numerator in range(60, 0, -1):
        tail = x + numerator / tail
    return 1.0 / tail
