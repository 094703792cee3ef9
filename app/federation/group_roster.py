"""The group's members as this device has verified them: the roster's entries that it has seen and keeps.

The kept entries are the pin: only entries that continue them are accepted, and a server that shows fewer or others is
not believed. Each entry was verified before it was stored, so reading them again checks no signatures
(foltr.federated.sealed.roster). A newcomer compares what it is shown with the roster that its inviter saw.

A server that was restored from a backup knows fewer of the same entries. They are handed back to it, with the page by
which it signed once that they are its own; so it also learns again of a member who enrolled after that backup. Of
members who have left, only hashes are handed back.

A member brings in others: by an invite that carries its word, or by vouching for one whom the operator let in. The
secret of an invite is made here and is only in the link: the server gets its public half, signed by this device, so
that it cannot let in somebody else instead.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from app.federation import answering_device, membership
from app.federation.failures import Declined, Distrusted, FederationError
from app.federation.membership import Membership
from app.federation.server import Correspondence, Reach
from app.store import Store
from foltr.errors import RecordError
from foltr.federated.envelope import Identity, box_public
from foltr.federated.sealed import roster as chain
from foltr.federated.sealed.committee import LEAST_MEMBERS
from foltr.federated.sealed.roster import Roster, RosterMember
from foltr.federated.wire import Invite, InviteVoucher, RosterEntry, RosterPage, Signed, decode, encode

T = TypeVar("T")
LARGEST_ROSTER = 50_000
"""entries: each takes about a millisecond to verify, and a false server could go on for ever"""


def entries(store: Store) -> tuple[RosterEntry, ...]:
    """The verified entries, in order."""
    rows = store.rows("SELECT record FROM roster ORDER BY number")
    try:
        return tuple(decode(record, RosterEntry) for (record,) in rows)
    except RecordError as error:
        raise FederationError(f"the group's roster in {store.path} is damaged: {error}") from error


def known(store: Store, group_id: str, number: int | None = None) -> Roster:
    """The roster as verified, or as it was after its first `number` entries."""
    try:
        return chain.stored_roster(group_id, entries(store)[:number])
    except RecordError as error:
        raise FederationError(f"the group's roster in {store.path} is damaged: {error}") from error


def follow(store: Store, server: Correspondence, *, voucher: InviteVoucher | None = None) -> Roster:
    """The present roster: new entries are fetched, verified and kept; Distrusted if they do not continue what was seen.

    With `voucher`, as at joining, it must be the chain in which the inviter stood. A server gets lost entries back.
    """
    found, until = known(store, server.member.group_id), voucher.roster_number if voucher is not None else 0
    stood = known(store, found.group_id, until) if until <= found.number else None
    while True:
        begins = found.number
        signed, page = asked(store, server, partial(server.roster, begins))
        if page.number < begins:
            signed, page = _returned(store, server, page)
        if page.number > LARGEST_ROSTER:
            raise Distrusted(f"the server's roster has {page.number:,} entries, at most {LARGEST_ROSTER:,} are read")
        try:
            found = chain.extend_roster(found, (entry for entry in page.entries if entry.number < until))
            stood = found if found.number == until else stood
            found = chain.extend_roster(found, page.entries)
        except RecordError as error:
            raise Distrusted(f"the server's roster does not hold: {error}") from error
        if page.number < begins or found.number == begins < page.number:
            raise Distrusted(
                f"the server's roster went back: {page.number} entries after {begins}; ask its operator whether "
                "an older backup was restored: if so, `foltr-search leave --local`, and join by a new invite"
            )
        _keep(store, page.entries, signed if (found.number, found.head) == (page.number, page.head) else None)
        if found.number >= page.number:
            break
    _check_end(found, stood, page.head, voucher)
    return found


def hand_back(store: Store, server: Correspondence, *, after: int = 0) -> tuple[Signed, RosterPage] | None:
    """Give the server the verified entries from this number on; returns its roster from there, None without proof."""
    stored = store.value(membership.ROSTER_SEEN)
    if stored is None:
        return None
    held = entries(store)
    gone = chain.erasable(held)
    returned = tuple(chain.erase_person(entry) if entry.number in gone else entry for entry in held[after:])
    return server.hand_back(decode(stored, Signed), returned)


def asked(store: Store, server: Correspondence, ask: Callable[[], T]) -> T:
    """The server's answer; a server that no longer knows this device, as after a restore, first takes it back.

    The roster's entries prove the membership.
    """
    try:
        return ask()
    except Declined as refusal:
        if refusal.reason != "unknown-device":
            raise
        try:
            if hand_back(store, server) is None:
                raise
        except Declined as again:
            if again.reason != "wrong-roster":
                raise
            raise FederationError(
                "the server does not know this device, and has gone on with other members than it had: "
                "`foltr-search leave --local`, then join by a new invite"
            ) from again
    return ask()


def _returned(store: Store, server: Correspondence, page: RosterPage) -> tuple[Signed, RosterPage]:
    """The server's roster after it got back the entries it lacks; Distrusted when it shows another chain."""
    pinned = known(store, server.member.group_id, page.number)
    if pinned.head != page.head:
        raise Distrusted(f"the server's roster is another than this device has verified, before entry {page.number}")
    answer = hand_back(store, server, after=page.number)
    if answer is None:
        raise Distrusted(f"the server's roster went back to {page.number} entries")
    return answer


