"""The text that a user agrees to before anything is shared: what the group's terms prove about one member.

Each statement holds for all that a member sends in a period. Every number is computed from the terms and rounded up;
nothing is claimed that is not proven. What the proofs assume stands in foltr.privacy.accounting and docs/privacy.md:
the attacker knows everything but the one thing in question, also which results were shown.

Consent is to the terms of a group: its method, its privacy mechanism, how many pages are replayed; and in a sealed
group also to its members, as it is their noise that hides this one. When the terms change, or its
members as `group_roster.Company` says, the device asks again before it sends anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import msgspec

from app.federation import group_roster, ledger, membership
from app.federation.failures import ConsentError, FederationError
from app.federation.group_roster import Company
from app.federation.ledger import LedgerEntry
from app.federation.membership import Membership
from app.federation.terms import Protection, protection_of
from app.settings import FederationSettings
from app.store import Store
from console.wording import count
from foltr.federated.sealed.committee import least_members, quorums
from foltr.federated.wire import Terms, digest
from foltr.privacy.accounting import best_auc, best_guess
from foltr.privacy.mechanisms import FpdgdPaper, Laplace, NoPrivacy

READABLE = 0.9
"""from this AUC on, a query is said to be readable"""
LITTLE = 10.0
"""an epsilon above this is called little protection"""
NOBODY = Company()
"""of a group about which nothing is known: the text then speaks of the smallest group"""
PERIODS = (2, 5, 10)
"""numbers of periods whose sum is told"""
KINDS = {
    "recent_week": "age", "recent_year": "age", "newer": "age", "size": "size", "depth": "place",
    "is_text": "type", "is_source": "type", "is_html": "type", "is_document": "type", "is_mail": "type",
}  # fmt: skip
"""feature that is not about words or picks -> what it tells about a file"""


def in_words(protection: Protection, *, delta: float, company: Company = NOBODY) -> Iterator[str]:
    """What these terms mean to a person among these members, a sentence or two at a time, the plainest first."""
    if not protection.hides:
        yield what_leaves(protection)
        yield _why_not(protection)
        yield "Nothing is sent under these terms unless federation.allow_unprotected is true."
        return
    yield who_must_be_honest(protection, company)
    yield what_leaves(protection)
    yield who_sees(protection)
    yield from the_worst(protection, company)
    yield everything(protection, delta=delta)
    yield one_query(protection)
    yield from on_the_whole(protection)
    yield from periods(protection, delta=delta)
    yield from what_it_takes(protection)
    yield from what_is_counted_on(protection, company, delta=delta)
    yield "Your device answers every round, with noise alone when it has nothing to say."


def of_group(terms: Terms | None, *, delta: float, company: Company = NOBODY) -> tuple[str, ...]:
    """What the terms of this device's group mean; nothing without a group, one line for terms it cannot follow."""
    if terms is None:
        return ()
    try:
        return tuple(in_words(protection_of(terms), delta=delta, company=company))
    except FederationError as error:
        return (str(error),)


def who_must_be_honest(protection: Protection, company: Company) -> str:
    """The one sentence without which the others are not true."""
    if protection.mode == "open":
        return (
            "What follows is true whoever runs the server and whoever the other members are, as long as the program on "
            "this device is what you take it for."
        )
    held = quorums(company.n_members, protection.mode)
    helps = "helps" if held.n_spared == 1 else "help"
    few = "" if company.n_members >= held.n_members else f" that a round needs (now {company.n_members})"
    brought = f" One has brought in {company.n_by_one:,}: are they people?" if company.n_by_one > 1 else ""
    return (
        f"What follows is true as long as at most {held.n_spared:,} of the {held.n_members:,} members{few} {helps} "
        f"whoever runs the server to spy on you.{brought}"
    )


def who_sees(protection: Protection) -> str:
    """What the server and the other members come to know."""
    server = "The server sees who is a member, who invited whom, when and from where each answers"
    if protection.mode == "open":
        return (
            f"{server}. This group is open, the fallback where none can be sealed: the server opens each note by "
            "itself, so each device must add all of the noise."
        )
    sums = "the sum of all notes" if protection.mode == "sealed" else "sums over parts of the group"
    return f"{server}, and {sums}, as the members do; no note is opened."


