"""Who is in a group, as its members can check it: a chain of entries, each key vouched for by the member who invited.

    head_i = BLAKE2b(head_{i-1}, number, kind, whom it is about, vouched, hash of the body)

A server that could put keys of its own among the members would read everybody else's update off the sum. So it cannot
name members: who joins proves to hold the secret of an invite whose public half a member has signed, and whoever
verifies the chain counts only those. The first to join is the founder and needs nobody; who joins by the
administrator's invite waits until a member vouches. An entry `leave` carries a signature of the one who leaves, or of
another member: the server cannot shrink a group either. A device keeps the head that it has verified (it "pins" it) and
takes only entries that continue it; a newcomer is told in its invite where the inviter stood.

Of someone who asks to be forgotten the bodies are erased, and the chain holds by their hashes. Bodies must stay where
others rest on them: that of a member who vouched for someone (`erasable` says which may go). `leave` entries stay
whole: they hold a number and a signature that nobody can check any more once the key is gone. That an erased member
had really left is then proved to a newcomer by the inviter's word alone (`InviteVoucher.members`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from foltr.errors import RecordError
from foltr.federated.envelope import KEY_BYTES, Identity, SignatureError, pseudonym, verify
from foltr.federated.sealed.boxes import box_point
from foltr.federated.sealed.points import PointError
from foltr.federated.wire import Enrolment, InviteVoucher, RosterBody, RosterEntry, digest

INVITE, JOIN, VOUCH, LEAVE = b"foltr invite 1", b"foltr join 1", b"foltr vouch 1", b"foltr leave 1"


class RosterError(RecordError):
    """An entry does not continue the chain, or a signature in it does not fit."""


class RosterMember(msgspec.Struct, frozen=True):
    number: int
    """of the entry by which it joined"""
    device_key: bytes
    """Ed25519 [32]"""
    box_key: bytes
    """X25519 [32]"""
    vouched: bool
    voucher: int
    """number of the entry by which its voucher joined, -1 for nobody (the founder, and who waits)"""

    @property
    def device(self) -> str:
        return pseudonym(self.device_key)


class Roster(msgspec.Struct, frozen=True):
    """What a verified chain says; immutable, `extend_roster` gives the next. Begin with `empty_roster`."""

    group_id: str
    number: int
    """entries so far"""
    head: str
    members: dict[int, RosterMember] = msgspec.field(default_factory=dict)
    """who is in the group, by the number of the entry by which it joined"""
    erased: dict[int, bool] = msgspec.field(default_factory=dict)
    """whether vouched for, by number: members whose entry was erased and whose leaving must still follow"""
    invite_keys: set[bytes] = msgspec.field(default_factory=set)
    """that were used"""
    device_keys: set[bytes] = msgspec.field(default_factory=set)
    """of the members"""

    @property
    def vouched(self) -> tuple[RosterMember, ...]:
        """Who may take part in a sealed round, by key."""
        return tuple(sorted((m for m in self.members.values() if m.vouched), key=lambda m: m.device_key))

    def of_device(self, device: str) -> RosterMember | None:
        """The member of this pseudonym, if it is in the group."""
        return next((member for member in self.members.values() if member.device == device), None)


def empty_roster(group_id: str) -> Roster:
    """Before the first entry."""
    return Roster(group_id, 0, hashlib.blake2b(f"roster of {group_id}".encode(), digest_size=32).hexdigest())


def entry_hash(entry: RosterEntry) -> str:
    """What the next entry names as `previous`: the same whether the body is there or erased."""
    return digest(erase_person(entry))


def extend_roster(roster: Roster, entries: Iterable[RosterEntry]) -> Roster:
    """The roster with these entries behind it; RosterError names the first that does not hold."""
    roster = _copy(roster)
    for entry in entries:
        if entry.number < roster.number:
            continue  # already verified, and the chain of hashes does not let it have changed
        if entry.number != roster.number or entry.previous != roster.head:
            raise RosterError(f"entry {entry.number} of the roster does not continue the chain at {roster.number}")
        if entry.body is not None and digest(entry.body) != entry.body_hash:
            raise RosterError(f"entry {entry.number} of the roster was altered")
        after = _STEPS[entry.kind](roster, entry)
        _check_signatures(roster, entry)
        roster = _put(roster, entry, after)
    return roster


def stored_roster(group_id: str, entries: Iterable[RosterEntry]) -> Roster:
    """The roster of entries that were verified when they were stored: without checking signatures again."""
    roster = empty_roster(group_id)
    for entry in entries:
        roster = _put(roster, entry, _STEPS[entry.kind](roster, entry))
    return roster


def check_settled(roster: Roster) -> None:
    """RosterError where an erased member never left: its entry must not be missing."""
    if roster.erased:
        raise RosterError(f"entry {min(roster.erased)} of the roster was erased, though this member never left")


def members_hash(roster: Roster) -> str:
    """Hash of the group's members: number, keys and whether vouched for."""
    rows = sorted((m.number, m.device_key.hex(), m.box_key.hex(), m.vouched) for m in roster.members.values())
    return hashlib.blake2b(repr(rows).encode(), digest_size=32).hexdigest()


