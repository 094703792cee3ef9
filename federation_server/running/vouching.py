"""Members' requests about each other through the server: inviting, vouching, taking off the roster, taking back.

Each takes a request whose signature is checked already, asks the database whether its sender is a member, and does its
work in one transaction that is on disk before the answer. Nothing of it spends a nonce: sent again, an invite or a
voucher changes nothing.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, exists, select, update

from federation_server.database import note_erasure
from federation_server.forgetting import forgetting, tombstones
from federation_server.forgetting.forgetting import KEEPS_RANKER, Forgetter
from federation_server.forgetting.tombstones import Restored, hash_of_member
from federation_server.group import enrolment, group, roster_book
from federation_server.refusals import Refused
from federation_server.rounds import rounds
from federation_server.tables import lineages, members
from federation_server.tables import rounds as rounds_table
from foltr.errors import FoltrError, RecordError
from foltr.federated import wire
from foltr.federated.envelope import SignatureError, open_document, verify
from foltr.federated.method import Model
from foltr.federated.sealed.roster import INVITE, invite_text

INVITE_DAYS = 7
"""that a member's invite may be used"""


def take_back(
    connection: Connection, server_key: bytes, device: str, asked: wire.RosterReturn, *, now: int
) -> wire.RosterPage:
    """After a restore a device hands back what the roster lacks; returns the entries from the first handed back on.

    They make members of those who enrolled since the backup, except those forgotten, and end the membership of those
    who left. Refused("unknown-device") for a sender that neither is a member nor is one by these entries.
    """
    group_id = group.terms(connection).group_id
    try:
        seen = open_document(server_key, asked.seen, "roster", wire.RosterPage)
    except (SignatureError, RecordError) as error:
        raise Refused("wrong-roster", f"the page that they lead to is not this server's: {error}") from error
    if (asked.group_id, seen.group_id) != (group_id, group_id):
        raise Refused("wrong-group")
    group.lock(connection)
    before, after = roster_book.take_back(connection, seen, asked.entries)
    if after.of_device(device) is None and enrolment.member(connection, device) is None:
        raise Refused("unknown-device")
    forgotten = {stone.member for stone in tombstones.in_database(connection)}
    fresh = [entry for entry in asked.entries if before.number <= entry.number < after.number]
    joined = {e.body.device_key: e.body.invite_key for e in fresh if e.kind == "join" and e.body is not None}
    present = {one.device_key for one in after.members.values() if hash_of_member(one.device) not in forgotten}
    enrolment.readmit(connection, {key: joined[key] for key in joined.keys() & present}, now=now)
    for one in before.members.values():
        if one.number not in after.members:
            enrolment.end_membership(connection, one.device, now=now)
    return roster_book.page(connection, after=min((seen.number, *(entry.number for entry in asked.entries[:1]))))


def take_back_ranker(
    connection: Connection, forgetter: Forgetter, asked: wire.RankerReturn, *, now: int
) -> wire.ModelRecord:
    """After a restore a device hands back the newest ranker it knows; returns the one from which the group goes on.

    Refused("wrong-lineage") for a ranker that was given up rather than lost only by restores, as when somebody was
    forgotten; "gone-on" where the group has closed a round without it, or the backup does not know its lineage.
    """
    agreed = group.terms(connection)
    if asked.group_id != agreed.group_id:
        raise Refused("wrong-group")
    try:
        lost = open_document(forgetter.vault.identity.public, asked.ranker, "model", wire.ModelRecord)
        theta = wire.decode_vector(lost.theta, agreed.n_params)
    except FoltrError as error:
        raise Refused("wrong-ranker", str(error)) from error
    if any(getattr(lost, name) != getattr(agreed, name) for name in ("group_id", "method", "ranker", "manifest_hash")):
        raise Refused("wrong-ranker", "it is of another group, or over another version's features")
    group.lock(connection)
    since, has_learned = _restored_to(connection, lost.lineage)
    covered = KEEPS_RANKER if forgetting.covers(agreed) else ()
    unlearned = [stone for stone in tombstones.in_database(connection) if stone.method not in covered]
    if connection.execute(select(lineages).where(lineages.c.lineage == lost.lineage)).first() is None and not unlearned:
        raise Refused("gone-on", "its lineage began after the backup")
    if since is None or any(
        stone.lineage in (None, lost.lineage) and (stone.round or 0) <= lost.round for stone in unlearned
    ):
        raise Refused("wrong-lineage", "the ranker was given up, not lost by a restore")
    if lost.round > since:
        if has_learned:
            raise Refused("gone-on")
        _go_on(connection, forgetter, lost, Model(theta, lost.round, noise=lost.noise), since, now=now)
    return group.newest(connection).record


