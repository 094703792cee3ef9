"""The messages of a sealed round: shared updates, the committee's complaints and answers; and each member's task.

The server can check who sent a message and that it is of this round and this roster; only the owners of its boxes can
open them, and prove what is inside. A member that lied is noted with the proof: the round's report names it. A message
and an answer are kept once for each device by their tables' primary keys, on disk before they are acknowledged, and
acknowledged again when they are sent again: nothing here spends a nonce. The list is fixed by
federation_server.sealed.summing, and never changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set
from typing import Literal

from msgspec import Struct, field
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from federation_server.group import enrolment, group, roster_book
from federation_server.refusals import Refused
from federation_server.rounds import rounds
from federation_server.rounds.rounds import Round, Schedule, of_a_round, of_round
from federation_server.tables import answers, lists, named, noises, shares
from federation_server.tables import rounds as rounds_table
from federation_server.vault import Vault
from foltr.federated import wire
from foltr.federated.fpdgd import FPDGD
from foltr.federated.sealed.committee import LARGEST_COMMITTEE, Cohort, CohortError, cohort_of, quorums
from foltr.federated.sealed.complaints import FalseComplaintError, check_complaint
from foltr.federated.sealed.note_proof import NoteClaim, NoteTerms
from foltr.federated.sealed.points import SIZE, PointError, check_points
from foltr.federated.sealed.sums import (
    FalseAnswerError,
    ListedSum,
    Occasion,
    SealedSumError,
    check_answer,
    check_shared,
    claim_of,
    listed_box,
    listed_sum,
)

KNOWN = 8
"""rounds that are kept in mind"""
Lie = Literal["proof", "message", "complaint", "answer"]
OfRound = wire.NoiseCommitment | wire.SharedUpdate | wire.CommitteeAnswer | wire.Complaint
_HASHES = select(shares.c.device, shares.c.message_hash).where(of_a_round(shares))
_HASH = select(shares.c.message_hash).where(of_a_round(shares), shares.c.device == bindparam("device"))
_LIST, _LIST_HASH = (select(column).where(of_a_round(lists)) for column in (lists.c.signed, lists.c.hash))
_LIARS = select(named.c.device, named.c.proof).where(of_a_round(named), named.c.lie == bindparam("lie"))
_LIARS = _LIARS.order_by(named.c.device)
_NOISE = select(noises.c.point).where(of_a_round(noises), noises.c.device == bindparam("device"))
_ANSWERS = select(answers.c.answer).where(of_a_round(answers)).order_by(answers.c.device)
_N_ANSWERS = select(func.count()).select_from(answers).where(of_a_round(answers))


class SealedRounds(Struct, eq=False):
    """What one process works out once about its group's rounds; for many threads."""

    _method: FPDGD | None = None
    _occasions: dict[tuple[str, int, int, str], Occasion] = field(default_factory=dict)
    """by roster head, lineage, round and model: the same for ever"""
    _listed: ListedSum | None = None
    """of the list that was answered last"""

    def method(self, agreed: wire.Terms) -> FPDGD:
        """The group's, which never changes."""
        method = self._method = self._method or group.method_of(agreed)
        return method

    def occasion(self, connection: Connection, here: Round, agreed: wire.Terms) -> Occasion:
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
                privacy=group.gaussian_of(self.method(agreed)),
            )
            if len(self._occasions) >= KNOWN:
                self._occasions.clear()
            self._occasions[key] = known
        return known

    def occasion_or_refused(self, connection: Connection, here: Round, agreed: wire.Terms) -> Occasion:
        """The same; Refused while too few members are vouched for."""
        try:
            return self.occasion(connection, here, agreed)
        except CohortError as error:
            raise Refused("wrong-phase", str(error)) from error

    def listed_sum(self, connection: Connection, vault: Vault, where: Occasion, here: Round) -> ListedSum:
        """What answers to the round's list are checked against, as long as nobody else is found to have lied."""
        listed, out = listed_messages(connection, here), tuple(sorted(lies(connection, here, "message")))
        known = self._listed
        if known is None or (known.list_hash, known.without) != (list_hash(connection, here), out):
            kept = _messages(connection, vault, here)
            known = listed_sum(where, listed, {one: kept[one].commitments for one in listed.messages}, out)
            self._listed = known
        return known


def largest_message(agreed: wire.Terms) -> int:
    """Bytes of the longest message or answer: a proof of a small group, which needs most coins, and the largest
    committee's boxes, or the sums of a thousand members."""
    method = group.method_of(agreed)
    part, share = group.gaussian_of(method).shared_out(quorums(0).n_honest), 2 * SIZE * (method.n_sent + 1)
    proof = NoteTerms(method.n_sent, part.coins, part.most).proof_bytes
    return LARGEST_COMMITTEE * (share + 256) + 100 * share + 2 * proof


