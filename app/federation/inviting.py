"""A member brings in others: by an invite that carries its word, or by vouching for one whom the operator let in.

The secret of an invite is made here and stands in the link alone: the server is told its public half, which this device
signs, so that it can let in nobody else in its place.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.federation import membership, people
from app.federation.failures import FederationError
from app.federation.server import Connect, connect, corresponding
from app.settings import Settings
from app.store import Store
from foltr.federated.sealed import roster as chain
from foltr.federated.sealed.roster import RosterMember
from foltr.federated.wire import Invite, InviteVoucher

TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class Invitation:
    """For one person."""

    invite: Invite
    expires: int
    """seconds since 1970"""


def invite(
    store: Store, settings: Settings, *, by: Connect = connect, clock: Callable[[], float] = time.time
) -> Invitation:
    """An invite by which this device vouches for whoever redeems it, once."""
    member, token = membership.member(store), secrets.token_urlsafe(TOKEN_BYTES)
    with corresponding(member, settings.federation, by=by, clock=clock) as server:
        roster = people.follow(store, server)
        me = roster.of_device(member.device)
        if me is None or not me.vouched:
            raise FederationError("nobody has vouched for this device yet, so it can invite nobody")
        expires = server.offer_invite(token).expires
    voucher = InviteVoucher(
        device_key=me.device_key,
        roster_number=roster.number,
        roster_head=roster.head,
        members=chain.members_hash(roster),
    )
    made = Invite(
        address=member.address, fingerprint=member.fingerprint, certificate=member.certificate, token=token,
        group_id=member.group_id, voucher=voucher,
    )  # fmt: skip
    return Invitation(made, expires)


def waiting(
    store: Store, settings: Settings, *, by: Connect = connect, clock: Callable[[], float] = time.time
) -> tuple[RosterMember, ...]:
    """Members for whom nobody has vouched yet, in the order in which they joined."""
    with corresponding(membership.member(store), settings.federation, by=by, clock=clock) as server:
        roster = people.follow(store, server)
    return tuple(one for _, one in sorted(roster.members.items()) if not one.vouched)


def find(
    store: Store, settings: Settings, device: str, *, by: Connect = connect, clock: Callable[[], float] = time.time
) -> RosterMember:
    """The member whose pseudonym begins so."""
    with corresponding(membership.member(store), settings.federation, by=by, clock=clock) as server:
        return people.chosen(people.follow(store, server), device)


def vouch(
    store: Store, settings: Settings, device: str, *, gone: bool = False, by: Connect = connect,
    clock: Callable[[], float] = time.time,
) -> RosterMember:  # fmt: skip
    """Sign for the member whose pseudonym begins so; with `gone`, that it is no longer there. Gives the member."""
    with corresponding(membership.member(store), settings.federation, by=by, clock=clock) as server:
        found = people.chosen(people.follow(store, server), device)
        if found.vouched and not gone:
            raise FederationError(f"{found.device} is vouched for already")
        server.vouch(found, leaves=gone)
        people.follow(store, server)
    return found
