"""The files that an update is to read, kept outside of memory: the first index of a disk may have millions of them."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexer.documents import FileEntry
from indexer.storage.catalogue import plain_errors


@dataclass(frozen=True, slots=True)
class FilesRead:
    """One file to be read."""

    entry: FileEntry
    file_id: int | None = None
    """of the file whose documents it replaces; None for a new file"""
    old_path: str = ""
    """where it was known before; "" when it has not moved"""
    digest: bytes = b""
    """of its content as it was read, when only its ctime is another one: perhaps there is nothing to read"""
    tries: int = 0
    """how often it was read before, unchanged, and failed"""


Identity = tuple[int, int, int, int]
"""(device, inode, size, modified_ns): what a file keeps when it moves"""

_BUFFERED = 1_000
_TABLE = """CREATE TABLE readings (
    place INTEGER PRIMARY KEY, path BLOB, size INTEGER, modified_ns INTEGER, device INTEGER, inode INTEGER,
    changed_ns INTEGER, unread TEXT, failure TEXT, source TEXT, file_id INTEGER, old_path BLOB, digest BLOB,
    tries INTEGER
)"""


class Readings:
    """A list of files to be read, in a temporary database of SQLite, which keeps a short one in memory.

    IndexerError when it grows beyond the disk. For one thread.
    """

    def __init__(self, readings: Iterable[FilesRead] = ()) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute(_TABLE)
        self._connection.execute("BEGIN")
        self._waiting: list[tuple[Any, ...]] = []
        self._n = 0
        self.n_bytes = 0
        """of the files that are not found by their names alone"""
        for reading in readings:
            self.append(reading)

    def __len__(self) -> int:
        return self._n

    def append(self, reading: FilesRead) -> None:
        """Add one at the end."""
        entry = reading.entry
        self._n += 1
        self.n_bytes += 0 if entry.unread else entry.size
        self._waiting.append(
            (
                os.fsencode(entry.path), entry.size, entry.modified_ns, entry.device, entry.inode, entry.changed_ns,
                entry.unread, entry.failure, entry.source, reading.file_id, os.fsencode(reading.old_path),
                reading.digest, reading.tries,
            )
        )  # fmt: skip
        if len(self._waiting) >= _BUFFERED:
            self._write()

    def __iter__(self) -> Iterator[FilesRead]:
        """In the order in which they were added."""
        return self._selected("ORDER BY place")

    def named(self) -> Iterator[FilesRead]:
        """Those of which nothing is read but their names."""
        return self._selected("WHERE unread <> '' ORDER BY place")

    def read(self) -> Iterator[FilesRead]:
        """The others, the newest first, for they are the likeliest to be wanted soon; what failed before comes last."""
        return self._selected("WHERE unread = '' ORDER BY tries > 0, modified_ns DESC, place")

    def match_moves(self, gone: Mapping[Identity, tuple[str, int]]) -> dict[str, int]:
        """Give new files that are one of those `gone` its old path and its file id; the others of `gone` by path."""
        left = dict(gone)
        moved: list[tuple[bytes, int, int]] = []
        self._write()
        query = "SELECT place, device, inode, size, modified_ns FROM readings WHERE file_id IS NULL ORDER BY place"
        for place, *identity in self._connection.execute(query) if left else ():
            device, inode, size, modified_ns = identity
            if (found := left.pop((device, inode, size, modified_ns), None)) is not None:
                moved.append((os.fsencode(found[0]), found[1], place))
        self._connection.executemany("UPDATE readings SET old_path = ?, file_id = ? WHERE place = ?", moved)
        return dict(left.values())

    def _write(self) -> None:
        with plain_errors(Path(tempfile.gettempdir())):
            marks = ", ".join("?" * 13)
            self._connection.executemany(f"INSERT INTO readings VALUES (NULL, {marks})", self._waiting)
        self._waiting.clear()

    def _selected(self, which: str) -> Iterator[FilesRead]:
        self._write()
        with plain_errors(Path(tempfile.gettempdir())):
            for row in self._connection.execute(f"SELECT * FROM readings {which}"):
                _, path, size, modified_ns, device, inode, changed_ns, unread, failure, source, *rest = row
                file_id, old_path, digest, tries = rest
                entry = FileEntry(
                    os.fsdecode(path), size, modified_ns, device, inode, changed_ns, unread, failure, source
                )
                yield FilesRead(entry, file_id, os.fsdecode(old_path), digest, tries)