class Desk(Struct, frozen=True):
    """What the messages of a sealed round are looked at with, one at a time."""

    connection: Connection
    rounds: SealedRounds
    vault: Vault
    now: int


def keep_noise(desk: Desk, device: str, sent: wire.NoiseCommitment) -> wire.Coins:
    """Keep a commitment to a device's noise durably; its coins are drawn after it, and are the same for the same again.

    They depend on the round's secret key, which no member knows, and on the commitment, not chosen by the server.
    """
    connection, (round_, where) = desk.connection, _of_cohort(desk, device, sent)
    try:
        check_points([sent.point])
    except PointError as error:
        raise Refused("wrong-shares", str(error)) from error
    known = _noise(connection, round_, device)
    if known not in (None, sent.point):
        raise Refused("already-reported")
    if known is None and round_.phase != "collect":
        raise Refused("wrong-phase", "the round's list is fixed")
    if known is None and not senders(connection, round_, where.cohort, now=desk.now):
        raise Refused("wrong-phase", "too few on the roster are still members")
    if known is None:
        connection.execute(insert(noises).values(point=sent.point, device=device, **round_.place))
    return wire.Coins(round=round_.number, seed=_coins(desk.vault, round_, device, sent.point))


def senders(connection: Connection, here: Round, cohort: Cohort, *, now: int) -> Set[str]:
    """Those of the cohort who have sent a note or still may; nobody, if they or those who add up are too few.

    A note taken while they are too few would be spent, one for each sender, and the round with it.
    """
    active = enrolment.active_devices(connection, now=now)
    n_hands = sum(member.device in active for member in cohort.committee)
    able = (active & cohort.by_device.keys()) - lies(connection, here, "proof").keys()
    found = able | message_hashes(connection, here).keys()
    return found if n_hands >= cohort.threshold and cohort.has_enough(found) else frozenset()


class Offered(Struct, frozen=True):
    """A message that holds together, but for the proof of its note, which is still to be checked."""

    message: str
    """its hash"""
    terms: NoteTerms
    claims: dict[str, NoteClaim]
    """by pseudonym: one, or none of a message that is kept already"""


def offered(desk: Desk, device: str, sent: wire.SharedUpdate) -> Offered:
    """What a message says; Refused where its proof need not be looked at."""
    connection, (round_, where) = desk.connection, _of_cohort(desk, device, sent, lock=False)
    try:
        message = check_shared(where, sent)
    except SealedSumError as error:
        raise Refused("wrong-shares", str(error)) from error
    known = message_of(connection, round_, device)
    if known is not None:
        return Offered(message, where.note_terms, {})
    if round_.phase != "collect":
        raise Refused("wrong-phase", "the round's list is fixed")
    point = _noise(connection, round_, device)
    if point is None:
        raise Refused("wrong-proof", "no noise was committed to before")
    if device in lies(connection, round_, "proof"):
        raise Refused("wrong-proof", "one of this device was refused in this round before")
    claim = claim_of(where, sent, point, _coins(desk.vault, round_, device, point))
    return Offered(message, where.note_terms, {device: claim})


def keep_shared(desk: Desk, sent: wire.SharedUpdate, message: str, *, false: bool) -> wire.Accepted | Refused:
    """Keep a member's message durably, under the round's lock; the same message again is acknowledged again.

    Refused for another round or phase, for a sender outside its cohort, and for another message than the first. One
    whose proof was found `false` is refused, too: that is returned, not raised, for its sender is named.
    """
    connection, (round_, _) = desk.connection, _of_cohort(desk, sent.device, sent)
    if false:
        _name(connection, round_, sent.device, "proof", wire.encode(sent))
        return Refused("wrong-proof")
    known = message_of(connection, round_, sent.device)
    if known is not None and known != message:
        raise Refused("already-reported")
    if known is None and round_.phase != "collect":
        raise Refused("wrong-phase", "the round's list is fixed")
    received = round_.n_updates + (known is None)
    if known is None:
        row = {"device": sent.device, "received": desk.now, "message": desk.vault.encrypt(wire.encode(sent))}
        connection.execute(insert(shares).values(message_hash=message, **row, **round_.place))
        connection.execute(update(rounds_table).where(of_round(rounds_table, round_)).values(n_updates=received))
        enrolment.count_answers(connection, [sent.device])
    return wire.Accepted(round=round_.number, received=received)


