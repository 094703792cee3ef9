"""The catalogue: what is indexed, what could not be read, and what was skipped; one SQLite file.

Any thread and process may read at any time; the holder of the index's write lock writes (`catalogue_writing`).
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from indexer.errors import IndexDamaged, IndexerError
from indexer.properties import Properties
from indexer.storage import mail_threads
from indexer.storage.catalogue_tables import make_tables
from indexer.storage.sqlite_files import Connection, cause, connect_to_share, is_unwritable

UNREAD = "unread"
"""the `reader` of a file that the crawl chose not to have read"""
AS_SOURCE = " as "
"""stands before the source's name in the `reader` of a file that was read as a source"""

AWAY = "away"
"""the rule of folders whose files are unavailable and kept"""

CHANGED_STAYS = 3600.0
"""seconds that words removed from a file may stay: a large segment is not written anew at every change"""


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours: damage asks for a rebuild, a full disk says so."""
    try:
        yield
    except sqlite3.Error as error:
        name: str = error.sqlite_errorname if hasattr(error, "sqlite_errorname") else ""
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such" in str(error):
            raise IndexDamaged(f"the catalogue {path} cannot be read: {error}") from error
        if is_unwritable(error):
            raise IndexerError(f"{path} cannot be written ({cause(error, path)})") from error
        raise IndexerError(f"{path}: {error}") from error


class DocumentRow(msgspec.Struct, frozen=True):
    """What is known of one document, without its text."""

    doc_id: int
    path: str
    part: str
    title: str
    type: str
    author: str
    recipients: str
    properties: Properties
    """see indexer.properties"""
    modified: float
    """seconds since the epoch"""
    size: int
    """bytes of the whole file"""
    language: str
    truncated: str
    n_words: int
    content_hash: bytes
    pages: tuple[int, ...]
    headings: tuple[int, ...] = ()
    """offsets of the lines that are headings, only for HTML"""


class Counts(msgspec.Struct, frozen=True):
    n_files: int
    """files that were read"""
    n_named: int
    """files that are found by their names alone"""
    n_documents: int
    n_failures: int
    n_skipped: int


class Failure(msgspec.Struct, frozen=True):
    path: str
    kind: str
    reason: str


class KnownFile(NamedTuple):
    """One file as it was when it was last read."""

    file_id: int
    size: int
    modified_ns: int
    device: int
    inode: int
    changed_ns: int
    digest: bytes
    state: str
    """indexed, named, failed or pending"""
    failure: str
    """the kind of the failure"""
    reader: str
    tries: int
    """how many times in a row reading it failed"""


class FileRow(msgspec.Struct, frozen=True):
    path: str
    known: KnownFile
    reason: str
    indexed_at: float
    """seconds since the epoch"""
    n_documents: int
    truncated: str


MAX_SEEN = 10_000
"""rows cached for later questions, until the next commit"""
_KNOWN = "path, file_id, size, modified_ns, device, inode, changed_ns, digest, state, kind, reader, tries"
_DOCUMENT = (
    "doc_id, path, part, title, type, author, recipients, properties, modified, size, language, truncated, n_words,"
    " content_hash"
)


class Catalogue:
    """The catalogue in one file; safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._seen: tuple[int, dict[int, DocumentRow]] = (-1, {})

    @classmethod
    def open(cls, path: Path) -> Catalogue:
        """Open the catalogue, creating an empty one where there is none; IndexDamaged when it must be rebuilt."""
        catalogue = cls(path)
        with plain_errors(path):
            make_tables(catalogue.connection, path)
        return catalogue

    @property
    def connection(self) -> Connection:
        """This thread's own connection."""
        found: Connection | None = self._local.__dict__.get("connection")
        if found is None:
            found = self._local.connection = connect_to_share(self.path)
            self._connections.add(found)
        return found

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in list(self._connections):
            connection.close()
        self._local = threading.local()

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with plain_errors(self.path):
            return self.connection.execute(query, values).fetchall()

    def meta(self, key: str) -> Any:
        return self._rows("SELECT value FROM meta WHERE key = ?", key)[0][0]

    @property
    def generation(self) -> int:
        """The commit of the index that this catalogue describes."""
        return int(self.meta("generation"))

    @property
    def wipe_by(self) -> float:
        """By when deleted content must be wiped (seconds since the epoch); infinity where nothing was deleted."""
        return float(self.meta("wipe_by"))

    def is_to_be_wiped(self, now: float) -> bool:
        """Whether that time has come, or seems so far off that the clock must have gone back."""
        by = self.wipe_by
        return by < math.inf and not now < by <= now + CHANGED_STAYS

    @property
    def is_whole(self) -> bool:
        """Whether a scan was completed since the index was made, so that what it lacks does not exist."""
        return bool(self.meta("is_whole"))

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders that the last scan went through."""
        return tuple(os.fsdecode(root) for root in msgspec.msgpack.decode(self.meta("roots"), type=list[bytes]))

    @property
    def last_update(self) -> float:
        """When a scan or an update last ended, in seconds since the epoch; 0 for never."""
        return float(self.meta("last_update"))

    def documents(self, doc_ids: Iterable[int]) -> dict[int, DocumentRow]:
        """The documents by id; one that was removed meanwhile is missing."""
        wanted, generation = list(doc_ids), self.generation
        then, seen = self._seen
        if then != generation or len(seen) > MAX_SEEN:
            seen = {}
            self._seen = generation, seen
        lacking = [doc_id for doc_id in wanted if doc_id not in seen]
        if lacking:
            found = f"SELECT {_DOCUMENT}, pages FROM documents JOIN files USING (file_id) {_AMONG}"
            seen.update((row[0], _document(row)) for row in self._rows(found, _json(lacking)))
        return {doc_id: seen[doc_id] for doc_id in wanted if doc_id in seen}

    def text(self, doc_id: int) -> str:
        """The text of a document; "" when it was removed meanwhile."""
        rows = self._rows("SELECT text_z FROM texts WHERE doc_id = ?", doc_id)
        return _text(rows[0][0]) if rows else ""

    def beginning(self, doc_id: int, n: int) -> str:
        """The first `n` characters of a document's text; the rest is not unpacked."""
        rows = self._rows("SELECT text_z FROM texts WHERE doc_id = ?", doc_id)
        start = zlib.decompressobj().decompress(rows[0][0], 4 * n) if rows and rows[0][0] else b""
        return start.decode("utf-8", "ignore")[:n]

    def written(self, doc_ids: Iterable[int]) -> Iterator[tuple[int, str]]:
        """The ids of those that are there, each with path (down to it in an archive), title, properties and text."""
        columns = "doc_id, path, part, title, properties, text_z"
        tables = "documents JOIN files USING (file_id) LEFT JOIN texts USING (doc_id)"
        rows = self._rows(f"SELECT {columns} FROM {tables} {_AMONG}", _json(doc_ids))
        for doc_id, path, part, title, properties, text_z in rows:
            values = (value for _, value in _pairs(properties))
            yield doc_id, "\n".join((os.path.join(os.fsdecode(path), part), title, *values, _text(text_z)))

    def doc_ids_of(self, path: str) -> tuple[int, ...]:
        """The documents of one file, in the order in which it holds them."""
        query = "SELECT doc_id FROM documents JOIN files USING (file_id) WHERE path = ? ORDER BY doc_id"
        return tuple(row[0] for row in self._rows(query, os.fsencode(path)))

    def threads_of(self, doc_ids: Iterable[int]) -> dict[int, mail_threads.Thread]:
        """The thread of each of those documents that are mails with an id."""
        with plain_errors(self.path):
            return mail_threads.threads_of(self.connection, doc_ids)

    def parts_of(self, path: str) -> dict[str, int]:
        query = "SELECT part, doc_id FROM documents JOIN files USING (file_id) WHERE path = ?"
        return dict(self._rows(query, os.fsencode(path)))

    def doc_ids_of_thread(self, thread: str) -> set[int]:
        """The mails of the thread with that name, or with a message of that id."""
        with plain_errors(self.path):
            return mail_threads.doc_ids_in(self.connection, thread)

    def doc_ids(self) -> set[int]:
        return {row[0] for row in self._rows("SELECT doc_id FROM documents")}

    def doc_ids_of_files(self, file_ids: Iterable[int]) -> list[int]:
        query = "SELECT doc_id FROM documents WHERE file_id IN (SELECT value FROM json_each(?))"
        return [row[0] for row in self._rows(query, _json(file_ids))]

    def paths_of(self, doc_ids: Iterable[int]) -> list[str]:
        """The path of the file of each known document; a path may come several times."""
        query = f"SELECT path FROM documents JOIN files USING (file_id) {_AMONG}"
        return [os.fsdecode(row[0]) for row in self._rows(query, _json(doc_ids))]

    def counts(self) -> Counts:
        states = dict(self._rows("SELECT state, count(*) FROM files GROUP BY state"))
        n_documents = self._rows("SELECT count(*) FROM documents")[0][0]
        n_failures = states.pop("failed", 0)
        n_named, n_skipped = states.pop("named", 0), sum(self.skipped_by_rule().values())
        return Counts(sum(states.values()), n_named, n_documents, n_failures, n_skipped)

    def failures(self) -> list[Failure]:
        return self._failures("SELECT path, kind, reason FROM files WHERE state = 'failed' ORDER BY path")

    def partial_failures(self) -> list[Failure]:
        """Files that were read, but not every part of them (kind "part", one line for each part)."""
        which = "state = 'indexed' AND reason <> ''"
        return self._failures(f"SELECT path, 'part', reason FROM files WHERE {which} ORDER BY path")

    def skipped_by_rule(self) -> dict[str, int]:
        """How many paths each rule skipped in the last scan; a folder counts as one."""
        return msgspec.msgpack.decode(self.meta("skipped"), type=dict[str, int])

    def skipped(self) -> list[Failure]:
        """Paths that the last scan skipped (the first 10,000), the rule as `kind`."""
        return self._failures("SELECT path, rule, reason FROM skipped ORDER BY path")

    def _failures(self, query: str) -> list[Failure]:
        return [Failure(os.fsdecode(path), *why) for path, *why in self._rows(query)]

    def away(self) -> list[Failure]:
        """Folders whose files the last scan could not see but kept; `reason` is what to say about each."""
        return [one for one in self.skipped() if one.kind == AWAY]

    def file(self, path: str) -> FileRow | None:
        """What is known of one file; None when it is not in the catalogue."""
        query = (
            f"SELECT {_KNOWN}, reason, indexed_at,"
            " (SELECT count(*) FROM documents d WHERE d.file_id = f.file_id),"
            " coalesce((SELECT max(truncated) FROM documents d WHERE d.file_id = f.file_id), '')"
            " FROM files f WHERE path = ?"
        )
        for row in self._rows(query, os.fsencode(path)):
            return FileRow(path, KnownFile(*row[1:12]), *row[12:])
        return None

    def known(self, below: str) -> dict[str, KnownFile]:
        """The file `below`, or those that lie in it, by path."""
        rows = self._rows(f"SELECT {_KNOWN} FROM files WHERE {_BELOW}", *_below(below))
        return {os.fsdecode(row[0]): KnownFile(*row[1:]) for row in rows}

    def doc_ids_below(self, folder: str) -> list[int]:
        """The documents of the file `folder`, or of those that lie in it."""
        query = f"SELECT doc_id FROM files JOIN documents USING (file_id) WHERE {_BELOW}"
        return [row[0] for row in self._rows(query, *_below(folder))]

    def types_below(self, folder: str) -> dict[str, int]:
        query = f"SELECT type, count(*) FROM files JOIN documents USING (file_id) WHERE {_BELOW} GROUP BY type"
        return dict(self._rows(query, *_below(folder)))

    def known_of(self, paths: Iterable[str]) -> dict[str, KnownFile]:
        with plain_errors(self.path):
            query = f"SELECT {_KNOWN} FROM files WHERE path = ?"
            rows = [(path, self.connection.execute(query, (os.fsencode(path),)).fetchone()) for path in paths]
        return {path: KnownFile(*row[1:]) for path, row in rows if row is not None}

    def on_device(self, device: int, *, outside: str, limit: int) -> list[tuple[str, int]]:
        """Path and inode of at most `limit` files that were on a device, except those below the folder `outside`."""
        _, first, after = _below(outside)
        query = "SELECT path, inode FROM files WHERE device = ? AND NOT (path >= ? AND path < ?) LIMIT ?"
        return [(os.fsdecode(path), inode) for path, inode in self._rows(query, device, first, after, limit)]

    def paths(self) -> list[str]:
        return [os.fsdecode(row[0]) for row in self._rows("SELECT path FROM files")]

    def read_at(self) -> dict[str, float]:
        """When each file was indexed, in seconds since the epoch."""
        return {os.fsdecode(path): when for path, when in self._rows("SELECT path, indexed_at FROM files")}

    def purge(self, path: str) -> None:
        """Note that a search found `path` gone; the next update looks and removes it."""
        with plain_errors(self.path):
            self.connection.execute("INSERT OR IGNORE INTO suspects VALUES (?)", (os.fsencode(path),))

    def suspects(self) -> list[str]:
        """Paths to check: those that searches found missing, and those to be read again."""
        return [os.fsdecode(row[0]) for row in self._rows("SELECT path FROM suspects")]


_AMONG = "WHERE doc_id IN (SELECT value FROM json_each(?))"


def _json(numbers: Iterable[int]) -> str:
    """The parameter of a `json_each(?)`: Python writes a list of numbers as JSON does."""
    return str([int(number) for number in numbers])


_BELOW = "path = ? OR (path >= ? AND path < ?)"


def _below(folder: str) -> tuple[bytes, bytes, bytes]:
    """The parameters of `_BELOW`."""
    path = os.fsencode(folder)
    first = path.removesuffix(os.fsencode(os.sep)) + os.fsencode(os.sep)
    return path, first, first[:-1] + bytes((first[-1] + 1,))


def _document(row: tuple[Any, ...]) -> DocumentRow:
    values = list(row)
    values[1], values[-1] = os.fsdecode(row[1]), msgspec.msgpack.decode(row[-1], type=tuple[int, ...])
    values[7] = _pairs(row[7])
    if row[4] == "html":
        values[-1:] = (), values[-1]
    return DocumentRow(*values)


def _text(text_z: bytes | None) -> str:
    return zlib.decompress(text_z).decode("utf-8") if text_z else ""


def _pairs(properties: bytes) -> Properties:
    return msgspec.msgpack.decode(properties, type=Properties) if properties else ()
