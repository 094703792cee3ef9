"""A sealed round from its last message to the next ranker: collect -> one list -> the committee's answers -> the sum.

    collect   until every active member of the cohort has answered, or the deadline with enough of them (or the operator
              asks). Then the list is signed and stored; only after that transaction anybody is told of it.
    sum       until all of the committee have answered, so that each has looked into its boxes; from the deadline on the
              threshold suffices. Whose message is proved false is left out, and everybody adds up again, with all the
              time; who has lied about it is not waited for. The sum's mean moves the ranker.
    void      too few can answer any more, too few true messages are left to hide one another, too few answer in seven
              times their time, or the mean is longer than honest members make it: the ranker stays, the round counts as
              spent, and the published record says why.

A member who leaves while its note is added up does not take it along: the note stays in the sum, its rows until then.

foltr.federated.joining says how a sum moves the ranker. Each step is a part of the caller's one transaction under the
group's lock: a crash leaves the step before it. What a round holds of single members is deleted when it ends.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from msgspec import Struct, structs
from sqlalchemy import Connection, insert, select, update

from console.wording import count, iso_minute
from federation_server.database import note_erasure
from federation_server.group import enrolment, group, roster_book
from federation_server.rounds import rounds
from federation_server.rounds.round_progress import Awaited, awaited
from federation_server.rounds.rounds import Closed, Policy, Round, Schedule, note_participation, of_round
from federation_server.sealed import inbox
from federation_server.sealed.inbox import SealedRounds
from federation_server.tables import lists
from federation_server.tables import rounds as rounds_table
from federation_server.vault import Vault
from foltr.federated.envelope import sign_document
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import ImpossibleMean, join_sums
from foltr.federated.method import Model
from foltr.federated.sealed.committee import Cohort, CohortError
from foltr.federated.sealed.sums import Occasion, combine_answers, make_list
from foltr.federated.sealed.verifiable_sharing import SharingError
from foltr.federated.wire import Loss, ShareList, Terms, decode, digest, encode

PATIENCE = 7
"""times the committee's time until the round is void: five sixths must answer, and a void round spends every note. The
announced deadline counts, not the time that went by: a server that was off gives its members another one"""


class _Open(Struct, frozen=True):
    """The open round of a sealed group, and how its members stand at one moment."""

    connection: Connection
    here: Round
    where: Occasion
    now: int

    @property
    def cohort(self) -> Cohort:
        return self.where.cohort

    def could_answer(self) -> frozenset[str]:
        """Members of the cohort whose messages would be taken."""
        return enrolment.active_devices(self.connection, now=self.now) & self.cohort.by_device.keys()

    def could_send(self) -> frozenset[str]:
        """Those of them who have not sent a note without a proof: from them nothing more is taken in this round."""
        return self.could_answer() - inbox.lies(self.connection, self.here, "proof").keys()

    def n_hands(self, *, but: Collection[str] = ()) -> int:
        """How many of the committee, of others than these, are still members, or have answered."""
        answered = {one.device for one in inbox.answers_of(self.connection, self.here)}
        able = self.could_answer() - set(but) | answered
        return sum(member.device in able for member in self.cohort.committee)

    def lacks_hands(self) -> bool:
        """Whether too few are left to add up what was sent."""
        return self.here.n_updates > 0 and self.n_hands() < self.cohort.threshold

    def n_awaited(self) -> int:
        """Answers that close the round at once: of all who are still members, but for those that have lied."""
        liars = [device for lie in ("answer", "complaint") for device in inbox.lies(self.connection, self.here, lie)]
        return max(self.cohort.threshold, self.n_hands(but=liars))


def close_due(
    connection: Connection, known: SealedRounds, vault: Vault, policy: Policy, *, now: int, asked: bool = False
) -> Closed | None:
    """Do what the open round is due for, and open the next if it closed; returns what closed, None if nothing did."""
    here = rounds.to_close(connection, vault, policy.schedule, now=now)
    if here is None:
        return None
    closed = _advanced(connection, known, vault, policy, here, now=now, asked=asked)
    if closed is not None:
        if roster_book.erase_bodies(connection):  # of members who were forgotten while the round went by their keys
            note_erasure(connection)
        rounds.open_next(connection, vault, policy.schedule, now=now)
    return closed


def _advanced(
    connection: Connection, known: SealedRounds, vault: Vault, policy: Policy, here: Round, *, now: int, asked: bool
) -> Closed | None:
    """One step of the open round."""
    agreed = group.terms(connection)
    try:
        present = _Open(connection, here, known.occasion(connection, here, agreed), now)
    except CohortError:
        if now >= here.deadline:
            rounds.prolong(connection, here, policy.schedule, now=now)
        return None
    cohort = present.cohort
    if present.lacks_hands():
        left = f"{present.n_hands()} of the {len(cohort.committee)} who add up are left"
        return _void(present, "gone", f"{left}; {cohort.threshold} are needed")
    if here.phase == "collect":
        return _collected(present, vault, policy.schedule, asked=asked)
    return _summed(present, known.method(agreed), policy, asked=asked)


def is_due(connection: Connection, known: SealedRounds, agreed: Terms, here: Round, *, now: int) -> bool:
    """Whether `close_due` might have something to do: cheap, for a look every second."""
    if now >= here.deadline:
        return True
    try:
        present = _Open(connection, here, known.occasion(connection, here, agreed), now)
    except CohortError:
        return False
    n_least = present.cohort.n_least
    if present.lacks_hands():
        return True
    if here.phase == "sum":
        n_true = here.n_updates - len(inbox.lies(connection, here, "message"))
        return n_true < n_least or inbox.n_answers(connection, here) >= present.n_awaited()
    return here.n_updates >= n_least and present.could_send() <= inbox.message_hashes(connection, here).keys()


def n_wanted(connection: Connection, known: SealedRounds, agreed: Terms, here: Round, *, now: int) -> int:
    """Updates with which the open round's list is fixed at once; 0 while its cohort, or what is left of it, is too
    small."""
    try:
        present = _Open(connection, here, known.occasion(connection, here, agreed), now)
    except CohortError:
        return 0
    if here.phase == "collect":
        return len(inbox.senders(connection, here, present.cohort, now=now))
    return len(present.could_send() | inbox.message_hashes(connection, here).keys())


def awaited_now(connection: Connection, schedule: Schedule, *, now: int) -> Awaited | None:
    """What the group's open round waits for; None when no round is open."""
    here, agreed = rounds.present(connection), group.terms(connection)
    if here is None:
        return None
    found = awaited(connection, here, schedule, floor=agreed.floor, now=now)
    if agreed.mode == "open":
        return found
    try:
        present = _Open(connection, here, SealedRounds().occasion(connection, here, agreed), now)
    except CohortError as error:
        return structs.replace(found, other=str(error))
    return _of_sums(found, present)