def message_hashes(connection: Connection, here: Round) -> dict[str, str]:
    """Of all messages of the open round, by pseudonym."""
    return {row.device: row.message_hash for row in connection.execute(_HASHES, here.place)}


def the_list(connection: Connection, here: Round) -> wire.Signed | None:
    """The round's one list, as it was signed; None before it is fixed."""
    found = connection.execute(_LIST, here.place).scalar_one_or_none()
    return wire.decode(bytes(found), wire.Signed) if found is not None else None


def list_hash(connection: Connection, here: Round) -> str:
    """Hash of the list, "" before it is fixed."""
    return connection.execute(_LIST_HASH, here.place).scalar_one_or_none() or ""


def listed_messages(connection: Connection, here: Round) -> wire.ShareList:
    """What the round's list says; Refused before it is fixed."""
    signed = the_list(connection, here)
    if signed is None:
        raise Refused("wrong-phase", "no list is fixed")
    return wire.decode(signed.body, wire.ShareList)


def task(desk: Desk, device: str) -> wire.SumTask:
    """What a member of the committee is to add up; Refused outside phase sum, and for everybody else."""
    connection = desk.connection
    enrolment.active_member(connection, device, now=desk.now)
    here = rounds.present(connection)
    if here is None or here.phase != "sum":
        raise Refused("wrong-phase", "no list is fixed")
    where = desk.rounds.occasion_or_refused(connection, here, group.terms(connection))
    point, signed = where.cohort.point(device), the_list(connection, here)
    if point is None or signed is None:
        raise Refused("not-in-roster", "this device is not in the round's committee")
    kept = _messages(connection, desk.vault, here)
    complaints = []
    for proof in lies(connection, here, "message").values():
        found = wire.decode(proof, wire.Complaint)
        box = listed_box(where, kept[found.about], where.cohort.point(found.device) or 0).box
        complaints.append(wire.ListedComplaint(complaint=found, box=box))
    boxes = tuple(listed_box(where, kept[one], point) for one in wire.decode(signed.body, wire.ShareList).messages)
    return wire.SumTask(signed_list=signed, boxes=boxes, complaints=tuple(complaints))


def keep_complaint(desk: Desk, device: str, sent: wire.Complaint, schedule: Schedule) -> wire.Accepted | Refused:
    """Leave a message out that is proved false, and have everybody add up again; the same again is acknowledged again.

    What is refused only because its sender lied is given, not raised: that it did is kept.
    """
    connection, (round_, where) = desk.connection, _being_summed(desk, device, sent)
    message, point = _messages(connection, desk.vault, round_).get(sent.about), where.cohort.point(device)
    if message is None or point is None:
        raise Refused("wrong-complaint", "no listed message, or no member of the committee")
    try:
        check_complaint(where, sent, listed_messages(connection, round_), listed_box(where, message, point))
    except FalseComplaintError as error:
        _name(connection, round_, device, "complaint", wire.encode(sent))
        return Refused("wrong-complaint", str(error))
    except SealedSumError as error:
        raise Refused("wrong-complaint", str(error)) from error
    if _name(connection, round_, sent.about, "message", wire.encode(sent)):
        connection.execute(delete(answers).where(of_round(answers, round_)))
        again = update(rounds_table).where(of_round(rounds_table, round_))
        connection.execute(again.values(deadline=desk.now + schedule.sum_seconds))
    return wire.Accepted(round=round_.number, received=n_answers(connection, round_))


def keep_answer(desk: Desk, device: str, sent: wire.CommitteeAnswer) -> wire.Accepted | Refused:
    """Keep a committee member's answer durably, under the round's lock; the same again is acknowledged again.

    What is refused only because its sender lied is given, not raised: that it did is kept.
    """
    connection, (round_, where) = desk.connection, _being_summed(desk, device, sent)
    wanted = desk.rounds.listed_sum(connection, desk.vault, where, round_)
    if (sent.list_hash, sent.without) != (wanted.list_hash, wanted.without):
        raise Refused("wrong-list")
    try:
        check_answer(where, sent, wanted)
    except FalseAnswerError as error:
        _name(connection, round_, device, "answer", wire.encode(sent))
        return Refused("false-answer", str(error))
    except SealedSumError as error:
        raise Refused("wrong-shares", str(error)) from error
    query = select(answers.c.answer).where(of_round(answers, round_), answers.c.device == sent.device)
    known, body = connection.execute(query).scalar_one_or_none(), wire.encode(sent)
    if known is not None and bytes(known) != body:
        raise Refused("already-reported")
    if known is None:
        row = {"device": sent.device, "received": desk.now, "answer": body}
        connection.execute(insert(answers).values(**row, **round_.place))
    return wire.Accepted(round=round_.number, received=n_answers(connection, round_))