def the_worst(protection: Protection, company: Company) -> Iterator[str]:
    """How many together read single notes, what they could tell from them, and what bounds that."""
    if protection.mode == "open":
        return
    held = quorums(company.n_members, protection.mode)
    worst = f"The worst: {held.n_readers:,} of the {held.n_members:,} with the server read single notes"
    mu, opened = protection.mu_device, protection.opened(held.n_honest).mu_device
    if mu is not None and opened is not None:
        worst += (
            ". From yours they guess whether you prefer one kind of file or its opposite, right in "
            f"{per_cent(best_guess(opened))} of 100 cases ({per_cent(best_guess(mu))} from the sums)"
        )
    yield f"{worst}. A false note is left out, and its sender named; the round is lost if too few remain."
    yield f"Your device asks you again before it counts on more than {company.limit:,} members."


def what_is_counted_on(protection: Protection, company: Company, *, delta: float) -> Iterator[str]:
    """The numbers behind the first sentences."""
    if protection.mode == "open":
        return
    held = quorums(company.n_members, protection.mode)
    alone = protection.opened(held.n_honest).epsilon(delta, "zero-out", n_rounds=protection.counted)
    part = " in each part" if protection.mode == "grouped" else ""
    yield (
        f"The numbers above count on the noise of {held.n_honest} honest answers of the {held.least} that must come"
        f"{part}, among {held.n_members:,} members. Whoever reads your notes one by one sees epsilon {at_most(alone)}."
    )


def what_leaves(protection: Protection) -> str:
    """How many notes are sent, of how many numbers each, and what they are about."""
    kinds = sorted({KINDS.get(name, "") for name in protection.shared})
    about = "which results you open"
    if kinds and all(kinds):
        about = f"what kind of files you open ({', '.join(kinds)})"
    noisy = "numbers without any noise" if isinstance(protection.mechanism, NoPrivacy) else "noisy numbers"
    days = "a year" if protection.period_days == 365 else f"in {count(protection.period_days, 'day')}"
    notes = f"{count(protection.n_rounds, 'note')} {days}, each"
    often = notes if protection.n_rounds else "a note every round, without an end, each"
    return f"Your device sends {often} of {protection.n_params:,} {noisy}, about {about}. Never a query, name or text."


def everything(protection: Protection, *, delta: float) -> str:
    """Epsilon against absence and against replacement, for the whole period."""
    absent, other = (protection.epsilon(delta, n, n_rounds=protection.counted) for n in ("zero-out", "replace"))
    little = " That is little protection." if absent > LITTLE else ""
    return (
        f"{_together(protection)} at most epsilon {at_most(absent)} (delta {delta:g}) against your having "
        f"opened nothing, {at_most(other)} against your having opened anything else.{little}"
    )


def one_query(protection: Protection) -> str:
    """What can be learned about one query."""
    mu = protection.mu_query
    if mu is None:
        return (
            "Nothing bounds what one query shows by itself: a result that you open for the same query again and again "
            "may be read from the notes."
        )
    shown = (
        "Which of two results you opened for one query, however often, someone who knows everything else can tell with "
        f"AUC at most {share(best_auc(mu))} ({per_cent(best_guess(mu))} of 100 guesses right); chance is .50."
    )
    if best_auc(mu) >= READABLE:
        return f"{shown} So a result that you open for the same query again and again can be read."
    return shown


def on_the_whole(protection: Protection) -> Iterator[str]:
    """What the notes are meant to tell, and tell."""
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
    few = protection.floor if protection.mode == "open" else least_members(protection.mode)
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


def _together(protection: Protection) -> str:
    if protection.counted == 1:
        return "It reveals" if protection.n_rounds else "One note reveals"
    return f"All {protection.n_rounds:,} together reveal"


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
"""shows lines and returns whether the user agrees"""


