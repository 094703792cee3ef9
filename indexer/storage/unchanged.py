"""What a scan can skip: files that are unchanged since they were indexed, and folders with nothing left to do.

A crawl yields files in path order, so one pass over the catalogue in the same order answers for all of them (`Stamps`),
and neither side is held in memory.

A scan always lists every folder and stats each file in it. If a whole folder is unchanged (`SettledFolders`), it need
not apply the rules or look up the catalogue's row of each file: the digest of the folder's listing is stored, and the
same listing under the same rules has the same answer.

    digest = BLAKE2b(rules, patterns in force, names as listed, and of each file: size, mtime, inode, ctime)

Writing rows of files removes their folders' digests too; a scan keeps none if another process wrote since it began.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from indexer.documents import Listing, Skipped, storable
from indexer.storage.catalogue import AS_SOURCE, UNREAD, Catalogue

Stamp = tuple[bytes, int, int, int, int, int, int]
"""(path, file id, size, modified_ns, inode, changed_ns, mark) of one file; the mark is 0 if more must be checked"""
BY_NAME = 2
"""the mark of a file that is indexed without being read; 1 marks one that was read"""
_AHEAD = 100
"""files to step over before the next one is looked up instead"""


class Stamps:
    """Answers for one path after another, in any order; fastest in the order of their bytes.

    For one thread, which does not write to the catalogue before it has asked for the `others`.
    """

    def __init__(self, catalogue: Catalogue, reader: str) -> None:
        """For marked files nothing is left to do for `reader` while they stay unchanged."""
        self._catalogue, self._reader = catalogue, reader
        self._query = (
            "SELECT path, file_id, size, modified_ns, inode, changed_ns, CASE"
            f" WHEN instr(reader, '{AS_SOURCE}') THEN 0"
            " WHEN state = 'indexed' OR (state = 'named' AND reader = ? AND kind = '') THEN 1"
            f" WHEN reader = '{UNREAD}' AND state <> 'pending' THEN {BY_NAME} ELSE 0 END"
            " FROM files WHERE path >= ? ORDER BY path"
        )
        (last,) = catalogue.connection.execute("SELECT coalesce(max(file_id), 0) FROM files").fetchone()
        self._asked = bytearray(last + 1)
        """file id -> whether it was asked for"""
        self._passed_over: dict[str, int] = {}
        """folder -> number of its files, for folders whose files are not asked for one by one"""
        self._from(b"")

    def _from(self, path: bytes) -> None:
        """Go on at the first file at or after `path`."""
        self._rows: Iterator[Stamp] = self._catalogue.connection.execute(self._query, (self._reader, path))
        self._row: Stamp | None = next(self._rows, None)
        self._last = path

    def find(self, path: str) -> Stamp | None:
        """The stamp of the file at `path`; None when it is not known."""
        wanted = os.fsencode(path)
        if wanted < self._last:
            self._from(wanted)
        self._last, row = wanted, self._row
        for _ in range(_AHEAD):
            if row is None or row[0] >= wanted:
                self._row = row
                break
            row = next(self._rows, None)
        else:
            self._from(wanted)
            row = self._row
        if row is None or row[0] != wanted:
            return None
        self._asked.extend(bytes(max(row[1] + 1 - len(self._asked), 0)))  # another process may add files meanwhile
        self._asked[row[1]] = True
        return row

    def pass_over(self, folder: str, n_files: int) -> None:
        """Count the `n_files` known in `folder` itself as asked for."""
        self._passed_over[folder] = n_files

    def others(self) -> list[str]:
        """The files that were not asked for; nothing can be asked afterwards."""
        self._rows, self._row = iter(()), None
        execute = self._catalogue.connection.execute
        (n_files,) = execute("SELECT count(*) FROM files").fetchone()
        if n_files == self._asked.count(True) + sum(self._passed_over.values()):
            return []
        rows, asked = execute("SELECT path, file_id FROM files"), self._asked
        left = (os.fsdecode(path) for path, one in rows if one >= len(asked) or not asked[one])
        return [path for path in left if os.path.dirname(path) not in self._passed_over]


MAX_SKIPPED = 100
"""most skipped paths in a folder that can be settled"""


class SettledFolders:
    """The digests that a scan compares for each folder and stores at its end; for the thread of `connection`."""

    def __init__(self, connection: sqlite3.Connection, rules: bytes) -> None:
        """`rules` identify the rules of the scan."""
        self._connection, self.rules = connection, rules
        self._version = self._written_by_others()
        self.doubtful: Counter[str] = Counter()
        """folder -> how many of its files may differ from the index; such a folder is checked file by file"""

    def find(self, folder: str) -> Listing | None:
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
        """A number that changes when anybody else has written to the file."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])


def skipped_rows(skipped: Iterable[Skipped]) -> list[tuple[bytes, str, str]]:
    """(path as os.fsencode gives it, rule, reason) of each, as stored."""
    return [(os.fsencode(one.path), one.rule, storable(one.reason)) for one in skipped]


def unsettle(connection: sqlite3.Connection, file_ids: Iterable[int], paths: Iterable[str]) -> None:
    """Within the transaction that writes the rows of these files: forget the folders where they were and are now."""
    if not connection.execute("SELECT 1 FROM settled LIMIT 1").fetchone():
        return
    folders = {os.path.dirname(os.fsencode(path)) for path in paths}
    query = "SELECT path FROM files WHERE file_id = ?"
    folders.update(os.path.dirname(path) for one in file_ids for (path,) in connection.execute(query, (one,)))
    connection.executemany("DELETE FROM settled WHERE folder = ?", ((folder,) for folder in folders)).close()


def unsettle_all(connection: sqlite3.Connection) -> None:
    """Forget all folders, as rows of any may be written."""
    connection.execute("DELETE FROM settled").close()
