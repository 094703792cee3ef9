"""How this device stands with its group, without asking the server: as a record, and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from app.federation import consent, group_ranker, group_roster, ledger, membership
from app.federation.failures import FederationError
from app.federation.terms import protection_of
from app.settings import FederationSettings
from app.store import Store
from console.wording import count, iso_minute, lineage_label, round_label
from foltr.errors import RecordError
from foltr.federated.sealed.committee import CohortError, cohort_of


def overview(store: Store, settings: FederationSettings, *, now: int) -> dict[str, Any]:
    """The record that `federation status --json` prints; `group` is None for a device without one.

    An infinite epsilon is None: JSON has no infinity.
    """
    member, seen = membership.load(store), membership.load_standing(store)
    spent = ledger.entries(store)
    return {
        "v": 1,
        "group": _group(member),
        "lineage": seen.lineage,
        "round": seen.round,
        "phase": seen.phase,
        "sealed": _sealed(store, member, seen, delta=settings.delta),
        "deadline": seen.deadline,
        "opens": seen.opens,
        "lost": seen.lost,
        "last_sync": seen.synced,
        "last_error": seen.error,
        "background": settings.sync if member is not None and member.background == "yes" else "off",
        "updates": [
            {"lineage": u.lineage, "round": u.round, "state": u.state, "n_interactions": u.n_interactions}
            for u in ledger.all_uploads(store)
        ],
        "privacy": privacy(spent, settings, now=now) | _outlook(spent, seen, settings, now),
        "ranker": _ranker(group_ranker.load(store)),
        "verdict": seen.verdict,
    }


def privacy(spent: tuple[ledger.LedgerEntry, ...], settings: FederationSettings, *, now: int) -> dict[str, Any]:
    """What the ledger adds up to, over all groups this device was ever in, and within the budget's period."""
    recent = ledger.in_period(spent, settings, now)
    absent = ledger.epsilon(recent, settings.delta, "zero-out")
    return {
        "rounds": len(spent),
        "delta": settings.delta,
        "epsilon_zero_out": _finite(ledger.epsilon(spent, settings.delta, "zero-out")),
        "epsilon_replace": _finite(ledger.epsilon(spent, settings.delta, "replace")),
        "budget": settings.epsilon_budget,
        "period": {
            "days": settings.budget_days,
            "rounds": len(recent),
            "epsilon_zero_out": _finite(absent),
            "epsilon_replace": _finite(ledger.epsilon(recent, settings.delta, "replace")),
        },
        "left": max(settings.epsilon_budget - absent, 0.0),
    }


def _group(member: membership.Membership | None) -> dict[str, Any] | None:
    if member is None or not member.group_id:
        return None
    return {
        "name": member.group, "id": member.group_id, "address": member.address, "member": member.device,
        "joined": member.joined, "server_fingerprint": member.fingerprint,
    }  # fmt: skip


def _sealed(
    store: Store, member: membership.Membership | None, seen: membership.Standing, *, delta: float
) -> dict[str, Any] | None:
    """Who adds up the unopened notes, by the roster as last verified; None where the group is open, or unknown."""
    terms = seen.agreed_terms
    if member is None or terms is None or terms.mode == "open":
        return None
    roster = group_roster.known(store, member.group_id)
    me, here = roster.of_device(member.device), group_roster.company(store, member)
    found: dict[str, Any] = {
        "mode": terms.mode,
        "fingerprint": group_roster.own_print(member),
        "vouched": me is not None and me.vouched,
        "members": here.n_members, "new": here.n_new, "brought_by_one": here.n_by_one,
        "growth": consent.growth(here) if here.has_changed else "",
        "waiting": group_roster.waiting_for(roster, member.device),
        "roster": {"entries": roster.number, "hash": roster.head},
        "history": {"lineage": seen.followed[0], "rounds": seen.followed[1], "hash": seen.followed[2]},
        "committee": None, "threshold": None, "spared": None, "readers": None, "epsilon_opened": None,
    }  # fmt: skip
    try:
        held = cohort_of(roster, terms.mode).quorums
        privacy = protection_of(terms)
    except (RecordError, FederationError, CohortError):  # too few yet, or terms that cannot be followed
        return found
    opened = privacy.opened(held.n_honest).epsilon(delta, "zero-out", n_rounds=privacy.counted)
    return found | {
        "committee": held.n_committee, "threshold": held.threshold, "spared": held.n_spared,
        "readers": held.n_readers, "epsilon_opened": _finite(opened),
    }  # fmt: skip


def _ranker(adopted: group_ranker.GroupRanker | None) -> dict[str, Any] | None:
    if adopted is None:
        return None
    record = adopted.record
    return {"lineage": record.lineage, "round": record.round, "hash": adopted.hash, "alpha": adopted.alpha}


