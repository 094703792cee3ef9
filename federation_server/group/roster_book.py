"""The group's roster as the server keeps it: the chain of its members, which devices verify for themselves.

The server writes it and cannot make it up (see foltr.federated.sealed.roster): it appends what members have signed,
hands out all of it, and erases the bodies of those who were forgotten. A sealed round goes by the roster of its
opening; as long as nobody has answered it, it follows the roster, so that a new group need not wait a round for its
fifth member.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, insert, select, update

from federation_server.group import group
from federation_server.refusals import Refused
from federation_server.tables import roster, rounds
from foltr.federated.sealed import roster as chain
from foltr.federated.sealed.roster import Roster, RosterError
from foltr.federated.wire import Enrolment, RosterEntry, RosterPage, Vouching, decode, encode

LARGEST_PAGE = 500
"""entries in one answer"""


def entries(connection: Connection, *, after: int = 0, limit: int | None = None) -> tuple[RosterEntry, ...]:
    """Those from number `after` on."""
    query = select(roster.c.entry).where(roster.c.number >= max(after, 0)).order_by(roster.c.number)
    rows = connection.execute(query if limit is None else query.limit(limit))
    return tuple(decode(bytes(row.entry), RosterEntry) for row in rows)


def end(connection: Connection) -> tuple[int, str]:
    """How many entries there are, and the hash of the last."""
    row = connection.execute(select(roster.c.entry).order_by(roster.c.number.desc()).limit(1)).first()
    if row is None:
        return 0, chain.empty_roster(_group_id(connection)).head
    last = decode(bytes(row.entry), RosterEntry)
    return last.number + 1, chain.entry_hash(last)


def state(connection: Connection, number: int | None = None) -> Roster:
    """Who is in the group by all entries, or by the first `number`."""
    return chain.stored_roster(_group_id(connection), entries(connection, limit=number))


def page(connection: Connection, *, after: int) -> RosterPage:
    """For a member that has verified the entries before `after`."""
    number, head = end(connection)
    found = entries(connection, after=after, limit=LARGEST_PAGE)
    return RosterPage(group_id=_group_id(connection), number=number, head=head, entries=found)


def join(connection: Connection, asked: Enrolment, *, voucher: int | None, signature: bytes | None) -> None:
    """Write a new member down; with the signature of the member who invited it, it is vouched for."""
    group.lock(connection)
    here = state(connection)
    given = -1 if voucher is None else voucher
    _append(connection, here, chain.join_entry(here, asked, voucher=given, signature=signature or b""))


def vouch(connection: Connection, device: str, asked: Vouching) -> tuple[str, str] | None:
    """A member vouches for another, or takes one off; Refused("bad-vouching") when it may not, or signed something
    else. The same again changes nothing.

    Where one is taken off that joined again, its former and its new pseudonym: only who brought in the new may say so.
    """
    here = state(connection)
    signer, about = here.of_device(device), here.members.get(asked.about)
    done = about is None if asked.leaves else about is not None and about.vouched
    if signer is None:
        raise Refused("bad-vouching", "the signer is not on the roster")
    if not 0 <= asked.about < here.number:
        raise Refused("bad-vouching", f"the roster has entries 0 to {here.number - 1}, not {asked.about}")
    if done:
        return None
    heir = here.members.get(asked.heir) if asked.leaves else None
    if asked.heir >= 0 and (heir is None or heir.voucher != signer.number or asked.heir <= asked.about):
        raise Refused("bad-vouching", "only who brought in a later member can say that it is the same person")
    make = chain.leave_entry if asked.leaves else chain.vouch_entry
    try:
        _append(connection, here, make(here, asked.about, signer.number, asked.signature))
    except RosterError as error:
        raise Refused("bad-vouching", str(error)) from error
    return (about.device, heir.device) if about is not None and heir is not None else None


def leave(connection: Connection, device: str, signature: bytes) -> None:
    """A member that leaves takes itself off; without its signature it stays until another member signs."""
    group.lock(connection)
    here = state(connection)
    member = here.of_device(device)
    if member is None or not signature:
        return
    try:
        _append(connection, here, chain.leave_entry(here, member.number, member.number, signature))
    except RosterError as error:
        raise Refused("bad-vouching", str(error)) from error


def erase_bodies(connection: Connection) -> int:
    """Erase what tells of members that left and vouched for nobody who is here; how many entries.

    Whoever is in the cohort of a round that somebody has answered stays until it is over (`closing` asks again): the
    messages are bound to the keys of all.
    """
    found = entries(connection)
    answered = (rounds.c.state == "open", rounds.c.n_updates > 0, rounds.c.roster_head != "")
    numbers = chain.erasable(found, before=connection.execute(select(rounds.c.roster_number).where(*answered)).scalar())
    for number in numbers:
        blank = encode(chain.erase_person(found[number]))
        connection.execute(update(roster).where(roster.c.number == number).values(entry=blank))
    return len(numbers)


def take_back(connection: Connection, seen: RosterPage, returned: Sequence[RosterEntry]) -> tuple[Roster, Roster]:
    """Append what a restored roster lacks, up to a page that this server has signed; the states before and after.

    The page proves that the server took these entries once, erased ones and those of the administrator's invites among
    them. Refused("wrong-roster") where the server has meanwhile gone on differently.
    """
    here = state(connection)
    if seen.number <= here.number:
        if state(connection, seen.number).head != seen.head:
            raise Refused("wrong-roster", f"the server's are others before entry {seen.number}")
        return here, here
    try:
        fresh = [entry for entry in returned if here.number <= entry.number < seen.number]
        after = chain.extend_roster(here, fresh)
        chain.check_settled(after)
    except RosterError as error:
        raise Refused("wrong-roster", str(error)) from error
    if (after.number, after.head) != (seen.number, seen.head):
        raise Refused("wrong-roster", f"they lead to entry {after.number}, and the page to {seen.number}")
    _write(connection, fresh)
    group.set_fact(connection, RESTORED, str(after.number))
    erase_bodies(connection)
    return here, after


RESTORED = "roster as restored"
"""the fact that says how many entries are from before the last restore, with those that members have handed back"""


def newcomers(connection: Connection) -> tuple[str, ...]:
    """Who joined after the last restore, by the order of entries: clocks may be wrong."""
    before = group.fact(connection, RESTORED)
    return tuple(one.device for one in state(connection).members.values() if before and one.number >= int(before))


def follow(connection: Connection) -> None:
    """The open round goes by the roster of now while nobody has answered it."""
    number, head = end(connection)
    waiting = (rounds.c.state == "open", rounds.c.n_updates == 0, rounds.c.roster_head != "")
    connection.execute(update(rounds).where(*waiting).values(roster_number=number, roster_head=head))


def _append(connection: Connection, here: Roster, entry: RosterEntry) -> None:
    """Write an entry that members will accept."""
    chain.extend_roster(here, [entry])
    _write(connection, [entry])


def _write(connection: Connection, fresh: Sequence[RosterEntry]) -> None:
    connection.execute(insert(roster), [{"number": entry.number, "entry": encode(entry)} for entry in fresh])
    follow(connection)


def _group_id(connection: Connection) -> str:
    return group.fact(connection, "group_id") or ""
