"""What the user is told before anything is shared, and what the user then has agreed to.

Consent is to the terms of a group: its method, its privacy mechanism, how many pages are replayed. When the group
changes them, the device asks again before it sends anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from app.federation import budget, ledger, membership
from app.federation.claims import in_words
from app.federation.failures import ConsentError
from app.federation.ledger import LedgerEntry
from app.federation.membership import Membership
from app.federation.terms import protection_of
from app.settings import FederationSettings
from app.store import Store
from console.wording import count
from foltr.federated.wire import Terms, digest

Ask = Callable[[Sequence[str]], bool]
"""shows lines and gives whether the user agrees"""


def describe(
    member: Membership, terms: Terms, settings: FederationSettings, spent: tuple[LedgerEntry, ...], *, now: int
) -> Iterator[str]:
    """The group, what leaves this device and with what protection, line by line."""
    yield f"Group {member.group} at {member.address}. You are member {member.device}; the key is of this group alone."
    protection = protection_of(terms)
    yield from in_words(protection, delta=settings.delta)
    if protection.hides:
        planned = ledger.plan_entry(terms, lineage=0, round=0, now=budget.moment(spent, now))
        left = budget.rounds_left(spent, planned, settings)
        yield (
            f"Your own budget (epsilon {settings.epsilon_budget:g} within {settings.budget_days:,} days) is enough for "
            f"{count(left, 'more note')}; then nothing is sent until the first are {settings.budget_days:,} days past."
        )
    yield "`foltr-search privacy` lists every field that is sent; docs/privacy.md says what these numbers assume."


def has_agreed(member: Membership, terms: Terms) -> bool:
    """Whether the user agreed to these very terms."""
    return member.agreed == digest(terms)


def ask(
    store: Store, member: Membership, terms: Terms, settings: FederationSettings, *, agrees: Ask, now: int
) -> Membership:
    """The membership with the user's consent, durably kept; ConsentError when it is not given."""
    if has_agreed(member, terms):
        return member
    if not agrees(tuple(describe(member, terms, settings, ledger.entries(store), now=now))):
        raise ConsentError("nothing was sent: the group's terms were not agreed to")
    agreed = msgspec.structs.replace(member, agreed=digest(terms))
    membership.save(store, agreed)
    return agreed


def allow_background(store: Store, member: Membership, *, allowed: bool) -> None:
    """Remember whether the screen may sync by itself."""
    membership.save(store, msgspec.structs.replace(member, background="yes" if allowed else "no"))
