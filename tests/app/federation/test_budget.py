"""The budget of a period: no window of so many days spends more, and what is spent opens again when it is past."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from msgspec import structs

from app.federation import ledger
from app.federation.failures import SpentError
from app.federation.ledger import DAY, LedgerEntry
from app.settings import FederationSettings
from foltr.privacy.accounting import gaussian_epsilon
from foltr.privacy.mechanisms import Gaussian, Mechanism, NoPrivacy
from tests.federation_server.groups import make_terms

STRONG, WEAK = Gaussian(clip=0.8, noise_multiplier=4.0), Gaussian(clip=0.8, noise_multiplier=1.0)
FOUR_A_YEAR = FederationSettings(epsilon_budget=10.0, budget_days=365)


def entry(time: int, mechanism: Mechanism = WEAK) -> LedgerEntry:
    return LedgerEntry(time, "g", 1, time, n_params=10, mechanism=mechanism, exact_count=False)


def spend_when_allowed(
    times: list[int], mechanisms: list[Mechanism], settings: FederationSettings
) -> list[LedgerEntry]:
    """What a device writes that is offered a round at each of these times by its clock."""
    spent: list[LedgerEntry] = []
    for clock, mechanism in zip(times, mechanisms, strict=True):
        fresh = entry(ledger.latest_moment(tuple(spent), clock), mechanism)
        try:
            ledger.check_budget(tuple(spent), fresh, settings)
        except SpentError:
            continue
        spent.append(fresh)
    return spent


@pytest.mark.parametrize("seed", range(5))
def test_no_window_spends_more_than_the_budget(seed: int) -> None:
    """Of 300 rounds offered at random times, by a clock that jumps about, every window of 30 days stays within 10."""
    rng = np.random.default_rng(seed)
    settings = FederationSettings(epsilon_budget=10.0, budget_days=30)
    times = np.sort(rng.integers(0, 365 * DAY, 300))
    jumps = np.where(rng.random(300) < 0.2, rng.integers(-90 * DAY, 0, 300), 0)
    mechanisms = [(STRONG, WEAK)[int(choice)] for choice in rng.integers(0, 2, 300)]
    spent = spend_when_allowed([int(time) for time in times + jumps], mechanisms, settings)
    assert [e.time for e in spent] == sorted(e.time for e in spent)
    fullest = 0.0
    for first in spent:  # a window that begins elsewhere holds no more than one that begins with an entry
        mu = (
            sum(1 / e.mechanism.noise_multiplier**2 for e in spent if first.time <= e.time < first.time + 30 * DAY)
            ** 0.5
        )
        fullest = max(fullest, gaussian_epsilon(mu, settings.delta))
    assert fullest <= 10.0
    assert fullest > 9.0  # the budget was used, too
    assert len(spent) > 24


def test_four_rounds_fill_the_default_budget_and_leave_it_one_by_one() -> None:
    """z = 1 four times is mu = 2, epsilon 9.997; the fifth fits 365 days after the first, to the second."""
    spent = tuple(entry(n * 7 * DAY) for n in range(4))
    assert ledger.epsilon(spent, 1e-5, "zero-out") == pytest.approx(9.997, abs=1e-3)
    with pytest.raises(SpentError, match=r"within 365 days, past its budget of 10 .* may leave on 19"):
        ledger.check_budget(spent, entry(365 * DAY - 1), FOUR_A_YEAR)
    ledger.check_budget(spent, entry(365 * DAY), FOUR_A_YEAR)
    assert ledger.opens(spent, entry(30 * DAY), FOUR_A_YEAR) == 365 * DAY
    assert ledger.opens(spent, entry(365 * DAY + 5), FOUR_A_YEAR) == 365 * DAY + 5


def test_a_clock_that_went_back_refunds_nothing() -> None:
    """With a clock a decade behind, what was written counts as the present, and the budget stays spent."""
    spent = tuple(entry(20 * 365 * DAY + n) for n in range(4))
    back = entry(10 * 365 * DAY)
    with pytest.raises(SpentError):
        ledger.check_budget(spent, structs.replace(back, time=ledger.latest_moment(spent, back.time)), FOUR_A_YEAR)
    with pytest.raises(SpentError):
        ledger.check_budget(spent, back, FOUR_A_YEAR)
    assert ledger.rounds_left(spent, back, FOUR_A_YEAR) == 0


def test_a_device_holds_the_group_to_its_rounds() -> None:
    """Four rounds in 365 days and no fifth, whatever the lineage or the budget; rounds of other groups do not count."""
    agreed = make_terms("g", {"privacy": {"mechanism": "gaussian", "clip": 0.8, "noise_multiplier": 4.0}}, 3)
    agreed = msgspec.structs.replace(agreed, n_rounds=4, period_days=365)
    spent = tuple(structs.replace(entry(n * DAY, STRONG), lineage=n) for n in range(4))
    ledger.check_period(spent[:3], entry(5 * DAY), agreed)
    with pytest.raises(SpentError, match=r"the 4 rounds that the group's terms allow in 365 days; .* 19"):
        ledger.check_period(spent, entry(365 * DAY - 1), agreed)
    ledger.check_period(spent, entry(365 * DAY), agreed)
    ledger.check_period(spent, entry(5 * DAY), msgspec.structs.replace(agreed, group_id="another"))
    ledger.check_period(spent, entry(5 * DAY), msgspec.structs.replace(agreed, n_rounds=0))
    assert ledger.in_terms(spent[:3], entry(5 * DAY), agreed) == (1, 5 * DAY)
    assert ledger.in_terms(spent, entry(5 * DAY), agreed) == (0, 365 * DAY)
    assert ledger.in_terms(spent, entry(5 * DAY), msgspec.structs.replace(agreed, n_rounds=0)) == (None, 5 * DAY)


def test_after_an_unprotected_round_no_budget_is_left_in_the_period() -> None:
    """What left without protection cannot be taken back by protecting later rounds; it leaves the window like any."""
    bare = (entry(0, NoPrivacy()),)
    with pytest.raises(SpentError, match="epsilon inf"):
        ledger.check_budget(bare, entry(1), FederationSettings())
    ledger.check_budget(bare, entry(365 * DAY), FederationSettings())


def test_the_budget_allows_as_many_rounds_as_are_announced() -> None:
    """`rounds_left` is the largest number for which every single check passes."""
    settings = FederationSettings(epsilon_budget=2.0)
    left = ledger.rounds_left((), entry(0, STRONG), settings)
    spent: tuple[LedgerEntry, ...] = ()
    for number in range(left):
        ledger.check_budget(spent, entry(number, STRONG), settings)
        spent = (*spent, entry(number, STRONG))
    with pytest.raises(SpentError, match="past its budget of 2"):
        ledger.check_budget(spent, entry(left, STRONG), settings)
    assert ledger.rounds_left(spent, entry(left, STRONG), settings) == 0


def test_a_round_that_alone_is_beyond_the_budget_never_fits() -> None:
    """No date is promised for it."""
    assert ledger.opens((), entry(0), FederationSettings(epsilon_budget=1.0)) is None
    with pytest.raises(SpentError, match=r"the group's ranker stays$"):
        ledger.check_budget((), entry(0), FederationSettings(epsilon_budget=1.0))
