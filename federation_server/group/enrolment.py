"""Who may take part: invites that work once, and members that are pseudonyms."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, func, insert, select, tuple_, update

from console.printable import safe_line
from federation_server.group import roster_book
from federation_server.refusals import Refused
from federation_server.tables import (
    answers,
    depot_files,
    depots,
    facts,
    guarded,
    invites,
    members,
    named,
    noises,
    rounds,
    shares,
    updates,
)
from federation_server.vault import hash_of
from foltr.federated.envelope import pseudonym
from foltr.federated.sealed.roster import RosterError, check_enrolment, invite_identity
from foltr.federated.wire import Enrolment, Invited, InviteOffer

TOKEN_BYTES = 24
MOST_OPEN = 100
"""invites of one member that are neither used nor expired"""
_ANSWERED = select(members.c.answered).where(members.c.device == bindparam("device"))
_MEMBERS = select(members).where(members.c.device.in_(bindparam("devices", expanding=True)))


class Member(Struct, frozen=True):
    device: str
    """its pseudonym: a hash of its key"""
    device_key: bytes
    """Ed25519 public key [32]"""
    joined: int
    expires: int | None
    ended: int | None
    first_lineage: int | None
    first_round: int | None
    last_lineage: int | None
    last_round: int | None


def invite(connection: Connection, *, note: str, seconds: int, now: int) -> str:
    """A fresh secret that works once within `seconds`; only a hash of its public half is stored."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    key = key_hash(invite_identity(token).public)
    row = {"key_hash": key, "note": safe_line(note)[:200], "created": now, "expires": now + seconds}
    connection.execute(insert(invites).values(**row))
    return token


def offer(connection: Connection, asked: InviteOffer, *, voucher: int, lifetime: int, now: int) -> Invited:
    """Take a member's invite; the same again changes nothing. `voucher` is the number of its entry in the roster.

    Refused("too-many") while MOST_OPEN of this member's wait to be used: a row each, kept for days.
    """
    row = {"note": "", "created": now, "expires": now + lifetime, "voucher": voucher, "signature": asked.signature}
    known = select(invites.c.expires, invites.c.voucher).where(invites.c.key_hash == key_hash(asked.invite_key))
    found = connection.execute(known).first()
    if found is None:
        waiting = (invites.c.voucher == voucher, invites.c.used.is_(None), invites.c.expires > now)
        if connection.execute(select(func.count()).select_from(invites).where(*waiting)).scalar_one() >= MOST_OPEN:
            raise Refused("too-many", f"{MOST_OPEN} of this member's invites wait to be used", wait=lifetime)
        connection.execute(insert(invites).values(key_hash=key_hash(asked.invite_key), **row))
    elif found.voucher != voucher:
        raise Refused("bad-vouching", "somebody else has made this invite")
    return Invited(expires=found.expires if found is not None else now + lifetime)


def key_hash(invite_key: bytes) -> str:
    """How an invite is known: by a hash of its public key."""
    return hash_of(invite_key.hex())


def all_invites(connection: Connection) -> Sequence[Row[Any]]:
    """The table's rows, newest first; the server never knew the secrets, except of those that it made itself."""
    return connection.execute(select(invites).order_by(invites.c.created.desc(), invites.c.key_hash)).all()


def revoke_invite(connection: Connection, prefix: str, *, now: int) -> int:
    """Make unused invites whose hash begins with `prefix` worthless; how many there were."""
    named_so = invites.c.key_hash.startswith(prefix, autoescape=True)
    chosen = update(invites).where(named_so, invites.c.used.is_(None), invites.c.revoked.is_(None))
    return int(connection.execute(chosen.values(revoked=now)).rowcount)


def redeem(connection: Connection, asked: Enrolment, *, lifetime: int | None, now: int) -> Member:
    """Make the holder of this key a member, once for each invite.

    The same device redeeming its own invite again (its first answer was lost) is a member already and gets the same
    answer. Otherwise Refused("bad-invite") when the invite is unknown, used, expired or revoked, its secret is not
    proved, or the roster knows it as used, as after a restore.
    """
    device_key = asked.device_key
    try:
        check_enrolment(asked, asked.group_id)
    except RosterError as error:
        raise Refused("bad-invite", str(error)) from error
    known = member(connection, pseudonym(device_key))
    this = invites.c.key_hash == key_hash(asked.invite_key)
    usable = update(invites).where(this, invites.c.used.is_(None), invites.c.revoked.is_(None), invites.c.expires > now)
    if known is not None and known.ended is None and (known.expires is None or known.expires > now):
        return known
    if known is not None or not connection.execute(usable.values(used=now)).rowcount:
        raise Refused("bad-invite")
    expires = None if lifetime is None else now + lifetime
    row = {"device": pseudonym(device_key), "device_key": device_key, "joined": now, "expires": expires}
    fresh = _member(connection.execute(insert(members).values(**row).returning(members)).one())
    by = connection.execute(select(invites.c.voucher, invites.c.signature).where(this)).one()
    try:
        roster_book.join(connection, asked, voucher=by.voucher, signature=by.signature)
    except RosterError as error:
        raise Refused("bad-invite", str(error)) from error
    return fresh


def readmit(connection: Connection, keys: Mapping[bytes, bytes], *, now: int) -> None:
    """Make members of devices that were members before a restore: invite key by device key. Their invites are used."""
    known = members_of(connection, [pseudonym(key) for key in keys])
    for device_key, invite_key in keys.items():
        if pseudonym(device_key) not in known:
            row = {"device": pseudonym(device_key), "device_key": device_key, "joined": now}
            connection.execute(insert(members).values(**row))
            used = update(invites).where(invites.c.key_hash == key_hash(invite_key), invites.c.used.is_(None))
            connection.execute(used.values(used=now))