def _of_sums(found: Awaited, present: _Open) -> Awaited:
    """The same where the server learns sums: of the cohort alone, and then of its committee."""
    connection, here, cohort = present.connection, present.here, present.cohort
    if here.phase == "sum":
        n_answers = inbox.n_answers(connection, here)
        fixed = f"a list of {count(here.n_updates, 'update')} is fixed; {n_answers} of {len(cohort.committee)}"
        enough = f"from {iso_minute(here.deadline)} on {cohort.threshold} are enough"
        return structs.replace(found, other=f"{fixed} in the committee answered, {enough}")
    could, arrived = present.could_send(), inbox.message_hashes(connection, here).keys()
    liars = inbox.lies(connection, here, "proof").keys()
    if liars and not cohort.has_enough(could | arrived):
        refused = f"{count(len(liars), 'note')} refused for want of a proof; too few members are left"
        return structs.replace(found, other=f"{refused}, so the round is lost on {iso_minute(here.deadline)}")
    if not inbox.senders(connection, here, cohort, now=present.now):
        there = f"{len(could)} of the {len(cohort.members)} on the roster are still members, too few for a round"
        return structs.replace(found, other=f"{there}: a member takes off who is gone (`foltr-server members`)")
    return structs.replace(found, floor=cohort.n_least, quorum=0, n_active=len(could), n_missing=len(could - arrived))


def lists_member(connection: Connection, here: Round | None, device: str) -> bool:
    """Whether the open round is being added up with a note of this member: erasing it now would lose the others'."""
    signed = inbox.the_list(connection, here) if here is not None else None
    return signed is not None and device in decode(signed.body, ShareList).messages


class HandsLeft(Struct, frozen=True):
    """Who would add up the open round, which others have answered, without a member that goes now."""

    round: int
    n_left: int
    """of those who will still be members: whoever has added up must do it again when a message proves false"""
    needed: int
    is_lost: bool

    @property
    def sentence(self) -> str:
        """For the operator, with a space before it."""
        how = ", and what was sent for it is spent" if self.is_lost else " if a message proves false"
        lost = f": it is lost{how}" if self.n_left < self.needed else ""
        are_left = f"{self.n_left} members are left to add it up, {self.needed} are needed"
        return f" Round {self.round} is under way; {are_left}{lost}."


def hands_without(connection: Connection, device: str, *, now: int) -> HandsLeft | None:
    """None where this member takes nothing from the others of the open round."""
    here = rounds.present(connection)
    if here is None or not here.roster_head or not inbox.message_hashes(connection, here).keys() - {device}:
        return None
    present = _Open(connection, here, SealedRounds().occasion(connection, here, group.terms(connection)), now)
    if present.cohort.point(device) is None:
        return None
    able, needed = present.could_answer() - {device}, present.cohort.threshold
    n_left = sum(member.device in able for member in present.cohort.committee)
    return HandsLeft(here.number, n_left, needed, present.n_hands(but=[device]) < needed)


