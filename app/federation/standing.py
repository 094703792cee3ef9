"""What this device has last seen of its group: a server can neither go back in time nor change the rules unnoticed."""

from __future__ import annotations

import msgspec

from app.federation.failures import FederationError
from app.store import Store
from foltr.federated.wire import Announcement, Terms, decode, encode

KEY = "federation standing"


class Standing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The newest round seen, and how the last sync went."""

    lineage: int = 0
    round: int = 0
    terms: bytes = b""
    """the JSON of the lineage's Terms"""
    deadline: int = 0
    tested: str = ""
    """hash of the newest common ranker that was tested for adoption"""
    verdict: str = ""
    """what that test found, in a sentence"""
    synced: int = 0
    """seconds since 1970 of the last sync that reached the server"""
    error: str = ""
    """why the last sync failed, "" when it did not"""

    @property
    def agreed_terms(self) -> Terms | None:
        """The terms of the group as last announced."""
        return decode(self.terms, Terms) if self.terms else None

    def seen(self, told: Announcement) -> Standing:
        """The standing once this announcement was believed."""
        return msgspec.structs.replace(
            self, lineage=told.lineage, round=told.round, terms=encode(told.terms), deadline=told.deadline
        )


def load(store: Store) -> Standing:
    """As it is kept; a fresh one for a device that has not synced yet."""
    stored = store.value(KEY)
    if stored is None:
        return Standing()
    try:
        return msgspec.msgpack.decode(stored, type=Standing)
    except msgspec.MsgspecError as error:
        raise FederationError(f"what {store.path} holds about the group is damaged: {error}") from error


def save(store: Store, standing: Standing) -> None:
    """Keep it, durably: a server must not be able to take a device back after a power cut."""
    store.set_value(KEY, msgspec.msgpack.encode(standing), durable=True)


def note(store: Store, **changes: object) -> Standing:
    """Change some of it."""
    with store.transaction():
        changed = msgspec.structs.replace(load(store), **changes)
        save(store, changed)
    return changed