def check_inviter(stood: Roster | None, voucher: InviteVoucher) -> None:
    """RosterError unless this state, as a newcomer verified it, is the one in which the inviter stood.

    It is the state after `voucher.roster_number` entries, None where there are fewer.
    """
    if stood is None or (stood.head, members_hash(stood)) != (voucher.roster_head, voucher.members):
        raise RosterError("the server shows another group than the member who invited is in")
    if not any(m.device_key == voucher.device_key for m in stood.vouched):
        raise RosterError("the member who invited is not in the group that the server shows")


def invite_identity(token: str) -> Identity:
    """The key pair of an invite, from its secret."""
    return Identity(hashlib.blake2b(token.encode(), digest_size=32, person=b"foltr-invite").digest())


def invite_text(group_id: str, invite_key: bytes) -> bytes:
    """What the inviter signs for purpose INVITE."""
    return f"{group_id}\n{invite_key.hex()}".encode()


def join_text(group_id: str, device_key: bytes, box_key: bytes, invite_key: bytes) -> bytes:
    """What a newcomer signs twice for purpose JOIN: by the invite's key and by its own."""
    return f"{group_id}\n{device_key.hex()}\n{box_key.hex()}\n{invite_key.hex()}".encode()


def vouch_text(group_id: str, member: RosterMember) -> bytes:
    """What a member signs for purpose VOUCH."""
    return f"{group_id}\n{member.number}\n{member.device_key.hex()}\n{member.box_key.hex()}".encode()


def leave_text(group_id: str, number: int) -> bytes:
    """What a member signs for purpose LEAVE: about itself or about another who is no longer there."""
    return f"{group_id}\n{number}".encode()


def enrolment(group_id: str, token: str, device: Identity, box_key: bytes) -> Enrolment:
    """The request of a device that joins with an invite's secret."""
    invite = invite_identity(token)
    text = join_text(group_id, device.public, box_key, invite.public)
    return Enrolment(
        group_id=group_id,
        device_key=device.public,
        box_key=box_key,
        invite_key=invite.public,
        proof=invite.sign(JOIN, text),
        own_proof=device.sign(JOIN, text),
    )


def check_enrolment(asked: Enrolment | RosterBody, group_id: str) -> None:
    """RosterError unless who enrols holds the invite's secret and the device's key, and boxes can be sealed to it."""
    if any(len(key) != KEY_BYTES for key in (asked.device_key, asked.box_key, asked.invite_key)):
        raise RosterError(f"a key has {KEY_BYTES} bytes")
    try:
        box_point(asked.box_key)
    except PointError as error:
        raise RosterError(str(error)) from error
    text = join_text(group_id, asked.device_key, asked.box_key, asked.invite_key)
    _check(asked.invite_key, JOIN, text, asked.proof, "the invite's proof does not fit")
    _check(asked.device_key, JOIN, text, asked.own_proof, "the device's proof does not fit")


def join_entry(roster: Roster, asked: Enrolment, *, voucher: int = -1, signature: bytes = b"") -> RosterEntry:
    """The entry by which a device joins; `signature` is the voucher's over the invite, ignored once it has left."""
    inviter = roster.members.get(voucher)
    if inviter is None or not inviter.vouched:
        voucher, signature = -1, b""
    body = RosterBody(
        device_key=asked.device_key,
        box_key=asked.box_key,
        invite_key=asked.invite_key,
        proof=asked.proof,
        own_proof=asked.own_proof,
        voucher=voucher,
        signature=signature,
    )
    return _entry(roster, "join", roster.number, vouched=voucher >= 0 or _is_founder(roster), body=body)


def vouch_entry(roster: Roster, about: int, voucher: int, signature: bytes) -> RosterEntry:
    """The entry by which a member vouches for one who waits."""
    return _entry(roster, "vouch", about, vouched=True, body=RosterBody(voucher=voucher, signature=signature))


def leave_entry(roster: Roster, about: int, signer: int, signature: bytes) -> RosterEntry:
    """The entry by which a member leaves, or is taken off by another."""
    return _entry(roster, "leave", about, vouched=False, body=RosterBody(voucher=signer, signature=signature))


def erasable(entries: Sequence[RosterEntry], *, before: int | None = None) -> frozenset[int]:
    """Numbers of entries whose bodies nobody needs: joins of members that left, and vouches for them.

    The join of a member who signed for someone whose entry stays is needed, whether or not it has left. With `before`
    only those count as gone whose leaving is one of the first so many entries: a round may still go by these.
    """
    gone = {entry.about for entry in entries[:before] if entry.kind == "leave"}
    needed: set[int] = set()
    for entry in reversed(entries):  # who rests on a body is seen before it
        if entry.body is None:
            continue
        if entry.kind == "leave":
            needed |= {entry.body.voucher} - {entry.about}
        elif entry.about not in gone or entry.about in needed:
            needed |= {entry.about, entry.body.voucher}
    return frozenset(e.number for e in entries if e.body is not None and e.kind != "leave" and e.about in gone - needed)


