"""Folders of which nothing is left to do while their listings stay as they are.

A scan lists every folder and asks for the numbers of each file in it, always. What it spares is the rest: the rules and
the row of the catalogue of each file. For where a whole folder was found as it was indexed, the digest of its listing
is kept, and the same listing under the same rules has the same answer.

    digest = BLAKE2b(rules, patterns in force, names as listed, and of each file: size, mtime, inode, ctime)

Whoever writes rows of files takes away what is kept of their folders, in the same transaction; and a scan keeps nothing
when another process has written since it began.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from indexer.documents import Listing, Skipped, storable

TABLE = """CREATE TABLE IF NOT EXISTS settled (
    folder BLOB PRIMARY KEY,        -- as os.fsencode gives it
    digest BLOB NOT NULL,           -- of the listing
    n_files INTEGER NOT NULL,       -- in the folder itself
    skipped BLOB NOT NULL           -- msgpack array of [path, rule, reason]
) WITHOUT ROWID"""
"""a catalogue of version 2 may be older than this table, and gets it when it is opened"""

MAX_SKIPPED = 100
"""paths passed over in a folder, above which it is never kept"""


class SettledFolders:
    """What one scan asks for each folder, and keeps at its end; for the thread of `connection`."""

    def __init__(self, connection: sqlite3.Connection, rules: bytes) -> None:
        """`rules` tell under which rules the scan is made."""
        self._connection, self.rules = connection, rules
        self._version = self._written_by_others()
        self.doubtful: Counter[str] = Counter()
        """how many files of each folder may not be as they were indexed; such a folder is asked file by file"""

    def find(self, folder: str) -> Listing | None:
        """The listing of `folder` with which it was settled."""
        if self.doubtful[folder]:
            return None
        query = "SELECT digest, n_files, skipped FROM settled WHERE folder = ?"
        row = self._connection.execute(query, (os.fsencode(folder),)).fetchone()
        if row is None:
            return None
        items = msgspec.msgpack.decode(row[2], type=list[tuple[bytes, str, str]])
        return Listing(folder, row[0], row[1], tuple(Skipped(os.fsdecode(path), *why) for path, *why in items))

    def note(self, listings: Sequence[Listing]) -> None:
        """Within a transaction: keep those whose every file was as it was indexed, and no older ones in their place."""
        if self._written_by_others() != self._version:
            return
        rows = [
            (os.fsencode(one.folder), one.digest, one.n_files, msgspec.msgpack.encode(skipped_rows(one.skipped)))
            for one in listings
            if one.n_files and len(one.skipped) <= MAX_SKIPPED and not self.doubtful[one.folder]
        ]
        seen = ((os.fsencode(one.folder),) for one in listings)
        self._connection.executemany("DELETE FROM settled WHERE folder = ?", seen).close()
        self._connection.executemany("INSERT INTO settled VALUES (?, ?, ?, ?)", rows).close()

    def _written_by_others(self) -> int:
        """A number that is another one when anybody else has written to the file."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])


def skipped_rows(skipped: Iterable[Skipped]) -> list[tuple[bytes, str, str]]:
    """(path as os.fsencode gives it, rule, reason) of each, as it is stored."""
    return [(os.fsencode(one.path), one.rule, storable(one.reason)) for one in skipped]


def unsettle(connection: sqlite3.Connection, file_ids: Iterable[int], paths: Iterable[str]) -> None:
    """Within the transaction that writes the rows of these files: forget the folders where they were and will be."""
    if not connection.execute("SELECT 1 FROM settled LIMIT 1").fetchone():
        return
    folders = {os.path.dirname(os.fsencode(path)) for path in paths}
    query = "SELECT path FROM files WHERE file_id = ?"
    folders.update(os.path.dirname(path) for one in file_ids for (path,) in connection.execute(query, (one,)))
    connection.executemany("DELETE FROM settled WHERE folder = ?", ((folder,) for folder in folders)).close()


def unsettle_all(connection: sqlite3.Connection) -> None:
    """The same where rows of any folder are written."""
    connection.execute("DELETE FROM settled").close()
