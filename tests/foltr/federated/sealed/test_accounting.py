"""What a sealed round costs, by an accountant of its own: the privacy loss, added up and integrated numerically."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from foltr.federated.sealed.committee import cohort_of, quorums
from foltr.privacy.accounting import Ledger
from foltr.privacy.mechanisms import Gaussian
from tests.foltr.federated.sealed.sealed_groups import PRIVACY, make_roster

SUM_PRIVACY = Gaussian(clip=0.8, noise_multiplier=2.17)
"""of the default terms"""


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
    mechanism = PRIVACY.shared_out(cohort.n_honest)
    one_device = mechanism.deviation
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
    mechanism = PRIVACY.shared_out(quorums(5).n_honest)
    epsilon = Ledger(10).spend(mechanism, 4).epsilon(1e-5, against="server")
    one_device = mechanism.deviation
    found = delta_by_integration(epsilon, change=PRIVACY.clip, deviation=one_device, n_rounds=4)
    assert found == pytest.approx(1e-5, rel=1e-3)


def shifts(most: int, n: int) -> Iterator[tuple[int, ...]]:
    """Every change of n numbers in steps, by falling size, that could not be longer: |change|^2 is at most `most`.

    Binomial noise is log-concave, so a smaller change is never worse.
    """

    def rows(left: int, n: int, largest: int) -> Iterator[tuple[int, ...]]:
        if n == 0:
            yield ()
            return
        for one in range(min(largest, math.isqrt(left)), -1, -1):
            yield from ((one, *rest) for rest in rows(left - one * one, n - 1, one))

    for row in rows(most, n, most):
        left = most - sum(one * one for one in row)
        if all(2 * one + 1 > left for one in row):
            yield row


def delta_of_coins(epsilon: float, n_coins: int, change: Sequence[int], n_rounds: int, *, away: bool) -> float:
    """The delta of heads of so many coins a number, shifted by `change`, against those that are not: losses added up.

    The privacy losses of all numbers and rounds are convolved on a grid of 1/500, each rounded up (Koskela, Jaelkoe and
    Honkela, AISTATS 2020); what only the one can show counts whole.
    """
    grid, cells = 1 / 500, 1 << 16
    counts = np.arange(n_coins + 1)
    logs = np.array([math.lgamma(n_coins + 1) - math.lgamma(k + 1) - math.lgamma(n_coins - k + 1) for k in counts])
    chance = logs - n_coins * math.log(2)
    product, sure = np.ones(cells // 2 + 1, dtype=complex), 1.0
    for by in filter(None, change):
        one, other = (chance[:-by], chance[by:]) if away else (chance[by:], chance[:-by])
        held = np.zeros(cells)
        np.add.at(held, np.ceil((one - other) / grid).astype(int) % cells, np.exp(one))
        product *= np.fft.rfft(held)
        sure *= float(np.exp(one).sum())
    held = np.fft.irfft(product**n_rounds, cells)
    losses = (np.arange(cells) + cells // 2) % cells * grid - cells // 2 * grid
    beyond = losses > epsilon
    return 1 - sure**n_rounds + float(held[beyond] @ (1 - np.exp(epsilon - losses[beyond])))


@pytest.mark.parametrize("n", [5, 7, 10, 15])
def test_coins_hide_what_the_ledger_says(n: int) -> None:
    """The sum of the honest parts' coins over four rounds, for every change of ten numbers within the clip: at the
    Gaussian's epsilon no larger delta (but for 1/500 in each loss of rounding up)."""
    privacy = SUM_PRIVACY.shared_out(quorums(n).n_honest)
    epsilon = Ledger(10).spend(privacy, 4).epsilon(1e-5, against="sum")
    worst = max(
        delta_of_coins(epsilon + 0.005, privacy.coins * privacy.n_clients, change, 4, away=away)
        for change in shifts(privacy.most, 10)
        for away in (True, False)
    )
    assert worst <= 1e-5


@pytest.mark.parametrize("n", [30, 99, 300])
def test_coins_of_larger_groups_hide_it_too(n: int) -> None:
    """There the changes are too many to try: those with all of their length in one number, in three, five or ten."""
    privacy = SUM_PRIVACY.shared_out(quorums(n).n_honest)
    epsilon = Ledger(10).spend(privacy, 4).epsilon(1e-5, against="sum")
    for spread in (1, 3, 5, 10):
        change = [math.isqrt(privacy.most // spread)] * spread
        for away in (True, False):
            n_coins = privacy.coins * privacy.n_clients
            assert delta_of_coins(epsilon + 0.005, n_coins, change, 4, away=away) <= 1e-5
