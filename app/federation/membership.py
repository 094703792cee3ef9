"""The one group that this device belongs to, and the key by which it is known there.

The key is made on this device for this group alone, so two servers cannot tell that they see the same device. It lies
in state.sqlite, which only its owner can read.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from app.federation.failures import FederationError
from app.store import Store
from foltr.federated.envelope import Identity, pseudonym
from foltr.federated.wire import Enrolled, Invite


class Membership(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the server is, who it must be, and who this device is to it."""

    address: str
    fingerprint: str
    """of the server's identity key, from the invite"""
    certificate: str
    """SHA-256 of its self-signed certificate, "" when the usual authorities vouch"""
    seed: bytes
    """of this device's Ed25519 key [32]"""
    group: str = ""
    group_id: str = ""
    """"" until the server has answered"""
    server_key: bytes = b""
    """[32]"""
    joined: int = 0
    """seconds since 1970"""
    agreed: str = ""
    """digest of the Terms that the user agreed to (app.federation.consent), "" before"""
    background: Literal["unasked", "yes", "no"] = "unasked"
    """whether the user agreed to syncing without being asked each time"""

    def __repr__(self) -> str:
        """Without the key: a repr ends up in logs."""
        return f"Membership({self.group!r} at {self.address})"

    @property
    def identity(self) -> Identity:
        return Identity(self.seed)

    @property
    def device(self) -> str:
        """This device's pseudonym."""
        return pseudonym(self.identity.public)

    def enrolled(self, answer: Enrolled, *, now: int) -> Membership:
        """The membership once the server has taken this device in."""
        return msgspec.structs.replace(
            self, group=answer.group, group_id=answer.group_id, server_key=answer.server_key, joined=now
        )


def applicant(invite: Invite) -> Membership:
    """A membership that is yet to be asked for, with a fresh key."""
    return Membership(
        address=invite.address.rstrip("/"), fingerprint=invite.fingerprint, certificate=invite.certificate,
        seed=Identity.generate().seed,
    )  # fmt: skip


def load(store: Store) -> Membership | None:
    """The membership of this device, None when it belongs to no group."""
    found = store.rows("SELECT record FROM membership")
    if not found:
        return None
    try:
        return msgspec.msgpack.decode(found[0][0], type=Membership)
    except msgspec.MsgspecError as error:
        raise FederationError(f"the membership in {store.path} is damaged: {error}; leave --local ends it") from error


def member(store: Store) -> Membership:
    """The membership of a device that belongs to a group; FederationError when it does not."""
    found = load(store)
    if found is None or not found.group_id:
        raise FederationError("this device belongs to no group; `foltr-search join LINK` joins one")
    return found


def save(store: Store, membership: Membership) -> None:
    """Keep it, durably; the device has one at most."""
    with store.transaction() as db:
        db.execute("INSERT OR REPLACE INTO membership VALUES (1, ?)", (msgspec.msgpack.encode(membership),))


def erase(store: Store) -> None:
    """Forget the group and the key; what was spent on it stays in the privacy ledger."""
    store.erase("membership", "uploads", "group_ranker")
    store.set_value("federation standing", None, durable=True)
