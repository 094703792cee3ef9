"""What servers signed when this device left a group: kept as proof, and for asking how far the forgetting is."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.federation.failures import FederationError
from app.federation.membership import Membership
from app.store import Store
from foltr.federated.wire import Receipt, Signed, decode, encode


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A signed receipt, and where to ask for its successor."""

    address: str
    fingerprint: str
    certificate: str
    server_key: bytes
    group: str
    group_id: str
    signed: bytes
    """the JSON of the Signed record"""

    @property
    def receipt(self) -> Receipt:
        """What it says; its signature was checked when it came."""
        return decode(decode(self.signed, Signed).body, Receipt)


def kept(member: Membership, signed: Signed) -> Kept:
    """A receipt of a group that this device is leaving."""
    return Kept(
        address=member.address,
        fingerprint=member.fingerprint,
        certificate=member.certificate,
        server_key=member.server_key,
        group=member.group,
        group_id=member.group_id,
        signed=encode(signed),
    )


def all_kept(store: Store) -> Sequence[Kept]:
    """Oldest first."""
    try:
        return [
            msgspec.msgpack.decode(row, type=Kept) for (row,) in store.rows("SELECT record FROM receipts ORDER BY id")
        ]
    except msgspec.MsgspecError as error:
        raise FederationError(f"a receipt in {store.path} is damaged: {error}") from error


def save(store: Store, receipt: Kept) -> None:
    """Keep it in place of an older one for the same request."""
    request = receipt.receipt.request
    with store.transaction() as db:
        if request:
            db.execute("DELETE FROM receipts WHERE request = ?", (request,))
        db.execute("INSERT INTO receipts (request, record) VALUES (?, ?)", (request, msgspec.msgpack.encode(receipt)))


def in_words(receipt: Receipt) -> str:
    """What the server says it did, in one line."""
    erased = ", ".join(f"{n:,} of {table}" for table, n in receipt.erased.items()) or "nothing"
    state = {"erased": "rows erased", "unlearning": "unlearning", "done": "done"}[receipt.state]
    how = "" if receipt.method == "none" else f"; method {receipt.method}" + (" (approximate)" * receipt.approximate)
    return f"{state}: erased {erased}{how}; {receipt.progress}"
