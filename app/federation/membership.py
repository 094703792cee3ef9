"""The one group that this device belongs to, what it has last seen of it, and what servers signed when it left one.

The device's key is made here for this group only, so two servers cannot tell that they see the same device. It is kept
in state.sqlite, which only its owner can read. The standing is kept so that a server can neither go back in time nor
change the rules unnoticed. Receipts are kept as proof, and to ask how far the forgetting has come.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from app.federation.failures import FederationError
from app.store import Store, decode_record
from console.printable import safe_line
from console.wording import rows_in_words
from foltr.federated.envelope import Identity, new_box_key, pseudonym
from foltr.federated.wire import Announcement, Invite, Receipt, Signed, Terms, decode, encode
from foltr.privacy.noise import NOISE_KEY_BYTES


class Membership(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the server is, who it must be, and who this device is to it."""

    address: str
    fingerprint: str
    """of the server's identity key, from the invite"""
    certificate: str
    """SHA-256 of the public key of its self-signed certificate, "" when the usual authorities vouch"""
    seed: bytes
    """of this device's Ed25519 key [32]"""
    box_key: bytes = b""
    """private half [32] of its X25519 key, to which others' shares are sealed"""
    noise_key: bytes = b""
    """[32] secret key of the noise in this device's updates (foltr.privacy.noise.keyed_generator)"""
    group: str = ""
    group_id: str = ""
    """"" until the server has answered"""
    server_key: bytes = b""
    """[32]"""
    joined: int = 0
    """seconds since 1970"""
    agreed: str = ""
    """digest of the Terms that the user agreed to (app.federation.consent), "" before"""
    agreed_roster: int = 0
    """entries of the roster when the user last agreed to who is in a sealed group"""
    serial: int = 0
    """serial number of the newest server move that this device followed"""
    moved: bytes = b""
    """the JSON of a Signed ServerMove that is not followed yet, b"" for none"""
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


def applicant(invite: Invite) -> Membership:
    """A membership that is yet to be asked for, with fresh keys."""
    return Membership(
        address=invite.address.rstrip("/"), fingerprint=invite.fingerprint, certificate=invite.certificate,
        seed=Identity.generate().seed, box_key=new_box_key(), noise_key=os.urandom(NOISE_KEY_BYTES),
    )  # fmt: skip


def load(store: Store) -> Membership | None:
    """The membership of this device, None when it belongs to no group."""
    found = store.rows("SELECT record FROM membership")
    what = f"the membership in {store.path}"
    return decode_record(found[0][0], Membership, FederationError, what, "; leave --local ends it") if found else None


def member(store: Store) -> Membership:
    """The membership of a device that belongs to a group; FederationError when it does not."""
    found = load(store)
    if found is None or not found.group_id:
        raise FederationError("this device belongs to no group; `foltr-search join LINK` joins one")
    return found


def save(store: Store, membership: Membership) -> None:
    """Store it, durably; a device has at most one."""
    with store.transaction() as db:
        db.execute("INSERT OR REPLACE INTO membership VALUES (1, ?)", (msgspec.msgpack.encode(membership),))


LONGEST_NAME = 80
"""characters: `foltr-server` takes no longer name, and another server's would fill the screen"""


def shown_name(name: str) -> str:
    """A group's name, as its server sent it, in one line."""
    return safe_line(name)[:LONGEST_NAME]


def rename(store: Store, name: str) -> str:
    """Take over the name that the group's server announces; what to tell the user, "" where it is the known one."""
    name = shown_name(name)
    with store.transaction():
        present = member(store)
        if not name or present.group == name:
            return ""
        save(store, msgspec.structs.replace(present, group=name))
    return f"the group {present.group} is now called {name}"


ENDED = "federation ended"


def ended(store: Store) -> tuple[str, ...]:
    """Pseudonyms of this person's memberships that have ended, on whichever device."""
    return tuple((store.value(ENDED) or b"").decode().split())


def note_ended(store: Store, members: Iterable[str]) -> None:
    """Never be these members again, whatever another device or an older state says."""
    store.set_value(ENDED, " ".join(sorted({*ended(store), *members})).encode(), durable=True)


def erase(store: Store, *, is_over: bool = True) -> None:
    """Forget the group and the key; what was spent on it stays in the privacy ledger.

    `is_over` is False where this person's other devices go on as the member.
    """
    with suppress(FederationError):  # a damaged record names no member
        if is_over and (present := load(store)) is not None:
            note_ended(store, [present.device])
    store.erase("membership", "uploads", "group_ranker", "roster", "round_lists")
    for name in (STANDING_KEY, ROSTER_SEEN, RANKER_SEEN, UNLISTED):
        store.set_value(name, None, durable=True)


class KeptReceipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A signed receipt, and where to ask for its successor."""

    address: str
    fingerprint: str
    certificate: str
    server_key: bytes
    group: str
    group_id: str
    signed: bytes
    """the JSON of the Signed record"""
    device: str = ""
    """the pseudonym that the receipt is for"""
    serial: int = 0
    """of the newest move of the server that was followed"""
    size: int = 0
    """entries of the server's journal when it was looked at last"""
    head: str = ""
    """its hash then"""

    @property
    def receipt(self) -> Receipt:
        """What it says; its signature was checked when it came."""
        return decode(decode(self.signed, Signed).body, Receipt)


