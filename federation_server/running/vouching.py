"""What members of a group ask of each other through the server: to be invited, vouched for, taken off, taken back.

Each takes a request whose signature is checked already, asks the database whether its sender is a member, and does its
work in one transaction that is on disk before the answer. Nothing of it spends a nonce: sent again, an invite or a
voucher changes nothing.
"""

from __future__ import annotations

from sqlalchemy import Connection

from federation_server.database import note_erasure
from federation_server.forgetting import tombstones
from federation_server.forgetting.tombstones import hash_of_member
from federation_server.group import enrolment, group, roster_book
from federation_server.group.authentication import active_member
from federation_server.refusals import Refused
from foltr.errors import RecordError
from foltr.federated import wire
from foltr.federated.envelope import SignatureError, open_document, verify
from foltr.federated.sealed.roster import INVITE, invite_text

INVITE_DAYS = 7
"""that a member's invite may be used"""
DAY = 86_400


def take_back(
    connection: Connection, server_key: bytes, device: str, asked: wire.RosterReturn, *, now: int
) -> wire.RosterPage:
    """After a restore a device hands back what the roster lacks; the entries from the first one on that were handed.

    They make members of those who enrolled since the backup, but for who was forgotten, and end the membership of those
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


def invite(connection: Connection, device: str, asked: wire.InviteOffer, *, now: int) -> wire.Invited:
    """A member invites somebody whom it knows; Refused for one that is not vouched for itself."""
    active_member(connection, device, now=now)
    group_id, member = group.terms(connection).group_id, roster_book.state(connection).of_device(device)
    if asked.group_id != group_id:
        raise Refused("wrong-group")
    if member is None or not member.vouched:
        raise Refused("not-in-roster", "nobody has vouched for this device yet, so it can vouch for nobody")
    try:
        verify(member.device_key, INVITE, invite_text(group_id, asked.invite_key), asked.signature)
    except SignatureError as error:
        raise Refused("bad-vouching", str(error)) from error
    return enrolment.offer(connection, asked, voucher=member.number, lifetime=INVITE_DAYS * DAY, now=now)


def vouch(connection: Connection, device: str, asked: wire.Vouching, *, now: int) -> wire.RosterPage:
    """A member vouches for another, or takes one off; the roster's entries from the one about it on."""
    active_member(connection, device, now=now)
    if asked.group_id != group.terms(connection).group_id:
        raise Refused("wrong-group")
    group.lock(connection)
    roster_book.vouch(connection, device, asked)
    if asked.leaves and roster_book.erase_bodies(connection):
        note_erasure(connection)
    return roster_book.page(connection, after=asked.about)
