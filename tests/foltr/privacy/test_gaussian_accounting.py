from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foltr.errors import ValueRangeError
from foltr.privacy.gaussian_accounting import gaussian_epsilon, log_delta


@pytest.mark.parametrize(
    ("mu_squared", "epsilon"),
    [(1 / 1**2, 4.3772), (1000 / 4**2, 64.1688), (50 / 5**2 + 20 / 2**2, 14.1912)],
)
def test_known_epsilons(mu_squared: float, epsilon: float) -> None:
    """z=1 once, z=4 a thousand times, and z=5 fifty times then z=2 twenty times, at delta 1e-5."""
    assert gaussian_epsilon(math.sqrt(mu_squared), 1e-5) == pytest.approx(epsilon, abs=5e-5)


@pytest.mark.parametrize(
    ("epsilon", "n_rounds", "z"),
    [(1, 1, 3.73063), (0.5, 1, 7.03), (8, 10, 1.90), (4, 100, 10.8), (2, 500, 44.6), (1, 1000, 118)],
)
def test_known_noise_multipliers(epsilon: float, n_rounds: int, z: float) -> None:
    """The planning table of noise multipliers at delta 1e-5: its printed digits hold each epsilon between them."""
    below, above = (gaussian_epsilon(math.sqrt(n_rounds) / (z * (1 + h)), 1e-5) for h in (5e-3, -5e-3))
    assert below <= epsilon <= above
    assert gaussian_epsilon(1 / 3.73063, 1e-5) == pytest.approx(1, abs=5e-6)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 8.0])
def test_the_curve_is_its_formula(mu: float, epsilon: float) -> None:
    """Where floats allow it, delta is Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) by erfc."""

    def phi(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    plain = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
    assert math.exp(log_delta(mu, epsilon)) == pytest.approx(plain, rel=1e-9, abs=1e-15)


@given(st.floats(0.01, 100.0), st.floats(1e-12, 0.3))
@settings(max_examples=60)
def test_epsilon_and_delta_are_inverse(mu: float, delta: float) -> None:
    """The delta of the epsilon of delta is delta, wherever epsilon is above 0."""
    epsilon = gaussian_epsilon(mu, delta)
    if epsilon > 1e-6:
        assert log_delta(mu, epsilon) == pytest.approx(math.log(delta), rel=1e-6)


def test_epsilon_is_rounded_up() -> None:
    """The epsilon returned keeps delta, and a little less does not."""
    for mu in (0.1, 1.0, 10.0):
        epsilon = gaussian_epsilon(mu, 1e-6)
        assert log_delta(mu, epsilon) <= math.log(1e-6) < log_delta(mu, epsilon * (1 - 1e-9))


@pytest.mark.parametrize("mu", [1e-3, 1.0, 50.0, 1e4])
def test_extremes_stay_finite(mu: float) -> None:
    """Huge epsilons and tiny deltas neither overflow nor vanish, and more delta never costs more epsilon."""
    epsilons = [gaussian_epsilon(mu, delta) for delta in (1e-300, 1e-100, 1e-10, 0.1)]
    assert all(math.isfinite(e) for e in epsilons)
    assert epsilons == sorted(epsilons, reverse=True)


def test_mills_ratio_joins_smoothly() -> None:
    """Around the change of method, x = 5, log delta is as smooth as elsewhere."""
    below, above = (log_delta(1.0, 5.5 + h) for h in (-1e-9, 1e-9))
    assert above - below == pytest.approx(-1e-8, rel=0.2)


def test_limits() -> None:
    """No noise guarantees nothing, endless noise everything, and a large delta needs no epsilon."""
    assert gaussian_epsilon(math.inf, 1e-5) == math.inf
    assert gaussian_epsilon(0.0, 1e-5) == 0.0
    assert log_delta(0.0, 0.0) == -math.inf
    assert gaussian_epsilon(0.1, 0.5) == 0.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_must_be_a_probability(delta: float) -> None:
    """delta outside (0, 1) is refused."""
    with pytest.raises(ValueRangeError, match="between 0 and 1"):
        gaussian_epsilon(1.0, delta)


@pytest.mark.parametrize("mu", [-1.0, math.nan])
def test_mu_must_not_be_negative(mu: float) -> None:
    """Noise has no standard deviation below 0."""
    with pytest.raises(ValueRangeError, match="mu must not be negative"):
        gaussian_epsilon(mu, 1e-5)


@pytest.mark.parametrize("mu", [0.05, 1.0, 7.9, 40.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 1e-2])
def test_dp_accounting_agrees(mu: float, delta: float) -> None:
    """The epsilon of dp-accounting's exact Gaussian mechanism is ours to 1e-6."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    theirs = pld.GaussianPrivacyLoss(1.0 / mu, pessimistic_estimate=True)
    epsilon = gaussian_epsilon(mu, delta)
    assert theirs.get_delta_for_epsilon(epsilon) == pytest.approx(delta, rel=1e-6)
