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


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon for `delta` in (0, 1), rounded up; inf for an infinite mu, 0 when delta needs none."""
    check_delta(delta)
    if math.isinf(mu):
        return math.inf
    target = math.log(delta)
    return _smallest(lambda epsilon: log_delta(mu, epsilon) <= target)


def best_auc(mu: float) -> float:
    """Phi(mu / sqrt 2): the AUC that no test exceeds that tells two cases mu apart; chance is 1/2, inf gives 1.

    The area under the curve of the most powerful tests, 1 - beta = Phi(Phi^-1(alpha) + mu) (Dong, Roth and Su,
    Eq. 6), which lies above that of any other score.
    """
    _check_mu(mu)
    return math.erfc(-mu / 2) / 2


def best_guess(mu: float, prior: float = 0.5) -> float:
    """How often the best guess between two cases mu apart is right, when the first is true with probability `prior`.

        p Phi(mu/2 + l/mu) + (1 - p) Phi(mu/2 - l/mu),   l = ln(p / (1 - p));   Phi(mu/2) for p = 1/2

    Bayes' rule between N(0, 1) and N(mu, 1); no mechanism whose cases are at most mu apart tells more, since none has
    a lower curve of errors. ValueRangeError for a prior that is not between 0 and 1.
    """
    _check_mu(mu)
    if not 0 < prior < 1:
        raise ValueRangeError(f"a prior must be between 0 and 1, not {prior}")
    if mu == 0:
        return max(prior, 1 - prior)
    lean = math.log(prior / (1 - prior)) / mu
    return prior * _phi(mu / 2 + lean) + (1 - prior) * _phi(mu / 2 - lean)


def log_delta(mu: float, epsilon: float) -> float:
    """log delta(epsilon), -inf for mu = 0; ValueRangeError for a mu below 0.

    With x = epsilon/mu - mu/2 and y = epsilon/mu + mu/2 the density phi obeys phi(x) = e^epsilon phi(y), so that
    delta = phi(x) (R(x) - R(y)), R = (1 - Phi) / phi being Mills' ratio: nothing overflows.
    """
    _check_mu(mu)
    if mu == 0:
        return -math.inf
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    log_density = -x * x / 2 - math.log(2 * math.pi) / 2
    if x < 0:
        return math.log1p(-math.exp(log_density) * (_mills_ratio(-x) + _mills_ratio(y)))
    difference = _mills_ratio(x) - _mills_ratio(y)
    return log_density + math.log(difference) if difference > 0 else -math.inf


def _smallest(holds: Callable[[float], bool]) -> float:
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


def _check_mu(mu: float) -> None:
    if not mu >= 0:
        raise ValueRangeError(f"mu must not be negative, and is {mu}")


def _phi(x: float) -> float:
    """The standard normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2


def _mills_ratio(x: float) -> float:
    """(1 - Phi(x)) / phi(x) for x >= 0: by erfc, from 5 on by Laplace's continued fraction 1/(x + 1/(x + 2/(x + ..."""
    if x < 5:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    tail = x
    for numerator in range(60, 0, -1):
        tail = x + numerator / tail
    return 1.0 / tail
