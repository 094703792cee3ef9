"""What a user is told before anything is shared, and has then agreed to: what the terms prove about one member.

What is said holds for all that a member sends in a period. Every number is computed from the terms and rounded up; a
claim that the mathematics does not give is not made. What the proofs assume is said in foltr.privacy.caps and
docs/privacy.md: the attacker knows everything but the one thing that is asked, also which results were shown.

Consent is to the terms of a group: its method, its privacy mechanism, how many pages are replayed. When the group
changes them, the device asks again before it sends anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import msgspec

from app.federation import ledger, membership
from app.federation.failures import ConsentError, FederationError
from app.federation.ledger import LedgerEntry
from app.federation.membership import Membership
from app.federation.terms import Protection, is_share, protection_of
from app.settings import FederationSettings
from app.store import Store
from console.wording import count
from foltr.federated.sealed.committee import LEAST_MEMBERS, committee_size, honest_arrivals, least_arrivals, threshold
from foltr.federated.wire import Terms, digest
from foltr.privacy.gaussian_accounting import best_auc, best_guess
from foltr.privacy.mechanisms import FpdgdPaper, Laplace, NoPrivacy

READABLE = 0.9
"""a query that can be told with an AUC of so much or more is said to be readable"""
LITTLE = 10.0
"""epsilons above are said to be little protection"""
PERIODS = (2, 5, 10)
"""what so many periods add up to is told"""
KINDS = {
    "recent_week": "age", "recent_year": "age", "newer": "age", "size": "size", "depth": "place in the folders",
    "is_text": "type", "is_source": "type", "is_html": "type", "is_document": "type", "is_mail": "type",
}  # fmt: skip
"""what the features that say nothing about words or picks say about a file"""


def in_words(protection: Protection, *, delta: float) -> Iterator[str]:
    """What these terms mean, for a person, a sentence or two each."""
    yield what_leaves(protection)
    if not protection.hides:
        yield _why_not(protection)
        yield "Nothing is sent under these terms unless federation.allow_unprotected is true."
        return
    yield everything(protection, delta=delta)
    yield one_query(protection)
    yield from on_the_whole(protection)
    yield from periods(protection, delta=delta)
    yield from what_it_takes(protection)
    yield _who_sees(protection, delta=delta)
    yield (
        "The server knows the pseudonyms of the members, and when and from which address each answers. Your device "
        "answers every round, with noise alone when it has nothing to say."
    )


def of_group(terms: Terms | None, *, delta: float) -> tuple[str, ...]:
    """What the terms of this device's group mean; nothing without a group, one line for terms it cannot follow."""
    if terms is None:
        return ()
    try:
        return tuple(in_words(protection_of(terms), delta=delta))
    except FederationError as error:
        return (str(error),)


def what_leaves(protection: Protection) -> str:
    """How many notes of how many numbers about what."""
    kinds = sorted({KINDS.get(name, "") for name in protection.shared})
    about = "which results you open"
    if kinds and all(kinds):
        about = f"what kind of files you open ({', '.join(kinds)})"
    noisy = "numbers without any noise" if isinstance(protection.mechanism, NoPrivacy) else "noisy numbers"
    often = f"{_notes(protection)}, each" if protection.n_rounds else "a note every round, without an end, each"
    return (
        f"Your device sends {often} of {protection.n_params:,} {noisy}, about {about}. Never a query, a name or a text."
    )


def everything(protection: Protection, *, delta: float) -> str:
    """Epsilon against absence and against replacement, for the whole period."""
    absent, other = (protection.epsilon(delta, n, n_rounds=protection.counted) for n in ("zero-out", "replace"))
    little = " That is little protection." if absent > LITTLE else ""
    return (
        f"{_together(protection)} at most epsilon {at_most(absent)} (delta {delta:g}) against your having "
        f"opened nothing, {at_most(other)} against your having opened anything else.{little}"
    )


def one_query(protection: Protection) -> str:
    """What can be told of one query; or that a habit can be read."""
    mu = protection.mu_query
    if mu is None:
        return (
            "Nothing bounds what one query shows by itself: a result that you open for the same query again and again "
            "may be read from the notes."
        )
    told = (
        "Which of two results you opened for one query, however often, someone who knows everything else can tell with "
        f"AUC at most {share(best_auc(mu))} ({per_cent(best_guess(mu))} of 100 guesses right); chance is .50."
    )
    if best_auc(mu) >= READABLE:
        return f"{told} So a result that you open for the same query again and again can be read."
    return told