def keep(member: Membership, signed: Signed) -> KeptReceipt:
    """A receipt of a group that this device is leaving."""
    return KeptReceipt(
        address=member.address, fingerprint=member.fingerprint, certificate=member.certificate,
        server_key=member.server_key, group=member.group, group_id=member.group_id, signed=encode(signed),
        device=member.device, serial=member.serial,
    )  # fmt: skip


def all_receipts(store: Store) -> Sequence[KeptReceipt]:
    """Oldest first."""
    rows = store.rows("SELECT record FROM receipts ORDER BY id")
    return [decode_record(row, KeptReceipt, FederationError, f"a receipt in {store.path}") for (row,) in rows]


def save_receipt(store: Store, receipt: KeptReceipt) -> None:
    """Store it, in place of an older one for the same request."""
    request = receipt.receipt.request
    with store.transaction() as db:
        if request:
            db.execute("DELETE FROM receipts WHERE request = ?", (request,))
        db.execute("INSERT INTO receipts (request, record) VALUES (?, ?)", (request, msgspec.msgpack.encode(receipt)))


def not_reached(store: Store) -> dict[str, str]:
    """Pseudonyms that no server was asked to forget while their key was here, and how each can be forgotten."""
    asked = {one.device for one in all_receipts(store) if one.receipt.request}
    return {
        device: f"what you sent as {device} may still be there; its key is gone, and only the server can forget it, by "
        f"its operator: `foltr-server forget {device}`"
        for device in ended(store)
        if device not in asked
    }


def receipt_in_words(receipt: Receipt) -> str:
    """What the server says it did, in one line."""
    if receipt.state == "waiting":
        return safe_line(f"waiting: {receipt.progress}")
    state = {"erased": "rows erased", "unlearning": "unlearning", "done": "done"}[receipt.state]
    how = "" if receipt.method == "none" else f"; method {receipt.method}" + (" (approximate)" * receipt.approximate)
    said = f"{state}: erased {rows_in_words(receipt.erased)}{how}" + f"; {receipt.progress}" * (receipt.state != "done")
    return safe_line(said)


STANDING_KEY = "federation standing"
ROSTER_SEEN = "federation roster seen"
"""the JSON of the Signed page at whose end the verified roster stands"""
RANKER_SEEN = "federation ranker seen"
"""the JSON of the newest Signed ranker of the lineage that this device follows"""


UNLISTED = "federation unlisted"
"""the last consecutive sealed rounds of this lineage that this device answered without being shown a list"""


class Standing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The newest round seen, and how the last sync went."""

    lineage: int = 0
    round: int = 0
    terms: bytes = b""
    """the JSON of the lineage's Terms"""
    deadline: int = 0
    phase: Literal["collect", "sum", "rest"] = "collect"
    opens: int = 0
    """when a resting group opens its next round, in seconds since 1970"""
    tested: str = ""
    """hash of the newest common ranker that was tested for adoption"""
    verdict: str = ""
    """what that test found, in a sentence"""
    synced: int = 0
    """seconds since 1970 of the last sync that reached the server"""
    roster_known: int = 0
    """entries of the roster while this round was open, or the group rested before it"""
    roster_least: int = 0
    """`roster_known` before this round, which opened later and so must not use an older roster"""
    followed: tuple[int, int, str] = (0, 0, "")
    """lineage, rounds and hash of the newest ranker of a sealed group whose chain was followed"""
    lost: str = ""
    """a sentence about the last sealed round of this lineage that was lost"""
    error: str = ""
    """why the last sync failed, "" when it did not"""

    @property
    def agreed_terms(self) -> Terms | None:
        """The terms of the group as last announced."""
        return decode(self.terms, Terms) if self.terms else None

    def seen(self, announced: Announcement) -> Standing:
        """The standing after this announcement, once it is believed."""
        opened = self.phase == "rest" and announced.phase != "rest"
        is_next = opened or (announced.lineage, announced.round) != (self.lineage, self.round)
        return msgspec.structs.replace(
            self, roster_least=self.roster_known if is_next else self.roster_least,
            lineage=announced.lineage, round=announced.round, terms=encode(announced.terms),
            deadline=announced.deadline, phase=announced.phase, opens=announced.opens,
        )  # fmt: skip


def load_standing(store: Store) -> Standing:
    """As it is kept; a fresh one for a device that has not synced yet."""
    stored = store.value(STANDING_KEY)
    what = f"what {store.path} holds about the group"
    return decode_record(stored, Standing, FederationError, what) if stored is not None else Standing()


def save_standing(store: Store, standing: Standing) -> None:
    """Keep it, durably: a server must not be able to take a device back after a power cut."""
    store.set_value(STANDING_KEY, msgspec.msgpack.encode(standing), durable=True)


def note_standing(store: Store, **changes: object) -> Standing:
    with store.transaction():
        changed = msgspec.structs.replace(load_standing(store), **changes)
        save_standing(store, changed)
    return changed
