"""This device's part in a sealed round: a share of its answer for each member of the committee, and the adding up.

collect     the roster is followed, cohort and committee are drawn from it as it was when the round opened, and the
            answer is cut into shares that only the committee can add up
sum         a member of the committee notes the server's list durably, then answers it, and no other for that round

A list that was noted is answered with the same bytes however often. A second one for the round is never answered: two
sums that differ by one member would open that member's update. It is kept beside the first, as proof.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from app.federation import people
from app.federation.answering import learned
from app.federation.failures import Distrusted, FederationError
from app.federation.membership import Membership
from app.federation.replay import ReplayPages
from app.federation.server import Correspondence
from app.federation.terms import method_of
from app.store import Store
from foltr.arrays import FloatVector
from foltr.errors import RecordError
from foltr.federated.envelope import SignatureError, open_document
from foltr.federated.sealed.committee import Cohort, CohortError, cohort_of
from foltr.federated.sealed.sums import (
    Occasion,
    SealedSumError,
    answer,
    mechanism_of,
    noised_steps,
    randomness,
    shared,
)
from foltr.federated.wire import Announcement, SharedUpdate, ShareList, Signed, Terms, decode, digest, encode
from foltr.privacy.mechanisms import Gaussian
from foltr.privacy.noise import keyed_generator

PROOF = 2
"""lists of one round that are kept: two prove what a hundred would"""


@dataclass(frozen=True, slots=True)
class RoundPlace:
    """Where this device stands in the open round."""

    occasion: Occasion | None
    """None when it takes no part"""
    why_not: str = ""


def place(store: Store, server: Correspondence, told: Announcement) -> RoundPlace:
    """The device's place, by the roster that it has verified; Distrusted when the server's does not hold."""
    member, mode = server.member, told.terms.mode
    assert mode != "open"
    now = people.known(store, member.group_id)
    if now.number < told.roster_number:  # it grew since this sync followed it
        now = people.follow(store, server)
    me = now.of_device(member.device)
    if me is None:
        return RoundPlace(None, "this device is not on the group's roster: it must join by a new invite")
    if not me.vouched:
        return RoundPlace(
            None,
            f"waiting: no member has vouched for this device yet (`foltr-search vouch {member.device[:8]}` on a "
            f"member's device; compare {people.own_print(member)})",
        )
    then = people.at_opening(store, now, told.roster_number, told.roster_head)
    try:
        cohort = cohort_of(then, told.round, mode)
    except CohortError as error:
        return RoundPlace(None, f"sat out round {told.round}: {error}")
    except RecordError as error:
        raise Distrusted(f"the server's roster does not hold: {error}") from error
    if member.device not in cohort.by_device:
        return RoundPlace(
            None, f"round {told.round} opened before this device was vouched for; it takes part in the next"
        )
    return RoundPlace(occasion_of(told, cohort))


def occasion_of(told: Announcement, cohort: Cohort) -> Occasion:
    """What all messages of the announced round are bound to."""
    return Occasion(
        group_id=told.terms.group_id,
        lineage=told.lineage,
        round=told.round,
        model_hash=told.model_hash,
        cohort=cohort,
        n_numbers=method_of(told.terms).n_sent,
    )


def part_of_noise(terms: Terms, cohort: Cohort) -> Gaussian:
    """What this device adds of the round's noise, and its ledger writes down."""
    privacy = method_of(terms).privacy
    if not isinstance(privacy, Gaussian):
        raise FederationError("the group is sealed, but its terms add no Gaussian noise; nothing is sent")
    return mechanism_of(privacy, cohort)


def shared_update(
    occasion: Occasion, told: Announcement, theta: FloatVector, pages: ReplayPages, member: Membership
) -> SharedUpdate:
    """Begin from `theta`, learn from each page, add this device's part of the noise, cut into shares: all keyed."""
    privacy = part_of_noise(told.terms, occasion.cohort)
    change = method_of(told.terms).hidden(learned(told, theta, pages, member))
    context = f"shares of {digest(told.terms)}\n".encode() + randomness(occasion, member.device, change)
    rng = keyed_generator(member.noise_key, context)
    steps = noised_steps(privacy, occasion, change, rng)
    return shared(occasion, steps, member.identity, member.device, rng)


def add_up(store: Store, server: Correspondence, told: Announcement, occasion: Occasion) -> str:
    """Answer the round's list as a member of the committee; a sentence. Distrusted for a list that must not be."""
    member, task = server.member, server.list_task()
    listed = _listed(member, task.signed_list)
    if digest(listed) != told.list_hash:
        raise Distrusted("the server sent another list than it announced")
    _note(store, told, task.signed_list)
    try:
        said = answer(occasion, task, listed, member.identity, member.device, member.box_key)
    except SealedSumError as error:
        raise Distrusted(f"round {told.round} is not added up here: {error}") from error
    server.send_answer(encode(said))
    return f"added up round {told.round} of {len(listed.messages):,} members, unread"


def noted_lists(store: Store, lineage: int, round: int) -> tuple[Signed, ...]:
    """The signed lists of a round that the server has shown, that which is answered first."""
    rows = store.rows("SELECT signed FROM round_lists WHERE lineage = ? AND round = ? ORDER BY place", (lineage, round))
    return tuple(decode(signed, Signed) for (signed,) in rows)


def _listed(member: Membership, signed: Signed) -> ShareList:
    try:
        return open_document(member.server_key, signed, "list", ShareList)
    except SignatureError as error:
        raise Distrusted(f"the list is not signed by the group's server: {error}") from error
    except RecordError as error:
        raise Distrusted(f"the server's list makes no sense: {error}") from error


def _note(store: Store, told: Announcement, signed: Signed) -> None:
    """Durable before anything is answered; Distrusted, with the proof kept, when another list was noted before."""
    with store.transaction() as db:
        before = noted_lists(store, told.lineage, told.round)
        if len(before) < PROOF and signed.body not in [one.body for one in before]:
            db.execute(
                "INSERT INTO round_lists VALUES (?, ?, ?, ?)", (told.lineage, told.round, len(before), encode(signed))
            )
    if before and before[0].body != signed.body:
        hashes = ", ".join(hashlib.blake2b(one.body, digest_size=8).hexdigest() for one in (before[0], signed))
        raise Distrusted(
            f"the server signed two lists for round {told.round} ({hashes}), which an honest one never does: the "
            "later one is not answered, and two are kept as proof"
        )
