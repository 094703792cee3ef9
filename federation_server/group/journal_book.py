"""The journal as it is kept: one chain of hashes of what happened to the group's rankers (foltr.federated.journal).

An entry is written in the transaction of what it tells, under the group's lock, and never changed. A backup holds the
journal; after a restore it goes on from where the backup was made, with an entry that says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, func, insert, select

from federation_server.tables import journal
from foltr.federated.journal import BEGINNING, next_hash, participants
from foltr.federated.wire import JournalEntry, JournalPage, encode

LARGEST_PAGE = 200_000
"""bytes of entries in one answer, unless a single one is longer"""


def append(connection: Connection, entry: JournalEntry) -> tuple[int, str]:
    """Write one entry; its position, counted from 1, and the hash of the journal up to it."""
    size, head = end(connection)
    body = encode(entry)
    position, after = size + 1, next_hash(head, body)
    connection.execute(insert(journal).values(position=position, body=body, hash=after))
    return position, after


def note_list(connection: Connection, lineage: int, round: int, devices: Iterable[str], *, now: int) -> None:
    """Write down whose updates a round was joined from."""
    named = participants(devices, lineage, round)
    append(connection, JournalEntry(kind="list", time=now, lineage=lineage, round=round, participants=named))


def end(connection: Connection) -> tuple[int, str]:
    """How many entries there are, and the hash of all of them."""
    row = connection.execute(select(journal).order_by(journal.c.position.desc()).limit(1)).first()
    return (row.position, row.hash) if row is not None else (0, BEGINNING)


def hash_at(connection: Connection, position: int) -> str:
    """The hash of the journal up to an entry, "" where there is none."""
    query = select(journal.c.hash).where(journal.c.position == position)
    return connection.execute(query).scalar_one_or_none() or ""


def page(connection: Connection, group_id: str, *, after: int) -> JournalPage:
    """The entries that follow a position, as many as one answer holds; the others are asked for with a later one."""
    size, head = end(connection)
    total = func.sum(func.length(journal.c.body)).over(order_by=journal.c.position)
    counted = select(journal.c.position, journal.c.body, total.label("bytes")).where(journal.c.position > after)
    rows = counted.subquery()
    fits = (rows.c.bytes <= LARGEST_PAGE) | (rows.c.position == after + 1)
    found = connection.execute(select(rows.c.body).where(fits).order_by(rows.c.position))
    bodies = tuple(bytes(row.body) for row in found)
    return JournalPage(group_id=group_id, after=after, size=size, head=head, entries=bodies)