def on_the_whole(protection: Protection) -> Iterator[str]:
    """What the notes are for, and do tell."""
    mu = protection.mu_device
    if mu is not None:
        yield (
            "What kind of files you prefer on the whole is what the notes are for, and they tell it roughly: one "
            f"preference from its opposite with AUC up to {share(best_auc(mu))}."
        )


def periods(protection: Protection, *, delta: float) -> Iterator[str]:
    """What a period is, and what several of them add up to."""
    if not protection.n_rounds:
        yield "That is one note. Notes add up for as long as the group goes on, until your own budget ends them."
        return
    sums = (
        f"{n} periods {at_most(protection.epsilon(delta, 'zero-out', n_rounds=n * protection.n_rounds))}"
        for n in PERIODS
    )
    days = count(protection.period_days, "day")
    yield f"Then the group rests until {days} are over, and a new period begins. Epsilon of {', '.join(sums)}."


def what_it_takes(protection: Protection) -> Iterator[str]:
    """How loud the noise is in the smallest group, and what has to be opened for anything to be learned."""
    noise = protection.noise_over_signal
    if noise is None:
        return
    few = protection.floor if protection.mode == "open" else LEAST_MEMBERS
    notes = "one note" if protection.counted == 1 else f"{protection.counted:,} notes"
    yield (
        f"In a group of {few}, the least, the noise of {notes} is {noise:.1f} times as long as all that its members "
        f"can say; more members, less. Where few pages (of {protection.n_local:,} a note) were opened, nothing "
        "is learned, and the note is spent all the same."
    )


def at_most(value: float) -> str:
    """A bound rounded up: one digit after the point from 1 on, two below."""
    digits = 1 if value >= 1 else 2
    return f"{math.ceil(value * 10**digits - 1e-9) / 10**digits:g}"


def share(value: float) -> str:
    """An AUC with two digits, rounded up: .60"""
    return f"{math.ceil(value * 100 - 1e-9) / 100:.2f}".removeprefix("0")


def per_cent(value: float) -> str:
    """A probability in whole hundredths, rounded up."""
    return f"{math.ceil(value * 100 - 1e-9)}"


def _notes(protection: Protection) -> str:
    days = "a year" if protection.period_days == 365 else f"in {count(protection.period_days, 'day')}"
    return f"{count(protection.n_rounds, 'note')} {days}"


def _together(protection: Protection) -> str:
    if protection.counted == 1:
        return "It reveals" if protection.n_rounds else "One note reveals"
    return f"All {protection.n_rounds:,} together reveal"


def _who_sees(protection: Protection, *, delta: float) -> str:
    if protection.mode == "open":
        return (
            "This group is open: the server opens each note by itself, so each device must add all of the noise. It is "
            "the fallback for groups that cannot be sealed; where the server learns only the sum, the same learning "
            "reveals less."
        )
    parts = "sums over parts of the group" if protection.mode == "grouped" else "the sum of all notes"
    told = (
        f"This group is {protection.mode}: no note is opened, the server and the members who add up learn {parts}. "
        "Only more than two thirds of those members together, with the server, could open one"
    )
    if protection.mode == "grouped" or not is_share(protection.mechanism):
        return f"{told}."
    few = LEAST_MEMBERS
    needed, least = threshold(committee_size(few)), least_arrivals(few)
    honest = honest_arrivals(least)
    alone = protection.epsilon_alone(delta, n_honest=honest)
    return (
        f"{told}: of {few} friends {needed}, not {needed - 1}. They would see your notes with a share of the noise, "
        f"epsilon {at_most(alone)}. The numbers above count on {honest} honest answers of the {least} that must come."
    )


def _why_not(protection: Protection) -> str:
    if isinstance(protection.mechanism, NoPrivacy):
        return (
            "There is no protection: whoever runs the server can work out from an update which results you opened, "
            "when they know the features of your results. Counted as infinite epsilon."
        )
    if protection.exact_count:
        return (
            "Each update also tells exactly how many pages it was learned from, which no noise hides. Counted as "
            "infinite epsilon."
        )
    if isinstance(protection.mechanism, FpdgdPaper):
        return (
            "The noise is a share of that of the FPDGD paper, for research: it guarantees nothing about you. Counted "
            "as infinite epsilon."
        )
    if isinstance(protection.mechanism, Laplace) and protection.mode != "open":
        return "Shares of Laplace noise hide nothing unless every one of them arrives. Counted as infinite epsilon."
    return (
        "The noise is shared out among the members: it hides you in their sum, but this server opens each update "
        "by itself, where almost nothing is hidden. Counted as infinite epsilon."
    )


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
        planned = ledger.plan_entry(terms, lineage=0, round=0, now=ledger.latest_moment(spent, now))
        left = ledger.rounds_left(spent, planned, settings)
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