def at_opening(store: Store, now: Roster, number: int, head: str) -> Roster:
    """The roster of a round that opened when it had `number` entries; Distrusted when its head is another."""
    found = now if now.number == number else known(store, now.group_id, number)
    if (found.number, found.head) != (number, head):
        raise Distrusted("the round was opened for another roster than this device has verified")
    return found


class Company(Struct, frozen=True):
    """Who takes part in a sealed group, as one member sees it."""

    n_members: int = 0
    """members that are vouched for"""
    n_new: int = 0
    """those of them whom the user has neither agreed to nor brought in"""
    n_by_one: int = 0
    """the most that one other member has brought in"""
    n_agreed: int = 0
    """members there were when the user agreed, of whom some may have left"""

    @property
    def limit(self) -> int:
        """Members beyond which the user is asked again: half as many again as are known, or as the smallest group has
        if the user agreed to fewer.

        That bounds how far n_honest, and with its root this device's noise, may change unasked, and how many strangers
        may take the places of those who left.
        """
        least = LEAST_MEMBERS if self.n_agreed < LEAST_MEMBERS else 0
        return max(self.n_members - self.n_new, least) * 3 // 2

    @property
    def agreed_to(self) -> Company:
        """The same once the user has agreed to it."""
        return replace(self, n_new=0, n_agreed=self.n_members)

    @property
    def has_changed(self) -> bool:
        """Whether the user must be asked before anything more is sent: too many came, or more than a third has left."""
        return self.n_members > self.limit or 3 * self.n_members < 2 * self.n_agreed


def company(store: Store, member: Membership) -> Company:
    """The company on the verified roster, given what the user has agreed to."""
    roster, then = known(store, member.group_id), known(store, member.group_id, member.agreed_roster)
    me = roster.of_device(member.device)
    mine = me.number if me is not None else -1
    others = Counter(one.voucher for one in roster.vouched if one.voucher not in (-1, mine))
    new = [
        one for one in roster.vouched if one.number >= member.agreed_roster and mine not in (one.number, one.voucher)
    ]
    return Company(len(roster.vouched), len(new), max(others.values(), default=0), len(then.vouched))


def print_of(device_key: bytes, box_key: bytes) -> str:
    """A fingerprint of a member's two keys for people to compare, in groups of four digits."""
    digits = hashlib.blake2b(device_key + box_key, digest_size=16, person=b"foltr-compare").hexdigest()
    return " ".join(digits[at : at + 4] for at in range(0, len(digits), 4))


