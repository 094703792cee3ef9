"""What is new, changed, moved or gone, by what the catalogue knows, and in which order it is read: the newest first.

What is to be read is kept outside of memory, for the first index of a disk may have millions of files.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from indexer.documents import FileEntry
from indexer.files.absent_disks import OutOfSight
from indexer.storage.catalogue import AS_SOURCE, UNREAD, KnownFile, plain_errors
from indexer.storage.unchanged import BY_NAME, Stamp


class FilesRead(Struct, frozen=True):
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

    def by_name_alone(self) -> Iterator[FilesRead]:
        """Those of which nothing is read but their names."""
        return self._selected("WHERE unread <> '' ORDER BY place")

    def newest_first(self) -> Iterator[FilesRead]:
        """The others: the newest are the likeliest to be wanted soon; what failed before comes last."""
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


class ChangePlan(Struct):
    """The work that brings the index up to date."""

    readings: Readings = field(default_factory=Readings)
    touched: Readings = field(default_factory=Readings)
    """files to be read if their content has another digest; else only their ctime is noted"""
    removed: dict[str, int] = field(default_factory=dict)
    """file ids by path"""
    kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    """folders whose files are out of sight and kept, each with the reason, and how many files"""
    n_unchanged: int = 0

    def __bool__(self) -> bool:
        return bool(self.readings or self.removed or self.touched)


PASSING = frozenset({"timeout", "memory", "crashed"})
"""kinds of failures that may have been the moment's and not the file's; processor time is the file's"""
MAX_TRIES = 3
"""times that a file with such a failure is read, while it does not change"""


def is_settled(entry: FileEntry, stamp: Stamp) -> bool:
    """Whether there is surely nothing to do for `entry`, of which `stamp` is known: so it is with nearly every file."""
    _, _, size, modified_ns, inode, changed_ns, mark = stamp
    return (
        modified_ns == entry.modified_ns
        and size == entry.size
        and inode == entry.inode
        and mark > 0
        and not entry.source
        and (mark == BY_NAME if entry.unread else mark != BY_NAME and entry.changed_ns == changed_ns)
    )


class FileComparison(Struct):
    """Makes the plan while files are seen, one after the other.

    A file is unchanged when its size, modification time, inode and ctime are; the device does not count, for a disk
    may get another number when it is mounted again. Another ctime alone may be another name or permission. A failed
    file is read again when it changed, when `reader` (the version and limits of the extractors) is another one, on
    `retry_failures`, and, in a scan, up to `MAX_TRIES` times when its failure may have passed. So is a file that the
    crawl now says to read, or to index by name alone, and one whose source was named, or is named no longer.
    """

    reader: str
    retry_failures: bool = False
    is_scan: bool = False
    plan: ChangePlan = field(default_factory=ChangePlan)

    def see(self, entry: FileEntry, old: KnownFile | None) -> None:
        """Compare one file with what is known of it; None for nothing."""
        plan, seen = self.plan, (entry.size, entry.modified_ns, entry.inode)
        if old is None:
            plan.readings.append(FilesRead(entry))
        elif seen != (old.size, old.modified_ns, old.inode) or old.state == "pending" or _is_read_otherwise(entry, old):
            plan.readings.append(FilesRead(entry, old.file_id))
        elif entry.unread:
            plan.n_unchanged += 1
        elif entry.changed_ns != old.changed_ns and entry.changed_ns and old.changed_ns:
            touched = old.state == "indexed" and old.digest
            (plan.touched if touched else plan.readings).append(FilesRead(entry, old.file_id, digest=old.digest))
        elif self._is_tried_again(entry, old):
            plan.readings.append(FilesRead(entry, old.file_id, tries=old.tries))
        else:
            plan.n_unchanged += 1

    def _is_tried_again(self, entry: FileEntry, old: KnownFile) -> bool:
        if old.state == "indexed":
            return False
        if (self.retry_failures and old.state == "failed") or old.reader != reader_of(entry, self.reader):
            return True
        return self.is_scan and old.failure in PASSING and old.tries < MAX_TRIES

    def finish(self, others: Mapping[str, KnownFile], away: OutOfSight) -> ChangePlan:
        """The plan, when every file was seen but the `others`; of these those that are `away` stay.

        A file that is gone and a new one with the same device, inode, size and time are one file that moved.
        """
        gone: dict[Identity, tuple[str, int]] = {}
        twins: dict[str, int] = {}
        for path, old in others.items():
            if (folder := away.above(path, old)) is not None:
                self.plan.kept[folder] += 1
                continue
            identity = (old.device, old.inode, old.size, old.modified_ns)
            if identity in gone:
                twins.update((gone[identity],))
            gone[identity] = path, old.file_id
        self.plan.removed.update(self.plan.readings.match_moves(gone) | twins)
        return self.plan


def reader_of(entry: FileEntry, reader: str) -> str:
    """What is kept of how a file was read: `reader`, and the source that it was read as."""
    return f"{reader}{AS_SOURCE}{entry.source}" if entry.source else reader


def _is_read_otherwise(entry: FileEntry, old: KnownFile) -> bool:
    """Whether only its name was indexed and it is to be read, or as another source, or the other way round."""
    if entry.unread or old.reader == UNREAD:
        return bool(entry.unread) != (old.reader == UNREAD)
    return entry.source != old.reader.partition(AS_SOURCE)[2]
