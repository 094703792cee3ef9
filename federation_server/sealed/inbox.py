"""What arrives in a sealed round: shared updates, and the committee's answers; and what a member of it is given.

The server can check who sent a message and that it is of this round and this roster; what is in its boxes only their
owners can open. A message and an answer are kept once for each device by their tables' primary keys, on disk before
they are acknowledged, and acknowledged again when they are sent again: nothing here spends a nonce. The list is fixed
by federation_server.sealed.summing, and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, func, insert, select, update

from console.wording import count
from federation_server.group import enrolment, group, roster_book
from federation_server.group.authentication import active_member
from federation_server.refusals import Refused
from federation_server.rounds import rounds
from federation_server.rounds.awaited import Awaited, awaited
from federation_server.rounds.rounds import Round, Schedule, of_round
from federation_server.tables import answers, lists, shares
from federation_server.tables import rounds as rounds_table
from federation_server.vault import Vault
from foltr.federated.fpdgd import FPDGD
from foltr.federated.sealed.committee import LARGEST_COMMITTEE, CohortError, cohort_of
from foltr.federated.sealed.secret_sharing import ELEMENT_BYTES
from foltr.federated.sealed.sums import Occasion, SealedSumError, check_answer, check_shared, listed_box
from foltr.federated.wire import (
    Accepted,
    CommitteeAnswer,
    SharedUpdate,
    ShareList,
    Signed,
    SumTask,
    Terms,
    decode,
    encode,
)

KNOWN = 8
"""rounds that are kept in mind"""


@dataclass(slots=True, eq=False)
class SealedRounds:
    """What one process works out once of its group's rounds; for many threads."""

    contradictory: tuple[str, int] = ("", 0)
    """hash of the list and number of the answers that gave no sum: it takes one more, or the deadline, to try again"""
    _method: FPDGD | None = None
    _occasions: dict[tuple[str, int, int, str], Occasion] = field(default_factory=dict)
    """by roster head, lineage, round and model: the same for ever"""

    def method(self, agreed: Terms) -> FPDGD:
        """The group's, which never changes."""
        method = self._method = self._method or group.method_of(agreed)
        return method

    def occasion(self, connection: Connection, here: Round, agreed: Terms) -> Occasion:
        """The open round as its messages are bound to it; CohortError while too few members are vouched for."""
        if agreed.mode == "open":
            raise Refused("wrong-mode", "the group is open: its updates are sealed to the server")
        key = (here.roster_head, here.lineage, here.number, here.model_hash)
        known = self._occasions.get(key)
        if known is None:
            known = Occasion(
                group_id=agreed.group_id,
                lineage=here.lineage,
                round=here.number,
                model_hash=here.model_hash,
                cohort=cohort_of(roster_book.state(connection, here.roster_number), agreed.mode),
                n_numbers=self.method(agreed).n_sent,
            )
            if len(self._occasions) >= KNOWN:
                self._occasions.clear()
            self._occasions[key] = known
        return known

    def occasion_or_refused(self, connection: Connection, here: Round, agreed: Terms) -> Occasion:
        """The same; Refused while too few members are vouched for."""
        try:
            return self.occasion(connection, here, agreed)
        except CohortError as error:
            raise Refused("wrong-phase", str(error)) from error


def largest_message(agreed: Terms) -> int:
    """Bytes of the longest message or answer: the largest committee's boxes, or the sums of a thousand members."""
    numbers = 2 * ELEMENT_BYTES * group.method_of(agreed).n_sent
    return 2 * LARGEST_COMMITTEE * (numbers + 256) + 100 * numbers


def keep_shared(
    connection: Connection, known_rounds: SealedRounds, vault: Vault, device: str, sent: SharedUpdate, *, now: int
) -> Accepted:
    """Keep a member's message durably, under the round's lock; the same message again is acknowledged again.

    Refused for another round or phase, for who is not in its cohort, and for a message that does not hold together.
    """
    round_, agreed = _same_round(connection, device, sent, now=now)
    where = known_rounds.occasion_or_refused(connection, round_, agreed)
    if sent.roster_head != round_.roster_head:
        raise Refused("wrong-phase", "the round goes by another roster since the message was prepared")
    if sent.device not in where.cohort.by_device:
        raise Refused("not-in-roster", f"the round opened with {len(where.cohort.members)} members")
    try:
        message = check_shared(where, sent)
    except SealedSumError as error:
        raise Refused("wrong-shares", str(error)) from error
    known = _of_device(connection, round_, sent.device)
    if known is not None and known != message:
        raise Refused("already-reported")
    if known is None and round_.phase != "collect":
        raise Refused("wrong-phase", "the round's list is fixed")
    received = round_.n_updates
    if known is None:
        received += 1
        connection.execute(
            insert(shares).values(
                lineage=round_.lineage,
                round=round_.number,
                device=sent.device,
                message_hash=message,
                received=now,
                message=vault.encrypt(encode(sent)),
            )
        )
        key = (rounds_table.c.lineage == round_.lineage, rounds_table.c.round == round_.number)
        connection.execute(update(rounds_table).where(*key).values(n_updates=received))
        enrolment.count_answers(connection, [sent.device])
    return Accepted(round=round_.number, received=received)


def has_shared(connection: Connection, here: Round, device: str) -> bool:
    """Whether the open round has a message of this device."""
    return _of_device(connection, here, device) is not None


def message_hashes(connection: Connection, here: Round) -> dict[str, str]:
    """Of all messages of the open round, by pseudonym."""
    query = select(shares.c.device, shares.c.message_hash)
    rows = connection.execute(query.where(of_round(shares, here)))
    return {row.device: row.message_hash for row in rows}