def _restored_to(connection: Connection, lineage: int) -> tuple[int | None, bool]:
    """The round of a lineage to which only restores led back, None where anything else did; whether a round has closed
    since."""
    here, since, has_learned = group.newest(connection).record.lineage, None, False
    while here != lineage:
        row = connection.execute(select(lineages).where(lineages.c.lineage == here)).one()
        if row.reason != "restore":
            return None, False
        closed = exists().where(rounds_table.c.lineage == here, rounds_table.c.state == "closed")
        has_learned = has_learned or bool(connection.execute(select(closed)).scalar_one())
        here, since = row.parent_lineage, row.parent_round
    return since, has_learned


def _go_on(
    connection: Connection, forgetter: Forgetter, lost: wire.ModelRecord, start: Model, since: int, *, now: int
) -> None:
    """Begin a lineage from the ranker, and count the rounds after `since` that led to it.

    Who took part in them is lost, so whoever is not known to have taken part before may have done so from the first of
    them on, except those who joined after the restore.
    """
    agreed, policy, place = group.terms(connection), forgetter.policy, (lost.lineage, lost.round)
    forgetting.abandon(connection, rounds.present(connection, lock=True), now=now)
    for number in range(since + 1, lost.round + 1):
        rounds.note_lost(connection, lost.lineage, number, floor=agreed.floor, now=now)
    carried = (lost.lineage, *group.carried_by(connection, lost.lineage))
    begun = group.begin_lineage(connection, agreed, start, reason="restore", now=now, parent=place)
    group.set_fact(connection, f"carried {begun}", msgspec.json.encode(carried).decode())
    forgetter.file.append(Restored(begun))
    there = update(members).where(members.c.device.not_in(roster_book.newcomers(connection)))
    silent = there.where(members.c.first_round.is_(None))
    connection.execute(silent.values(first_lineage=lost.lineage, first_round=since + 1))
    silent = there.where(members.c.last_round.is_(None))
    connection.execute(silent.values(last_lineage=lost.lineage, last_round=lost.round))
    rounds.open_next(connection, forgetter.vault, policy.schedule, now=now)


def invite(connection: Connection, device: str, asked: wire.InviteOffer, *, now: int) -> wire.Invited:
    """A member invites somebody whom it knows; Refused for one that is not vouched for itself."""
    enrolment.active_member(connection, device, now=now)
    group_id, member = group.terms(connection).group_id, roster_book.state(connection).of_device(device)
    if asked.group_id != group_id:
        raise Refused("wrong-group")
    if member is None or not member.vouched:
        raise Refused("not-in-roster", "nobody has vouched for this device yet, so it can vouch for nobody")
    try:
        verify(member.device_key, INVITE, invite_text(group_id, asked.invite_key), asked.signature)
    except SignatureError as error:
        raise Refused("bad-vouching", str(error)) from error
    return enrolment.offer(connection, asked, voucher=member.number, lifetime=INVITE_DAYS * rounds.DAY, now=now)


def vouch(connection: Connection, device: str, asked: wire.Vouching, *, now: int) -> wire.RosterPage:
    """A member vouches for another, or takes one off; the roster's entries from the one about it on."""
    enrolment.active_member(connection, device, now=now)
    if asked.group_id != group.terms(connection).group_id:
        raise Refused("wrong-group")
    group.lock(connection)
    if asked.leaves:
        _check_may_end(connection, device, asked.about, now=now)
    if same := roster_book.vouch(connection, device, asked):
        enrolment.inherit(connection, *same, now=now)
    if asked.leaves and roster_book.erase_bodies(connection):
        note_erasure(connection)
    return roster_book.page(connection, after=asked.about)


def _check_may_end(connection: Connection, device: str, about: int, *, now: int) -> None:
    """Refused("bad-vouching") where a member would take off one whose membership goes on and that it did not bring in.

    A newcomer could otherwise take off everybody, and be the only one who can bring in others.
    """
    here = roster_book.state(connection)
    signer, found = here.of_device(device), here.members.get(about)
    if found is None or not found.vouched or signer is None or signer.number in (found.number, found.voucher):
        return
    if found.device in enrolment.active_devices(connection, now=now):
        name = found.device[:8]
        raise Refused(
            "bad-vouching",
            f"{name} is still a member; only who brought it in can say that it is gone, until "
            f"`foltr-server members revoke {name}`",
        )