def describe(
    member: Membership, terms: Terms, settings: FederationSettings, spent: tuple[LedgerEntry, ...], company: Company,
    *, now: int,
) -> Iterator[str]:  # fmt: skip
    """The group, what leaves this device and with what protection, line by line."""
    yield f"Group {member.group} at {member.address}:"
    protection = protection_of(terms)
    yield from in_words(protection, delta=settings.delta, company=company)
    if protection.hides:
        planned = ledger.plan_entry(terms, lineage=0, round=0, now=ledger.latest_moment(spent, now))
        left = ledger.rounds_left(spent, planned, settings)
        yield (
            f"Your own budget (epsilon {settings.epsilon_budget:g} within {settings.budget_days:,} days) is enough for "
            f"{count(left, 'more note')}; then nothing is sent until the first are {settings.budget_days:,} days past. "
            "It counts what this folder knows: what another device of yours sends, or a lost folder sent, comes on top "
            "unless they are one (`foltr-search devices`)."
        )
    yield (
        f"You are member {member.device}; the key is of this group alone. `foltr-search privacy --records` lists "
        "every field that is sent; docs/privacy.md says what these numbers assume."
    )


def ask(
    store: Store, member: Membership, terms: Terms, settings: FederationSettings, *, agrees: Ask, now: int
) -> Membership:
    """The membership with the user's consent to the terms, durably kept; ConsentError when it is not given."""
    if member.agreed == digest(terms):
        return member
    here = group_roster.company(store, member)
    lines = describe(member, terms, settings, ledger.entries(store), here.agreed_to, now=now)
    return _agreed(store, member, terms, tuple(lines), "a change of the group's terms", agrees=agrees)


def ask_about_members(store: Store, member: Membership, terms: Terms, *, agrees: Ask) -> Membership:
    """The same for the present members of a sealed group, if they have changed enough to ask again."""
    if terms.mode == "open":
        return member
    here = group_roster.company(store, member)
    if not here.has_changed:
        return member
    protection, known = protection_of(terms), here.agreed_to
    lines = (growth(here), who_must_be_honest(protection, known), *the_worst(protection, known))
    return _agreed(store, member, terms, lines, f"{growth(here)} That", agrees=agrees)


MOST_UNLISTED = 2
"""notes in a row sent unasked: a device may be away while a round is added up"""


def ask_about_list(store: Store, *, agrees: Ask) -> None:
    """Ask before another note if nobody can know what became of the last ones; ConsentError unless the user agrees.

    So a server that shows no lists gets at most `MOST_UNLISTED` notes of a device without its user's consent.
    """
    unlisted = (store.value(membership.UNLISTED) or b"").decode().split()
    if len(unlisted) < MOST_UNLISTED:
        return
    rounds = f"rounds {', '.join(unlisted[:-1])} and {unlisted[-1]}"
    lines = (
        f"{rounds.capitalize()} are over, and this device saw no list of the notes in their sums: send another note?",
        "That is as it should be where this device did not sync while they were added up, mostly a day each. Where it "
        "did, the server may have thrown your notes away: ask the others what their syncs said of these rounds.",
    )
    if not agrees(lines):
        raise ConsentError(
            f"nothing was sent: this device saw no list of the notes in the sums of {rounds}, so whether its own "
            "counted is not known; `foltr-search sync` asks whether to send another"
        )
    store.set_value(membership.UNLISTED, None, durable=True)


def growth(company: Company) -> str:
    """How the group has changed since the user agreed."""
    before = f" (it had {company.n_agreed:,})" if company.n_members < company.n_agreed else ""
    came = f"{company.n_new:,} of whom came since you agreed; one has brought in {company.n_by_one:,}"
    return f"The group has {company.n_members:,} members{before}, {came}."


def _agreed(
    store: Store, member: Membership, terms: Terms, lines: Sequence[str], what: str, *, agrees: Ask
) -> Membership:
    if not agrees(lines):
        raise ConsentError(f"nothing was sent: {what} was not agreed to; `foltr-search sync` shows it and asks")
    number = group_roster.known(store, member.group_id).number
    agreed = msgspec.structs.replace(member, agreed=digest(terms), agreed_roster=number)
    membership.save(store, agreed)
    return agreed


def allow_background(store: Store, member: Membership, *, allowed: bool) -> None:
    """Remember whether the screen may sync by itself."""
    membership.save(store, msgspec.structs.replace(member, background="yes" if allowed else "no"))
