"""Threads of mail: which messages belong together, by their ids alone.

Each id that a mail has or refers to is in one thread; a mail joins the threads of all its ids into one, in whatever
order mails come, and even if mails between them are missing. Subjects join nothing: two mails "Invoice" are unrelated.
A thread is named by one of its ids as a number, and each of its ids finds it, so that a name once seen stays valid.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import NamedTuple

TABLES = (
    # message: the key of an id; that of a mail that is indexed
    "CREATE TABLE messages (doc_id INTEGER PRIMARY KEY, message INTEGER NOT NULL)",
    "CREATE INDEX documents_of_message ON messages (message)",
    # all ids that were seen, those of mails that are not there included
    "CREATE TABLE threads (message INTEGER PRIMARY KEY, thread INTEGER NOT NULL)",
    "CREATE INDEX messages_of_thread ON threads (thread)",
)

_NAME = re.compile(r"[0-9a-f]{16}")


class Thread(NamedTuple):
    """The thread that a mail belongs to."""

    name: str
    """16 hexadecimal digits"""
    n_messages: int
    """indexed mails in it; copies of one count once"""


def message_key(message_id: str) -> int:
    """A 63-bit hash of a message id."""
    digest = hashlib.blake2b(message_id.strip("<> ").encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def keys_of(doc_id: int, ids: Sequence[str]) -> list[int]:
    """The keys of a mail's `message_ids`; an empty id is replaced by one made from the document's."""
    return [message_key(one or f"document {doc_id}") for one in ids]


def tie(connection: Connection, mails: Sequence[tuple[int, tuple[str, ...]]]) -> None:
    """Add mails to their threads: each a document id and its `ExtractedDocument.message_ids`."""
    keys = {doc_id: keys_of(doc_id, ids) for doc_id, ids in mails if ids}
    if not keys:
        return
    wanted = str(sorted({key for own in keys.values() for key in own}))
    known = "SELECT message, thread FROM threads WHERE message IN (SELECT value FROM json_each(?))"
    before: dict[int, int] = dict(connection.execute(known, (wanted,)).fetchall())
    thread_of = dict(before)
    merged: dict[int, int] = {}

    def root(thread: int) -> int:
        while (above := merged.get(thread)) is not None:
            merged[thread] = merged.get(above, above)  # the next time half as far
            thread = above
        return thread

    for own in keys.values():
        threads = {root(thread_of[key]) for key in own if key in thread_of}
        kept = min(threads, default=own[min(1, len(own) - 1)])
        merged.update((thread, kept) for thread in threads if thread != kept)
        thread_of.update((key, kept) for key in own)
    connection.executemany(
        "UPDATE threads SET thread = ?2 WHERE thread = ?1", [(thread, root(thread)) for thread in merged]
    )
    connection.executemany(
        "INSERT OR REPLACE INTO threads VALUES (?, ?)",
        [(key, root(thread)) for key, thread in thread_of.items() if before.get(key) != root(thread)],
    )
    connection.executemany("INSERT OR REPLACE INTO messages VALUES (?, ?)", ((i, own[0]) for i, own in keys.items()))


def forget_empty(connection: Connection) -> None:
    """Drop threads of which no mail is left."""
    connection.execute(
        "DELETE FROM threads WHERE thread NOT IN (SELECT thread FROM messages JOIN threads USING (message))"
    )


def threads_of(connection: Connection, doc_ids: Iterable[int]) -> dict[int, Thread]:
    """The thread of each of those documents that are mails with an id."""
    found = connection.execute(
        "SELECT doc_id, thread FROM messages JOIN threads USING (message)"
        " WHERE doc_id IN (SELECT value FROM json_each(?))",
        (str([int(one) for one in doc_ids]),),
    ).fetchall()
    counts: dict[int, int] = dict(
        connection.execute(
            "SELECT thread, count(DISTINCT message) FROM threads JOIN messages USING (message)"
            " WHERE thread IN (SELECT value FROM json_each(?)) GROUP BY thread",
            (str(sorted({thread for _, thread in found})),),
        ).fetchall()
    )
    return {doc_id: Thread(f"{thread:016x}", counts[thread]) for doc_id, thread in found}


def doc_ids_in(connection: Connection, thread: str) -> set[int]:
    """The mails of the thread named by its 16 digits, or by the id of any message in it."""
    keys = [message_key(thread)]
    if _NAME.fullmatch(thread.strip().lower()):
        keys.append(int(thread, 16))
    rows = connection.execute(
        "SELECT doc_id FROM messages JOIN threads USING (message) WHERE thread IN"
        " (SELECT thread FROM threads WHERE message IN (SELECT value FROM json_each(?)))",
        (str([key for key in keys if key < 1 << 63]),),
    )
    return {row[0] for row in rows}