def _outlook(
    spent: tuple[ledger.LedgerEntry, ...], seen: membership.Standing, settings: FederationSettings, now: int
) -> dict[str, int | None]:
    """How many more rounds budget and terms allow now, and when the next one fits; None where unknown."""
    terms = seen.agreed_terms
    if terms is None:
        return {"rounds_left": None, "next": None}
    try:
        planned = ledger.plan_entry(terms, lineage=0, round=0, now=ledger.latest_moment(spent, now))
    except FederationError:  # terms that this program cannot follow
        return {"rounds_left": None, "next": None}
    left, opens = ledger.rounds_left(spent, planned, settings), ledger.opens(spent, planned, settings)
    in_terms, again = ledger.in_terms(spent, planned, terms)
    return {
        "rounds_left": left if in_terms is None else min(left, in_terms),
        "next": None if opens is None else max(opens, again),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def rows_in_words(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows of `federation status` with their names, for a device that has a group."""
    group, privacy = found["group"], found["privacy"]
    yield "group", f"{group['name']} at {group['address']}"
    yield "member", f"{group['member']}, since {_moment(group['joined'])}"
    yield "round", _round_in_words(found)
    if found["sealed"] is not None:
        yield from _sealed_in_words(found["sealed"])
    if found["lost"]:
        yield "lost", found["lost"]
    sent = [update for update in found["updates"] if update["state"] == "sent"]
    waiting = len([update for update in found["updates"] if update["state"] in ("drafted", "waiting")])
    yield "sent", count(len(sent), "update") + (f", {waiting} waiting to be sent again" if waiting else "")
    yield "privacy", spent_in_words(privacy)
    if privacy["rounds_left"] is not None:
        yield "left", _left_in_words(privacy)
    yield "ranker", _ranker_in_words(found["ranker"])
    if found["verdict"]:
        yield "tested", found["verdict"]
    yield "synced", f"{_moment(found['last_sync'])}; in the background: {found['background']}"
    if found["last_error"]:
        yield "last error", found["last_error"]


def spent_in_words(privacy: dict[str, Any]) -> str:
    """ "epsilon 1.70 of 10 spent in 3 rounds within 365 days (3.71 against replacement, delta 1e-05)" """
    period = privacy["period"]
    rounds, days = count(period["rounds"], "round"), count(period["days"], "day")
    if period["epsilon_zero_out"] is None:
        return f"epsilon is infinite after {rounds} within {days}: some left without protection"
    recent = (
        f"epsilon {period['epsilon_zero_out']:.2f} of {privacy['budget']:g} spent in {rounds} within {days} "
        f"({period['epsilon_replace']:.2f} against replacement, delta {privacy['delta']:g})"
    )
    if privacy["rounds"] == period["rounds"]:
        return recent
    ever = "infinite" if privacy["epsilon_zero_out"] is None else f"{privacy['epsilon_zero_out']:.2f}"
    return f"{recent}; {ever} in all {count(privacy['rounds'], 'round')} ever"


def _round_in_words(found: dict[str, Any]) -> str:
    where = f"{found['round']} of lineage {lineage_label(found['lineage'])}"
    if found["phase"] == "rest":
        return f"none: the group rests until {_moment(found['opens'])}; its ranker stays, and nothing is sent"
    return f"{where}, until {_moment(found['deadline'])}"


def _sealed_in_words(sealed: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows about a sealed group: its members, and who adds up the unopened notes."""
    brought = f"; one has brought in {sealed['brought_by_one']:,}" if sealed["brought_by_one"] > 1 else ""
    yield "members", f"{sealed['members']:,}{brought}"
    if sealed["waiting"]:
        yield "asks you", group_roster.asks(sealed["waiting"])
    if sealed["growth"]:
        yield "asks you", f"{sealed['growth']} Nothing is sent until you agree: `foltr-search sync`"
    if not sealed["vouched"]:
        yield "waiting", "no member has vouched for this device: one runs `foltr-search vouch`, and compares"
    yield "fingerprint", sealed["fingerprint"]
    roster, seen, differs = sealed["roster"], sealed["history"], "and differs, the server lies to one of you"
    has = f"{roster['hash'][:16]} after {count(roster['entries'], 'change')} of who is a member"
    yield "roster", f"{has}; where another member's has as many {differs}"
    if seen["hash"]:
        after = round_label(seen["lineage"], seen["rounds"])
        yield "history", f"{seen['hash'][:16]} after round {after}; where another member's names this round {differs}"
    yield "sums", sums_in_words(sealed)


def sums_in_words(sealed: dict[str, Any]) -> str:
    """Who must be honest, and who could read what."""
    if sealed["committee"] is None:
        return f"{sealed['mode']}: too few people are vouched for yet, and nothing is sent"
    epsilon = "" if (seen := sealed["epsilon_opened"]) is None else f", which reveal epsilon {consent.at_most(seen)}"
    return (
        f"{sealed['mode']}: nobody opens a note, and the ledger holds with up to {sealed['spared']:,} of "
        f"{sealed['members']:,} members on the server's side; {sealed['readers']:,} could read single notes{epsilon}"
    )


def _left_in_words(privacy: dict[str, Any]) -> str:
    left = f"{count(privacy['rounds_left'], 'round')} under the present terms"
    if privacy["rounds_left"] or privacy["next"] is None:
        return left
    return f"{left}: nothing is sent before {_moment(privacy['next'])}, and the group's ranker stays"


def _ranker_in_words(ranker: dict[str, Any] | None) -> str:
    if ranker is None:
        return "your own; the group's was not adopted"
    return (
        f"the group's of round {ranker['round']}, lineage {lineage_label(ranker['lineage'])}, "
        f"alpha {ranker['alpha']:g} ({1 - ranker['alpha']:.0%} the group's, {ranker['alpha']:.0%} your own)"
    )


def _moment(seconds: int) -> str:
    return iso_minute(seconds) if seconds else "never"