def the_list(connection: Connection, here: Round) -> Signed | None:
    """The round's one list, as it was signed; None before it is fixed."""
    query = select(lists.c.signed).where(of_round(lists, here))
    found = connection.execute(query).scalar_one_or_none()
    return decode(bytes(found), Signed) if found is not None else None


def list_hash(connection: Connection, here: Round) -> str:
    """Hash of the list, "" before it is fixed."""
    query = select(lists.c.hash).where(of_round(lists, here))
    return connection.execute(query).scalar_one_or_none() or ""


def task(connection: Connection, known_rounds: SealedRounds, vault: Vault, device: str, *, now: int) -> SumTask:
    """What a member of the committee is to add up; Refused outside phase sum, and for everybody else."""
    active_member(connection, device, now=now)
    here = rounds.present(connection)
    if here is None or here.phase != "sum":
        raise Refused("wrong-phase", "no list is fixed")
    where = known_rounds.occasion_or_refused(connection, here, group.terms(connection))
    point, signed = where.cohort.point(device), the_list(connection, here)
    if point is None or signed is None:
        raise Refused("not-in-roster", "this device is not in the round's committee")
    listed = decode(signed.body, ShareList)
    query = select(shares.c.device, shares.c.message)
    rows = connection.execute(query.where(of_round(shares, here)))
    kept = {row.device: bytes(row.message) for row in rows}
    boxes = (listed_box(where, decode(vault.decrypt(kept[one]), SharedUpdate), point) for one in listed.messages)
    return SumTask(signed_list=signed, boxes=tuple(boxes))


def keep_answer(
    connection: Connection, known_rounds: SealedRounds, device: str, sent: CommitteeAnswer, *, now: int
) -> Accepted:
    """Keep a committee member's answer durably, under the round's lock; the same again is acknowledged again."""
    round_, agreed = _same_round(connection, device, sent, now=now)
    if round_.phase != "sum":
        raise Refused("wrong-phase", "no list is fixed")
    where, wanted = known_rounds.occasion_or_refused(connection, round_, agreed), list_hash(connection, round_)
    if sent.list_hash != wanted:
        raise Refused("wrong-list")
    try:
        check_answer(where, sent, wanted)
    except SealedSumError as error:
        raise Refused("wrong-shares", str(error)) from error
    key = (answers.c.lineage == round_.lineage, answers.c.round == round_.number)
    query = select(answers.c.answer).where(*key, answers.c.device == sent.device)
    known, body = connection.execute(query).scalar_one_or_none(), encode(sent)
    if known is not None and bytes(known) != body:
        raise Refused("already-reported")
    if known is None:
        row = {"lineage": round_.lineage, "round": round_.number, "device": sent.device, "received": now}
        connection.execute(insert(answers).values(answer=body, **row))
    return Accepted(round=round_.number, received=n_answers(connection, round_))


def n_answers(connection: Connection, here: Round) -> int:
    """How many of the committee have answered."""
    query = select(func.count()).select_from(answers)
    counted = query.where(of_round(answers, here))
    return int(connection.execute(counted).scalar_one())


def answers_of(connection: Connection, here: Round) -> tuple[CommitteeAnswer, ...]:
    """Those that arrived, in the order of the pseudonyms."""
    query = select(answers.c.answer).where(of_round(answers, here))
    return tuple(
        decode(bytes(found), CommitteeAnswer)
        for found in connection.execute(query.order_by(answers.c.device)).scalars()
    )


def _same_round(
    connection: Connection, device: str, sent: SharedUpdate | CommitteeAnswer, *, now: int
) -> tuple[Round, Terms]:
    """The open round, locked, and the terms; Refused unless the message is a member's own and for it."""
    active_member(connection, device, now=now)
    if sent.device != device:
        raise Refused("wrong-device")
    here, agreed = rounds.present(connection, lock=True), group.terms(connection)
    if sent.group_id != agreed.group_id:
        raise Refused("wrong-group")
    if here is None:
        raise Refused("stale-round", "no round is open")
    if sent.lineage != here.lineage:
        raise Refused("wrong-lineage", f"the group is in lineage {here.lineage}, the message in {sent.lineage}")
    if sent.round != here.number:
        raise Refused("stale-round", f"round {here.number} is open, the message is for {sent.round}")
    return here, agreed


def _of_device(connection: Connection, here: Round, device: str) -> str | None:
    query = select(shares.c.message_hash).where(of_round(shares, here), shares.c.device == device)
    return connection.execute(query).scalar_one_or_none()


def awaited_now(connection: Connection, schedule: Schedule, *, now: int) -> Awaited | None:
    """What the group's open round waits for; None when no round is open."""
    here, agreed = rounds.present(connection), group.terms(connection)
    if here is None:
        return None
    found = awaited(connection, here, schedule, floor=agreed.floor, now=now)
    return found if agreed.mode == "open" else _of_sums(connection, found, here, agreed, now=now)


def _of_sums(connection: Connection, found: Awaited, here: Round, agreed: Terms, *, now: int) -> Awaited:
    """The same where the server learns sums: of the cohort alone, and then of its committee."""
    try:
        cohort = SealedRounds().occasion(connection, here, agreed).cohort
    except CohortError as error:
        return replace(found, other=str(error))
    if here.phase == "sum":
        listed, answered = count(here.n_updates, "update"), f"{n_answers(connection, here)} of {len(cohort.committee)}"
        needed = f"at least {cohort.threshold} are needed"
        return replace(found, other=f"a list of {listed} is fixed; {answered} in the committee answered, {needed}")
    could = enrolment.active_devices(connection, now=now) & cohort.by_device.keys()
    silent = could - message_hashes(connection, here).keys()
    return replace(found, floor=cohort.n_least, quorum=0, n_active=len(could), n_missing=len(silent))