def member(connection: Connection, device: str) -> Member | None:
    """The member of this pseudonym, even if its membership has ended."""
    return members_of(connection, [device]).get(device)


def members_of(connection: Connection, devices: Iterable[str]) -> dict[str, Member]:
    """Those of the pseudonyms that are known, even if their membership has ended."""
    rows = connection.execute(_MEMBERS, {"devices": list(devices)})
    return {row.device: _member(row) for row in rows}


def count_answers(connection: Connection, devices: Iterable[str]) -> None:
    """One more round that each of these has answered."""
    chosen = update(members).where(members.c.device.in_(list(devices)))
    connection.execute(chosen.values(answered=members.c.answered + 1))


def inherit(connection: Connection, former: str, device: str, *, now: int) -> None:
    """Let a member go on as the one that the same person was before, with its rounds; only before its own first."""
    if answered(connection, device):
        raise Refused("bad-vouching", "it has answered rounds already as another person")
    rest = update(members).where(members.c.device == device)
    connection.execute(rest.values(answered=answered(connection, former)))
    end_membership(connection, former, now=now)


def answered(connection: Connection, device: str) -> int:
    """For how many rounds there was an update of this member; erased rows stay counted."""
    return int(connection.execute(_ANSWERED, {"device": device}).scalar_one_or_none() or 0)


def all_members(connection: Connection) -> tuple[Member, ...]:
    """In the order in which they joined."""
    rows = connection.execute(select(members).order_by(members.c.joined, members.c.device))
    return tuple(map(_member, rows))


def count_active(connection: Connection, *, now: int) -> int:
    """Members whose updates would be taken."""
    return int(connection.execute(_N_ACTIVE, {"now": now}).scalar_one())


LEAP = 3600
"""seconds"""
REACHED = "retention reached"
"""the fact that holds the moment by which rows were last judged old, give or take LEAP (running.retention)"""
_REACHED = select(facts.c.value.cast(members.c.expires.type)).where(facts.c.name == REACHED).scalar_subquery()


def is_active(now: int | ColumnElement[int]) -> ColumnElement[bool]:
    """The condition for a row of `members` to have its updates taken.

    A clock that is far ahead must not end memberships at once: a round would not wait for these members, or be void.
    """
    lasts = members.c.expires.is_(None) | (members.c.expires > now) | (members.c.expires > _REACHED + LEAP)
    return members.c.ended.is_(None) & lasts


_ACTIVE, _N_ACTIVE = (select(one).where(is_active(bindparam("now"))) for one in (members.c.device, func.count()))


def active_devices(connection: Connection, *, now: int) -> frozenset[str]:
    """Pseudonyms of the members whose updates would be taken."""
    return frozenset(connection.execute(_ACTIVE, {"now": now}).scalars())


def ghosts(connection: Connection, *, now: int) -> tuple[str, ...]:
    """Who is on the roster without being a member any more: only another member can sign that one is gone."""
    listed = {one.device for one in roster_book.state(connection).members.values()}
    return tuple(sorted(listed - active_devices(connection, now=now)))


def vouchers(connection: Connection, *, now: int) -> tuple[str, ...]:
    """Members of a sealed group who can bring in others: on the roster, vouched for, and still a member."""
    here = active_devices(connection, now=now)
    return tuple(one.device for one in roster_book.state(connection).vouched if one.device in here)


def end_membership(connection: Connection, device: str, *, now: int) -> bool:
    """Take no more updates from this device, and keep nothing for its owner's computers; whether it was a member."""
    for table in (guarded, depots, depot_files):
        connection.execute(delete(table).where(table.c.device == device))
    chosen = update(members).where(members.c.device == device, members.c.ended.is_(None))
    return bool(connection.execute(chosen.values(ended=now)).rowcount)


def erase(connection: Connection, device: str) -> dict[str, int]:
    """Delete the member and everything it sent; how many rows of each table.

    The invite that let it in goes, too: its note may say who that was. It is found by the second in which it was used;
    another one of that second is worthless, too. Closed rounds count the updates that remain, and name others.
    """
    sent = select(updates.c.lineage, updates.c.round).where(updates.c.device == device)
    counted = update(rounds).where(tuple_(rounds.c.lineage, rounds.c.round).in_(sent), rounds.c.state == "closed")
    connection.execute(counted.values(n_updates=rounds.c.n_updates - 1))
    unnamed = update(rounds).values(guard=func.replace(rounds.c.guard, device, "(forgotten)"))
    connection.execute(unnamed.where(rounds.c.guard.contains(device)))
    joined = select(members.c.joined).where(members.c.device == device).scalar_subquery()
    connection.execute(delete(invites).where(invites.c.used == joined))
    for table in (guarded, named, noises, depots):
        connection.execute(delete(table).where(table.c.device == device))
    erased = {
        table.name.replace("_", " "): int(connection.execute(delete(table).where(table.c.device == device)).rowcount)
        for table in (updates, shares, answers, depot_files, members)
    }
    erased["roster"] = roster_book.erase_bodies(connection)
    return {name: n for name, n in erased.items() if n or name in ("updates", "members")}


def _member(row: Any) -> Member:
    found = {name: getattr(row, name) for name in Member.__struct_fields__}
    return Member(**{**found, "device_key": bytes(row.device_key)})


def active_member(connection: Connection, device: str, *, now: int) -> Member:
    """The member of this pseudonym; Refused when it is unknown, or its membership ended or expired."""
    return still_active(member(connection, device), now=now)


def still_active(known: Member | None, *, now: int) -> Member:
    """The member; Refused when there is none, or its membership ended or expired."""
    if known is None:
        raise Refused("unknown-device")
    if known.ended is not None or (known.expires is not None and known.expires <= now):
        raise Refused("revoked")
    return known