def own_print(member: Membership) -> str:
    """The fingerprint of this device's keys."""
    return print_of(Identity(member.seed).public, box_public(member.box_key))


def chosen(roster: Roster, prefix: str) -> RosterMember:
    """The member whose pseudonym begins with `prefix`; FederationError unless there is exactly one."""
    found = [one for one in roster.members.values() if prefix and one.device.startswith(prefix.lower())]
    if len(found) != 1:
        raise FederationError(f"{len(found)} members have a pseudonym that begins with {prefix!r}, wanted one")
    return found[0]


def _keep(store: Store, fresh: Sequence[RosterEntry], signed: Signed | None) -> None:
    """Store the verified entries, and the signed page that ends with them; whatever stands before the first is none."""
    with store.transaction() as db:
        rows = [(entry.number, encode(entry)) for entry in fresh if entry.number >= 0]
        db.executemany("INSERT OR IGNORE INTO roster VALUES (?, ?)", rows)
        if signed is not None and store.value(membership.ROSTER_SEEN) != encode(signed):
            store.set_value(membership.ROSTER_SEEN, encode(signed))


def _check_end(found: Roster, stood: Roster | None, head: str, voucher: InviteVoucher | None) -> None:
    if found.head != head:
        raise Distrusted("the server's roster ends otherwise than this device has verified")
    try:
        chain.check_settled(found)
        if voucher is not None:
            chain.check_inviter(stood, voucher)
    except RecordError as error:
        raise Distrusted(str(error)) from error


TOKEN_BYTES = 24


class Invitation(Struct, frozen=True):
    """An invite for one person, and until when it is good."""

    invite: Invite
    expires: int
    """seconds since 1970"""


def invite(store: Store, reach: Reach) -> Invitation:
    """An invite by which this device vouches for the one person who redeems it."""
    member, token = answering_device.speaker(store), secrets.token_urlsafe(TOKEN_BYTES)
    with reach.talk(member) as server:
        roster = follow(store, server)
        me = roster.of_device(member.device)
        if me is None or not me.vouched:
            raise FederationError("nobody has vouched for this device yet, so it cannot invite anybody")
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


def of_now(store: Store, reach: Reach) -> Roster:
    """The roster as the server has it, verified."""
    with reach.talk(answering_device.speaker(store)) as server:
        return follow(store, server)


def unvouched(roster: Roster) -> tuple[RosterMember, ...]:
    """Members for whom nobody has vouched yet, in the order in which they joined."""
    return tuple(one for _, one in sorted(roster.members.items()) if not one.vouched)


def waiting_for(roster: Roster, device: str) -> list[str]:
    """Pseudonyms of those for whom this member can vouch, as the roster stands."""
    me = roster.of_device(device)
    return [one.device for one in unvouched(roster)] if me is not None and me.vouched else []


def asks(waiting: Sequence[str]) -> str:
    """What a member types for those who wait, in one line; "" where nobody does."""
    if not waiting:
        return ""
    if len(waiting) == 1:
        return f"1 member waits to be vouched for: if you know who it is, `foltr-search vouch {waiting[0][:8]}`"
    return f"{len(waiting):,} members wait to be vouched for: `foltr-search vouch` lists them"


def vouch(store: Store, reach: Reach, device: str, *, gone: bool = False, was: str = "") -> RosterMember:
    """Sign for the member whose pseudonym begins so; with `gone`, that it is no longer there. Returns the member.

    `was` begins the pseudonym of the same person's former membership, which ends with this.
    """
    with reach.talk(answering_device.speaker(store)) as server:
        roster = follow(store, server)
        found, former = chosen(roster, device), chosen(roster, was) if was else None
        if found.vouched and not gone and former is None:
            raise FederationError(f"{found.device} is vouched for already")
        if gone or not found.vouched:
            server.vouch(found, leaves=gone)
        if former is not None:
            server.vouch(former, leaves=True, heir=found.number)
        follow(store, server)
    return found