def _collected(present: _Open, vault: Vault, schedule: Schedule, *, asked: bool) -> Closed | None:
    """Fix the list when it is time."""
    connection, here, now = present.connection, present.here, present.now
    messages, could = inbox.message_hashes(connection, here), present.could_send()
    arrived = frozenset(messages)
    if not present.cohort.has_enough(arrived):
        begun = arrived or inbox.lies(connection, here, "proof")
        if now >= here.deadline and begun and not present.cohort.has_enough(arrived | could):
            return _void(present, "gone", "too many members have left, or lied, to hide those who answered")
        if now >= here.deadline:
            rounds.prolong(connection, here, schedule, now=now)
        return None
    if could <= arrived or asked or now >= here.deadline:
        listed = make_list(present.where, messages)
        signed = encode(sign_document(vault.identity, "list", listed))
        connection.execute(insert(lists).values(hash=digest(listed), signed=signed, fixed=now, **here.place))
        summing = update(rounds_table).where(of_round(rounds_table, here))
        connection.execute(summing.values(phase="sum", deadline=now + schedule.sum_seconds))
    return None


def _summed(present: _Open, method: FPDGD, policy: Policy, *, asked: bool) -> Closed | None:
    """Add up when enough of the committee have answered."""
    connection, here, cohort = present.connection, present.here, present.cohort
    devices = inbox.message_hashes(connection, here).keys() - inbox.lies(connection, here, "message")
    if not cohort.has_enough(frozenset(devices)):
        return _void(present, "false", f"{len(devices)} messages hold together, too few to hide one another")
    is_late, n_answers = present.now >= here.deadline, inbox.n_answers(connection, here)
    if n_answers >= (cohort.threshold if is_late or asked else present.n_awaited()):
        return _close(present, method, policy, sorted(devices))
    if is_late:
        fixed = select(lists.c.fixed).where(of_round(lists, here))
        if here.deadline >= connection.execute(fixed).scalar_one() + PATIENCE * policy.schedule.sum_seconds:
            why = f"{n_answers} of the committee's {len(cohort.committee)} answered; {cohort.threshold} are needed"
            return _void(present, "silent", why)
        rounds.prolong(connection, here, policy.schedule, now=present.now)
    return None


def _close(present: _Open, method: FPDGD, policy: Policy, devices: list[str]) -> Closed:
    """The sums become the next ranker."""
    group.step_by(present.connection, policy.joining.optimizer)
    where, before = present.where, group.newest(present.connection).model
    counts = [len(part.intersection(devices)) for part in where.cohort.parts]
    try:
        sums = combine_answers(where, inbox.answers_of(present.connection, present.here))
        joined = join_sums(policy.joining, where.part, method.shared_part(before), sums, counts)
    except (SharingError, ImpossibleMean) as error:
        return _void(present, "impossible", str(error))
    _publish(present, method.whole(before, joined.model))
    moved = float(np.linalg.norm(joined.delta))
    return _ended(present, devices, joined.rule, joined.verdict.summary, moved)


def _void(present: _Open, lost: Loss, why: str) -> Closed:
    """End the round without a sum: the same ranker once more, so that the next round has another number."""
    before = group.newest(present.connection).model
    _publish(present, replace(before, round=before.round + 1), lost=lost)
    return _ended(present, [], "void", f"lost: {why}. The ranker stays, what was sent is spent", 0.0)


def _publish(present: _Open, model: Model, *, lost: Loss = "") -> None:
    """With the hash of the round's list: a member that answered another one sees the difference."""
    connection, here, now = present.connection, present.here, present.now
    agreed, listed = group.terms(connection), inbox.list_hash(connection, here)
    group.publish(connection, agreed, here.lineage, model, now=now, list_hash=listed, lost=lost)


def _ended(present: _Open, devices: list[str], rule: str, summary: str, moved: float) -> Closed:
    connection, here, now = present.connection, present.here, present.now
    lied = {LIES[lie]: liars for lie in LIES if (liars := list(inbox.lies(connection, here, lie)))}
    counted = [f"{len(liars)} {words}" for words, liars in lied.items()]
    with_names = [f"{words}: {', '.join(liars)}" for words, liars in zip(counted, lied.values(), strict=True)]
    report = {"guard": "; ".join([summary, *with_names]), "verdict": "not judged", "update_norm": moved}
    rounds.end(connection, here, now=now, state="closed", rule=rule, agreement=None, **report)
    note_participation(connection, tuple(devices), here, now=now)
    said = "; ".join([summary, *counted])  # what is logged stays when a member is forgotten, so it names nobody
    return Closed(here.lineage, here.number, len(devices), rule, "not judged", said, None)


LIES: dict[inbox.Lie, str] = {
    "proof": "sent a note without the proof that it is within the clip and noised, which was refused",
    "message": "sent what does not hold together, which was left out",
    "complaint": "complained without reason",
    "answer": "answered falsely",
}