def erase_person(entry: RosterEntry) -> RosterEntry:
    """The entry without its body: the chain holds, the person is gone."""
    return msgspec.structs.replace(entry, body=None)


def _entry(roster: Roster, kind: str, about: int, *, vouched: bool, body: RosterBody) -> RosterEntry:
    return RosterEntry(
        number=roster.number,
        previous=roster.head,
        kind=kind,  # type: ignore[arg-type]
        about=about,
        vouched=vouched,
        body_hash=digest(body),
        body=body,
    )


def _is_founder(roster: Roster) -> bool:
    """Whether nobody is there who could vouch."""
    return not any(member.vouched for member in roster.members.values()) and not any(roster.erased.values())


def _copy(roster: Roster) -> Roster:
    """One that `_put` may change: once for many entries, or they would take the square of their number."""
    held = {name: getattr(roster, name).copy() for name in ("members", "erased", "invite_keys", "device_keys")}
    return msgspec.structs.replace(roster, **held)


_Subject = RosterMember | bool | None
"""what an entry makes of whom it is about: a member; erased, whether vouched for; or gone"""


def _put(roster: Roster, entry: RosterEntry, after: _Subject) -> Roster:
    """The roster with one more entry, of which a step gave this; what it holds is changed in place."""
    before = roster.members.pop(entry.about, None)
    roster.erased.pop(entry.about, None)
    if before is not None:
        roster.device_keys.remove(before.device_key)
    if isinstance(after, RosterMember):
        roster.members[entry.about] = after
        roster.device_keys.add(after.device_key)
    elif after is not None:
        roster.erased[entry.about] = after
    if entry.kind == "join" and entry.body is not None:
        roster.invite_keys.add(entry.body.invite_key)
    return msgspec.structs.replace(roster, number=entry.number + 1, head=entry_hash(entry))


def _join(roster: Roster, entry: RosterEntry) -> _Subject:
    body = entry.body
    if entry.about != entry.number:
        raise RosterError(f"entry {entry.number} of the roster joins another")
    if body is None:
        return entry.vouched
    if body.invite_key in roster.invite_keys:
        raise RosterError(f"entry {entry.number} of the roster uses an invite for the second time")
    if body.device_key in roster.device_keys:
        raise RosterError(f"entry {entry.number} of the roster repeats a member's key")
    if entry.vouched != (body.voucher >= 0 or _is_founder(roster)):
        raise RosterError(f"entry {entry.number} of the roster is wrong about who vouched")
    return RosterMember(entry.number, body.device_key, body.box_key, entry.vouched, body.voucher)


def _vouch(roster: Roster, entry: RosterEntry) -> _Subject:
    if entry.body is None and entry.about in roster.erased:
        return True
    member = roster.members.get(entry.about)
    if member is None or member.vouched or entry.body is None or not entry.vouched:
        raise RosterError(f"entry {entry.number} of the roster vouches for nobody")
    return msgspec.structs.replace(member, vouched=True, voucher=entry.body.voucher)


def _leave(roster: Roster, entry: RosterEntry) -> _Subject:
    if entry.about not in roster.erased and (entry.about not in roster.members or entry.body is None or entry.vouched):
        raise RosterError(f"entry {entry.number} of the roster takes off nobody")
    return None


_STEPS = {"join": _join, "vouch": _vouch, "leave": _leave}


def _check_signatures(before: Roster, entry: RosterEntry) -> None:
    """RosterError unless those signed who had to; of an erased member nothing is left to check."""
    body, group_id = entry.body, before.group_id
    if body is None or entry.about in before.erased:
        return
    if entry.kind == "join":
        check_enrolment(body, group_id)
        if body.voucher >= 0:
            key = _signer(before, entry, body.voucher)
            _check(key, INVITE, invite_text(group_id, body.invite_key), body.signature, "nobody vouched for it")
        return
    member = before.members[entry.about]
    if entry.kind == "vouch":
        key = _signer(before, entry, body.voucher)
        _check(key, VOUCH, vouch_text(group_id, member), body.signature, "nobody vouched for it")
        return
    key = member.device_key if body.voucher == entry.about else _signer(before, entry, body.voucher)
    _check(key, LEAVE, leave_text(group_id, entry.about), body.signature, "nobody signed that this member left")


def _signer(roster: Roster, entry: RosterEntry, number: int) -> bytes:
    """The key of the vouched member that joined by this entry."""
    signer = roster.members.get(number)
    if signer is None or not signer.vouched:
        raise RosterError(f"entry {entry.number} of the roster is signed by nobody who is vouched for")
    return signer.device_key


def _check(key: bytes, purpose: bytes, text: bytes, signature: bytes, otherwise: str) -> None:
    try:
        verify(key, purpose, text, signature)
    except SignatureError as error:
        raise RosterError(otherwise) from error
