"""Following a group's server to another address that the server or a link announces; only the server's key is believed.

A record says where the server is to be found, signed by the identity that the invite named. The device moves only after
the new address has answered with that identity; until then, as while the new server is not up yet, the old address is
asked as before. A record that is not newer than the last one followed is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace

from app.federation import membership
from app.federation.failures import GONE, Declined, Distrusted, FederationError, Unreachable
from app.federation.membership import KeptReceipt, Membership
from app.federation.server import Reach, former_member, opened
from app.store import Store
from foltr.federated.wire import ServerMove, Signed, decode, encode


def read(signed: Signed, server_key: bytes, group_id: str) -> ServerMove:
    """The record inside; Distrusted unless the group's own server signed it."""
    found = opened(server_key, signed, "moved", ServerMove, "the record of a move")
    if found.group_id != group_id:
        raise Distrusted("the record of a move is of another group")
    return found


def note(store: Store, signed: Signed | None) -> None:
    """Remember what an announcement says, if it is news; to be followed at the next sync."""
    if signed is None:
        return
    member = membership.member(store)
    found = read(signed, member.server_key, member.group_id)
    waiting = decode(decode(member.moved, Signed).body, ServerMove).serial if member.moved else 0
    if found.serial <= max(member.serial, waiting):
        return
    present = (found.address, found.certificate) == (member.address, member.certificate)
    changes = {"serial": found.serial, "moved": b""} if present else {"moved": encode(signed)}
    membership.save(store, replace(member, **changes))


def followed(store: Store, member: Membership, reach: Reach) -> tuple[Membership, str]:
    """The membership at the new address, if a record waits and the server answers there; else as it is, and why."""
    if not member.moved:
        return member, ""
    found = read(decode(member.moved, Signed), member.server_key, member.group_id)
    there = replace(member, address=found.address, certificate=found.certificate, serial=found.serial, moved=b"")
    try:
        with reach.once.talk(there) as server:
            server.announcement(membership.load_standing(store))
    except FederationError as error:
        if not (isinstance(error, Declined) and error.reason in GONE):  # it has let this device go, and answers there
            return member, f"the server says that it moves to {found.address}, which was tried: {error}"
    membership.save(store, there)
    return there, ""


@contextmanager
def following(store: Store, reach: Reach) -> Iterator[str]:
    """Follow a waiting record first; yields why it was not followed, which an error of the old address adds, too."""
    _, not_followed = followed(store, membership.member(store), reach)
    try:
        yield not_followed
    except Unreachable as error:
        raise Unreachable("; ".join(filter(None, (str(error), not_followed)))) from error


def followed_by_receipt(store: Store, kept: KeptReceipt, reach: Reach, signed: Signed | None) -> KeptReceipt:
    """A receipt whose server moved, now with the new address; unchanged if nobody answers there yet."""
    if signed is None:
        return kept
    found = read(signed, kept.server_key, kept.group_id)
    if found.serial <= kept.serial:
        return kept
    there = replace(kept, address=found.address, certificate=found.certificate, serial=found.serial)
    try:
        with reach.once.talk(former_member(there)) as server:
            server.receipt(kept.receipt.request)
    except FederationError:
        return kept
    membership.save_receipt(store, there)
    return there


def by_link(store: Store, signed: Signed, reach: Reach, elsewhere: str = "") -> tuple[str, ...]:
    """Follow a link's record with the membership and the receipts that it is for; returns a sentence for each.

    `elsewhere` says which other device speaks for this person's membership, which only that one can move.
    FederationError when it is for none of them, or not newer than what they have followed.
    """
    member, said, reasons = membership.load(store), list[str](), list[str]()
    follows = [partial(_receipt_by_link, store, kept, signed, reach) for kept in membership.all_receipts(store)]
    if member is not None and member.group_id:
        follows.insert(0, partial(_member_by_link, store, member, signed, reach, elsewhere))
    for follow in follows:
        try:
            said.append(follow())
        except FederationError as error:
            reasons.append(str(error))
    if not any(said):
        raise FederationError("; ".join(dict.fromkeys(reasons)) or "this link is for no group of this device")
    return tuple(filter(None, said))


def _receipt_by_link(store: Store, kept: KeptReceipt, signed: Signed, reach: Reach) -> str:
    there = followed_by_receipt(store, kept, reach, signed)
    return "" if there is kept else f"the receipt of {kept.group} is asked for at {there.address} from now on"


def _member_by_link(store: Store, member: Membership, signed: Signed, reach: Reach, elsewhere: str) -> str:
    found = read(signed, member.server_key, member.group_id)
    if elsewhere:
        raise FederationError(f"not followed from here: {elsewhere}")
    if found.serial <= member.serial:
        raise FederationError(f"{member.group} is at {member.address} already: this link is not newer")
    note(store, signed)
    there, why = followed(store, membership.member(store), reach)
    if there.address == found.address and not there.moved:
        return f"{member.group} is at {there.address} from now on"
    return f"{why}; each sync tries there, and {member.address} until then"