def lies(connection: Connection, here: Round, lie: Lie) -> dict[str, bytes]:
    """Who has lied so in the open round, with the proof, in the order of the pseudonyms."""
    return {row.device: bytes(row.proof) for row in connection.execute(_LIARS, here.place | {"lie": lie})}


def _name(connection: Connection, here: Round, device: str, lie: Lie, proof: bytes) -> bool:
    """Note it once; whether it is new."""
    if device in lies(connection, here, lie):
        return False
    connection.execute(insert(named).values(device=device, lie=lie, proof=proof, **here.place))
    return True


def _messages(connection: Connection, vault: Vault, here: Round) -> dict[str, wire.SharedUpdate]:
    """What came in the open round, by pseudonym."""
    rows = connection.execute(select(shares.c.device, shares.c.message).where(of_round(shares, here)))
    return {row.device: wire.decode(vault.decrypt(bytes(row.message)), wire.SharedUpdate) for row in rows}


def n_answers(connection: Connection, here: Round) -> int:
    """How many of the committee have answered."""
    return int(connection.execute(_N_ANSWERS, here.place).scalar_one())


def answers_of(connection: Connection, here: Round) -> tuple[wire.CommitteeAnswer, ...]:
    """Those that arrived, in the order of the pseudonyms."""
    found = connection.execute(_ANSWERS, here.place).scalars()
    return tuple(wire.decode(bytes(answer), wire.CommitteeAnswer) for answer in found)


def _being_summed(desk: Desk, device: str, sent: wire.CommitteeAnswer | wire.Complaint) -> tuple[Round, Occasion]:
    """The open round, locked; Refused unless its list is fixed and the message is a member's own and for it."""
    round_, agreed = _same_round(desk, device, sent, lock=True)
    if round_.phase != "sum":
        raise Refused("wrong-phase", "no list is fixed")
    return round_, desk.rounds.occasion_or_refused(desk.connection, round_, agreed)


def _of_cohort(
    desk: Desk, device: str, sent: wire.NoiseCommitment | wire.SharedUpdate, *, lock: bool = True
) -> tuple[Round, Occasion]:
    """The open round; Refused unless the message is a member's of its cohort, by its roster."""
    round_, agreed = _same_round(desk, device, sent, lock=lock)
    where = desk.rounds.occasion_or_refused(desk.connection, round_, agreed)
    if isinstance(sent, wire.SharedUpdate) and sent.roster_head != round_.roster_head:
        raise Refused("wrong-phase", "the round goes by another roster since the message was prepared")
    if device not in where.cohort.by_device:
        raise Refused("not-in-roster", f"the round opened with {len(where.cohort.members)} members")
    return round_, where


def _noise(connection: Connection, here: Round, device: str) -> bytes | None:
    found = connection.execute(_NOISE, here.place | {"device": device}).scalar_one_or_none()
    return None if found is None else bytes(found)


def _coins(vault: Vault, here: Round, device: str, point: bytes) -> bytes:
    if here.sealed_key is None:
        raise Refused("stale-round", "no round is open")
    secret = vault.decrypt(here.sealed_key)
    said = f"{here.lineage}\n{here.number}\n{device}\n".encode() + point
    return hashlib.blake2b(said, key=secret, digest_size=SIZE, person=b"foltr-coins").digest()


def _same_round(desk: Desk, device: str, sent: OfRound, *, lock: bool) -> tuple[Round, wire.Terms]:
    """The open round and the terms; Refused unless the message is a member's own and for it."""
    enrolment.active_member(desk.connection, device, now=desk.now)
    if sent.device != device:
        raise Refused("wrong-device")
    here, agreed = rounds.present(desk.connection, lock=lock), group.terms(desk.connection)
    if sent.group_id != agreed.group_id:
        raise Refused("wrong-group")
    if here is None:
        raise Refused("stale-round", "no round is open")
    if sent.lineage != here.lineage:
        raise Refused("wrong-lineage", f"the group is in lineage {here.lineage}, the message in {sent.lineage}")
    if sent.round != here.number:
        raise Refused("stale-round", f"round {here.number} is open, the message is for {sent.round}")
    return here, agreed


def message_of(connection: Connection, here: Round, device: str) -> str | None:
    """The hash of this device's message of the open round, None where there is none."""
    return connection.execute(_HASH, here.place | {"device": device}).scalar_one_or_none()
