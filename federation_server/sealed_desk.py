"""What members of a group ask of each other through the server, and what a sealed round asks of them: the addresses.

Each takes a request whose signature is checked already, asks the database whether its sender is a member, and does its
work in one transaction that is on disk before the answer. Nothing of it spends a nonce: sent again, a message, an
answer, an invite or a voucher changes nothing, and a reading tells what it told before.
"""

from __future__ import annotations

from sqlalchemy import Connection

from federation_server import enrolment, group, roster_book, rounds, sealed_intake
from federation_server.authentication import active_member
from federation_server.refusals import Refused
from federation_server.vault import Vault
from foltr.federated.envelope import SignatureError, sign_document, verify
from foltr.federated.roster import INVITE, invite_text
from foltr.federated.wire import (
    Accepted,
    CommitteeAnswer,
    Invited,
    InviteOffer,
    SharedUpdate,
    Signed,
    SumTask,
    Vouching,
)

INVITE_DAYS = 7
"""that a member's invite may be used"""
DAY = 86_400


def roster(connection: Connection, vault: Vault, *, after: int) -> Signed:
    """The entries of the roster from number `after` on."""
    return sign_document(vault.identity, "roster", roster_book.page(connection, after=after))


def invite(connection: Connection, device: str, asked: InviteOffer, *, now: int) -> Invited:
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


def vouch(connection: Connection, vault: Vault, device: str, asked: Vouching, *, now: int) -> Signed:
    """A member vouches for another, or takes one off; the roster's entries from the one about it on."""
    active_member(connection, device, now=now)
    if asked.group_id != group.terms(connection).group_id:
        raise Refused("wrong-group")
    group.lock(connection)
    roster_book.vouch(connection, device, asked)
    return roster(connection, vault, after=asked.about)


def take_shared(connection: Connection, vault: Vault, device: str, sent: SharedUpdate, *, now: int) -> Accepted:
    """A device's message of the round."""
    active_member(connection, device, now=now)
    if sent.device != device:
        raise Refused("wrong-device")
    here = rounds.present(connection, lock=True)
    return sealed_intake.keep_shared(connection, vault, here, sent, now=now)


def task(connection: Connection, vault: Vault, device: str, *, now: int) -> SumTask:
    """The list and the boxes of a member of the committee."""
    active_member(connection, device, now=now)
    return sealed_intake.task(connection, vault, rounds.present(connection), device)


def take_answer(connection: Connection, device: str, sent: CommitteeAnswer, *, now: int) -> Accepted:
    """What a member of the committee has added up."""
    active_member(connection, device, now=now)
    if sent.device != device:
        raise Refused("wrong-device")
    return sealed_intake.keep_answer(connection, rounds.present(connection, lock=True), sent, now=now)
