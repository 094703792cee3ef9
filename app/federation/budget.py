"""The privacy budget: any window of `federation.budget_days` spends at most `federation.epsilon_budget`.

    spent at t = epsilon of all entries of the ledger with time > t - budget_days

An entry is written only if the window that ends with it stays within the budget, and times never fall: a clock that
went back counts as the largest time that was seen. So every window of so many days, wherever it begins, holds the
budget: its entries are some of those that were counted when its last one was written. When the budget is spent the
group's ranker stays, nothing is sent, and `opens` says when the oldest entries will have left the window.
"""

from __future__ import annotations

import math

from app.federation import ledger
from app.federation.failures import SpentError
from app.federation.ledger import LedgerEntry
from app.settings import FederationSettings
from console.wording import iso_day
from foltr.federated.wire import Terms

DAY = 86_400
Spent = tuple[LedgerEntry, ...]


def moment(spent: Spent, now: int) -> int:
    """The present, in seconds since 1970: not before anything that was written down."""
    return max((now, *(entry.time for entry in spent)))


def in_period(spent: Spent, settings: FederationSettings, now: int) -> Spent:
    """The entries that still count."""
    began = moment(spent, now) - settings.budget_days * DAY
    return tuple(entry for entry in spent if entry.time > began)


def epsilon_with(spent: Spent, more: Spent, settings: FederationSettings, now: int) -> float:
    """What the period will have spent once these, too, are written."""
    return ledger.epsilon((*in_period(spent, settings, now), *more), settings.delta, "zero-out")


def check(spent: Spent, entry: LedgerEntry, settings: FederationSettings) -> None:
    """SpentError when one more update that costs this would go past the budget, or is not protected at all.

    Rounds without protection are outside of all budgets: whoever allows them has given up on counting.
    """
    if math.isinf(epsilon_with((), (entry,), settings, entry.time)):
        if settings.allow_unprotected:
            return
        raise SpentError(
            "nothing was sent: under the group's terms the server could read what you opened (infinite epsilon); "
            "federation.allow_unprotected = true sends all the same"
        )
    after = epsilon_with(spent, (entry,), settings, entry.time)
    if math.isinf(after) and settings.allow_unprotected:
        return
    if after > settings.epsilon_budget:
        raise SpentError(
            f"nothing was sent: one more round would bring this device to epsilon {after:.2f} (delta "
            f"{settings.delta:g}) within {settings.budget_days:,} days, past its budget of {settings.epsilon_budget:g} "
            f"(federation.epsilon_budget); {_when(opens(spent, entry, settings))}"
        )


def check_period(spent: Spent, entry: LedgerEntry, terms: Terms) -> None:
    """SpentError when the group has had all the rounds of a period that its terms speak of: the device holds them.

    Rounds of abandoned lineages count too: what was sent was sent.
    """
    left, again = in_terms(spent, entry, terms)
    if left == 0:
        raise SpentError(
            f"nothing was sent: this device has answered the {terms.n_rounds:,} rounds that the group's terms allow in "
            f"{terms.period_days:,} days; {_when(again)}"
        )


def in_terms(spent: Spent, entry: LedgerEntry, terms: Terms) -> tuple[int | None, int]:
    """How many more updates the group's terms allow at the time of `entry`, None for no end; and from when on one."""
    if not terms.n_rounds:
        return None, entry.time
    began = moment(spent, entry.time) - terms.period_days * DAY
    times = sorted(e.time for e in spent if e.group_id == terms.group_id and e.time > began)
    left = max(terms.n_rounds - len(times), 0)
    return left, entry.time if left else times[-terms.n_rounds] + terms.period_days * DAY


def rounds_left(spent: Spent, entry: LedgerEntry, settings: FederationSettings) -> int:
    """How many more such updates the budget allows at the time of `entry`, counted up to 10,000."""

    def fits(n: int) -> bool:
        return epsilon_with(spent, (entry,) * n, settings, entry.time) <= settings.epsilon_budget

    low, high = 0, 10_000
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def most_missing(spent: Spent, entry: LedgerEntry, settings: FederationSettings) -> int:
    """How many rounds a server may add that the ledger does not know: until the budget is passed, and none after."""
    within = epsilon_with(spent, (), settings, entry.time) <= settings.epsilon_budget
    return rounds_left(spent, entry, settings) + 1 if within else 0


def opens(spent: Spent, entry: LedgerEntry, settings: FederationSettings) -> int | None:
    """When one more such update fits, in seconds since 1970: the time of `entry` or later; None for never."""
    present = moment(spent, entry.time)
    leaving = sorted(e.time + settings.budget_days * DAY for e in in_period(spent, settings, present))
    return next(
        (t for t in (present, *leaving) if epsilon_with(spent, (entry,), settings, t) <= settings.epsilon_budget), None
    )


def _when(opens: int | None) -> str:
    if opens is None:
        return "the group's ranker stays"
    return f"the group's ranker stays, and the next may leave on {iso_day(opens)}"
