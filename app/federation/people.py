"""Who is in the group, as this device has verified it: the roster's entries that it has seen, and keeps.

The kept entries are the pin: only what continues them is taken, and a server that shows fewer, or others, is not
believed. Each entry was verified before it was stored (foltr.federated.roster), so that reading them again needs no
signatures. A newcomer compares what it is shown with where its inviter stood.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from app.federation.failures import Distrusted, FederationError
from app.federation.membership import Membership
from app.federation.server import Correspondence
from app.store import Store
from foltr.errors import RecordError
from foltr.federated import roster as chain
from foltr.federated.envelope import Identity, box_public
from foltr.federated.roster import Roster, RosterMember
from foltr.federated.wire import InviteVoucher, RosterEntry, decode, encode


def entries(store: Store) -> tuple[RosterEntry, ...]:
    """Those that were verified, in order."""
    rows = store.rows("SELECT record FROM roster ORDER BY number")
    try:
        return tuple(decode(record, RosterEntry) for (record,) in rows)
    except RecordError as error:
        raise FederationError(f"the group's roster in {store.path} is damaged: {error}") from error


def known(store: Store, group_id: str, number: int | None = None) -> Roster:
    """The roster as verified, or as it was after its first `number` entries."""
    try:
        return chain.remembered(group_id, entries(store)[:number])
    except RecordError as error:
        raise FederationError(f"the group's roster in {store.path} is damaged: {error}") from error


def follow(store: Store, server: Correspondence, *, voucher: InviteVoucher | None = None) -> Roster:
    """The roster of now: what is new is fetched, verified and kept; Distrusted when it does not continue what was seen.

    With `voucher`, as at joining, it must be the chain in which the inviter stood.
    """
    found = known(store, server.member.group_id)
    states = [found]
    while True:
        page = server.roster(found.number)
        if page.number < found.number or (page.number > found.number and not page.entries):
            raise Distrusted(
                f"the server's roster went back: {page.number} entries after {found.number}; ask its operator whether "
                "an older backup was restored: if so, `foltr-search leave --local`, and join by a new invite"
            )
        try:
            for entry in page.entries:
                found = chain.extended(found, (entry,))
                states.append(found)
        except RecordError as error:
            raise Distrusted(f"the server's roster does not hold: {error}") from error
        _keep(store, page.entries)
        if found.number >= page.number:
            break
    _check_end(found, states, page.head, voucher)
    return found


def at_opening(store: Store, group_id: str, number: int, head: str) -> Roster:
    """The roster of a round that opened when it had `number` entries; Distrusted when its head is another."""
    found = known(store, group_id, number)
    if (found.number, found.head) != (number, head):
        raise Distrusted("the round was opened for another roster than this device has verified")
    return found


def print_of(device_key: bytes, box_key: bytes) -> str:
    """A fingerprint of a member's two keys for people to compare, in groups of four digits."""
    digits = hashlib.blake2b(device_key + box_key, digest_size=16, person=b"foltr-compare").hexdigest()
    return " ".join(digits[at : at + 4] for at in range(0, len(digits), 4))


def own_print(member: Membership) -> str:
    """The same of this device."""
    return print_of(Identity(member.seed).public, box_public(member.box_key))


def chosen(roster: Roster, prefix: str) -> RosterMember:
    """The member whose pseudonym begins so; FederationError unless there is exactly one."""
    found = [one for one in roster.members.values() if prefix and one.device.startswith(prefix.lower())]
    if len(found) != 1:
        raise FederationError(f"{len(found)} members have a pseudonym that begins with {prefix!r}, wanted one")
    return found[0]


def _keep(store: Store, fresh: Sequence[RosterEntry]) -> None:
    with store.transaction() as db:
        rows = [(entry.number, encode(entry)) for entry in fresh]
        db.executemany("INSERT OR IGNORE INTO roster VALUES (?, ?)", rows)


def _check_end(found: Roster, states: Sequence[Roster], head: str, voucher: InviteVoucher | None) -> None:
    if found.head != head:
        raise Distrusted("the server's roster ends otherwise than this device has verified")
    try:
        chain.check_settled(found)
        if voucher is not None:
            chain.check_inviter(states, voucher)
    except RecordError as error:
        raise Distrusted(str(error)) from error
