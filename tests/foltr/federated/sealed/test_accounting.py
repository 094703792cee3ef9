"""What a sealed round costs, by an accountant of its own: the privacy loss, added up and integrated numerically."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foltr.federated.sealed.committee import cohort_of
from foltr.federated.sealed.sums import mechanism_of
from foltr.privacy.accounting import Ledger
from tests.foltr.federated.sealed.sealed_groups import PRIVACY, make_roster


def delta_by_integration(epsilon: float, *, change: float, deviation: float, n_rounds: int) -> float:
    """integral of max(0, p(x) - e^epsilon q(x)) for p = N(change, deviation^2), q = N(0, deviation^2), over rounds.

    T rounds of one change along one direction are one release of the mean of T numbers: deviation / sqrt(T).
    """
    spread = deviation / math.sqrt(n_rounds)
    x = np.linspace(-12 * spread, change + 12 * spread, 400_001)

    def density(mean: float) -> np.ndarray:
        return np.exp(-((x - mean) ** 2) / (2 * spread**2)) / (spread * math.sqrt(2 * math.pi))

    return float(np.trapezoid(np.maximum(0.0, density(change) - math.exp(epsilon) * density(0.0)), x))


@pytest.mark.parametrize(("n", "n_rounds"), [(5, 1), (5, 4), (12, 4), (30, 4)])
def test_the_ledger_against_the_sum_is_that_of_the_honest_noise(n: int, n_rounds: int) -> None:
    """Whatever the group's size: the noise of n_honest devices, integrated, gives the ledger's epsilon its delta."""
    cohort = cohort_of(make_roster(n)[0])
    mechanism = mechanism_of(PRIVACY, cohort)
    one_device = mechanism.grid_step * 2**20
    assert one_device == pytest.approx(PRIVACY.noise_multiplier * PRIVACY.clip / math.sqrt(cohort.n_honest))
    epsilon = Ledger(10).spend(mechanism, n_rounds).epsilon(1e-5, against="sum")
    honest = one_device * math.sqrt(cohort.n_honest)
    found = delta_by_integration(epsilon, change=PRIVACY.clip, deviation=honest, n_rounds=n_rounds)
    assert found == pytest.approx(1e-5, rel=1e-3)
    replaced = Ledger(10).spend(mechanism, n_rounds).epsilon(1e-5, neighbours="replace", against="sum")
    found = delta_by_integration(replaced, change=2 * PRIVACY.clip, deviation=honest, n_rounds=n_rounds)
    assert found == pytest.approx(1e-5, rel=1e-3)


def test_the_server_alone_sees_less_noise() -> None:
    """Who opened a single update (t of the committee could) would see a share: epsilon of z / sqrt(n_honest)."""
    mechanism = mechanism_of(PRIVACY, cohort_of(make_roster(5)[0]))
    epsilon = Ledger(10).spend(mechanism, 4).epsilon(1e-5, against="server")
    one_device = mechanism.grid_step * 2**20
    found = delta_by_integration(epsilon, change=PRIVACY.clip, deviation=one_device, n_rounds=4)
    assert found == pytest.approx(1e-5, rel=1e-3)
