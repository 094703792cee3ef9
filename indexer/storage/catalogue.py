"""The catalogue: what is indexed, what could not be read, and what was passed over; one SQLite file.

Any number of threads and processes may read at any time; who holds the index's write lock writes it
(`catalogue_writing`).
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
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from indexer.errors import IndexDamaged, IndexerError
from indexer.properties import Properties
from indexer.storage import mail_threads, sqlite_files
from indexer.storage.sqlite_files import Connection, cause, connect_to_read, is_unwritable, use_write_ahead_log

if TYPE_CHECKING:
    pass


VERSION = 2
"""of the tables; another version is rebuilt from the files"""

UNREAD = "unread"
"""the reader of a file that the crawl says is not read"""
AS_SOURCE = " as "
"""stands in the reader of a file that was read as a source, before its name"""

AWAY = "away"
"""the rule of folders whose files are out of sight and kept"""

_SETTLED = """CREATE TABLE IF NOT EXISTS settled (
    folder BLOB PRIMARY KEY,        -- as os.fsencode gives it
    digest BLOB NOT NULL,           -- of the listing
    n_files INTEGER NOT NULL,       -- in the folder itself
    skipped BLOB NOT NULL           -- msgpack array of [path, rule, reason]
) WITHOUT ROWID"""
"""a catalogue of version 2 may be older than this table, and gets it when it is opened"""

TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    """CREATE TABLE files (
        file_id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE,      -- as os.fsencode gives it
        size INTEGER NOT NULL,          -- bytes
        modified_ns INTEGER NOT NULL,   -- since the epoch, UTC
        device INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        changed_ns INTEGER NOT NULL,    -- ctime; 0: not known
        digest BLOB NOT NULL,           -- of the content as it was read; empty: not known
        state TEXT NOT NULL,            -- indexed; named: its name alone, and nothing is wrong; failed;
                                        -- pending: the index may lack it, read it again
        kind TEXT NOT NULL,             -- of the failure, as in ExtractionError
        reason TEXT NOT NULL,           -- of the failure, or why it is not read; or a line for each part that failed
        reader TEXT NOT NULL,           -- the version of the extractors and their limits; "unread" if none was asked
        tries INTEGER NOT NULL,         -- how often in a row it was read and failed
        indexed_at REAL NOT NULL        -- seconds since the epoch
    )""",
    """CREATE TABLE documents (
        doc_id INTEGER PRIMARY KEY,
        file_id INTEGER NOT NULL,
        part TEXT NOT NULL,
        title TEXT NOT NULL,
        type TEXT NOT NULL,
        author TEXT NOT NULL,
        recipients TEXT NOT NULL,
        properties BLOB NOT NULL,       -- msgpack array of [name, value], empty for none
        modified REAL NOT NULL,         -- seconds since the epoch
        language TEXT NOT NULL,
        truncated TEXT NOT NULL,
        n_words INTEGER NOT NULL,
        content_hash BLOB NOT NULL,
        pages BLOB NOT NULL             -- msgpack array of offsets; of HTML those of its headings
    )""",
    "CREATE INDEX documents_of_file ON documents (file_id)",
    "CREATE TABLE texts (doc_id INTEGER PRIMARY KEY, text_z BLOB NOT NULL)",  # zlib of UTF-8
    "CREATE TABLE skipped (path BLOB NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL)",
    "CREATE TABLE suspects (path BLOB PRIMARY KEY) WITHOUT ROWID",  # to be looked at
    _SETTLED,
    *mail_threads.TABLES,
)

FIRST_META: dict[str, object] = {
    "generation": 0,
    "next_doc_id": 1,
    "next_file_id": 1,
    "roots": msgspec.msgpack.encode([]),
    "skipped": msgspec.msgpack.encode({}),
    "skipped_hash": b"",
    "last_update": 0.0,
    "wipe_by": math.inf,
    "is_whole": 0,
}
"""roots: a list of paths as bytes; skipped: how many paths each rule passed over; the last: as `Catalogue` has them"""

CHANGED_STAYS = 3600.0
"""seconds that words may stay which a changed file no longer has: no large segment is written anew at every change"""


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
            raise IndexerError(f"{path} cannot be written ({cause(error)})") from error
        raise IndexerError(f"{path}: {error}") from error


def connect(path: Path) -> Connection:
    """A connection in autocommit mode that waits for other writers.

    A catalogue that is there and cannot be written is opened for reading.
    """
    try:
        return _connect_to_write(path)
    except (sqlite3.OperationalError, OSError) as error:
        if not is_unwritable(error):
            raise
        return connect_to_read(path)


def _connect_to_write(path: Path) -> Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    connection = sqlite_files.connect(path)
    try:
        use_write_ahead_log(connection, path)
    except sqlite3.Error:
        connection.close()
        raise
    connection.execute("PRAGMA secure_delete = ON")  # as state.sqlite has it, however SQLite was compiled
    # What `index` has acknowledged is found after a power cut, also while others have the catalogue open.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA journal_size_limit = 16000000")
    return connection


@contextmanager
def transaction(connection: Connection) -> Iterator[Connection]:
    """All or nothing, and no other writer meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    if connection.is_stranded:
        raise IndexDamaged("the catalogue was removed or replaced while it was open")


def make_tables(connection: Connection, path: Path) -> None:
    """Make the tables in a new file; raises IndexDamaged when another version made them."""
    if not _version(connection) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        with transaction(connection):
            if not _version(connection):  # else another process was faster
                _create(connection)
    if (version := _version(connection)) != VERSION:
        raise IndexDamaged(f"the catalogue has version {version}, this program has version {VERSION}: {path}")
    try:
        connection.execute(_SETTLED)
    except sqlite3.OperationalError as error:
        if not is_unwritable(error):  # else nothing is scanned
            raise


def _create(connection: Connection) -> None:
    for table in TABLES:
        connection.execute(table)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", FIRST_META.items())
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _version(connection: Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def reset(path: Path) -> None:
    """Empty the catalogue, whatever its version; readers go on with the new, empty one.

    Document ids go on where they were, so that no reader takes a new document for an old one. A file that is
    no database is deleted.
    """
    try:
        connection = connect(path)
        try:
            with transaction(connection):
                _make_anew(connection)
            connection.execute(TRUNCATE)
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            raise IndexerError(f"another process is writing to {path}") from error
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)


def _make_anew(connection: Connection) -> None:
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    kept: list[tuple[str, object]] = []
    if "meta" in tables:
        kept = connection.execute("SELECT key, value FROM meta WHERE key IN ('next_doc_id', 'next_file_id')").fetchall()
    for table in tables:
        connection.execute(f'DROP TABLE "{table}"')
    _create(connection)
    connection.executemany("UPDATE meta SET value = ?2 WHERE key = ?1", kept)


TRUNCATE = "PRAGMA wal_checkpoint(TRUNCATE)"


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
    """offsets of the lines that are headings, of HTML alone"""


class Counts(msgspec.Struct, frozen=True):
    n_files: int
    """files that were read"""
    n_named: int
    """files that are found by their names alone"""
    n_documents: int
    n_failures: int
    n_skipped: int


class Failure(msgspec.Struct, frozen=True):
    """One file that could not be read."""

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
    """how often in a row it was read and failed"""


class FileRow(msgspec.Struct, frozen=True):
    """All that is known of one file."""

    path: str
    known: KnownFile
    reason: str
    indexed_at: float
    """seconds since the epoch"""
    n_documents: int
    truncated: str


MAX_SEEN = 5_000
"""rows that are kept for the next question, as long as nothing is committed"""
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

    @staticmethod
    def destroy(path: Path) -> None:
        """Empty the catalogue, so that everything is indexed again."""
        reset(path)

    @property
    def connection(self) -> Connection:
        """This thread's own connection."""
        found: Connection | None = self._local.__dict__.get("connection")
        if found is None:
            found = self._local.connection = connect(self.path)
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
        """One value of the table `meta`."""
        return self._rows("SELECT value FROM meta WHERE key = ?", key)[0][0]

    @property
    def generation(self) -> int:
        """The commit of the index that this catalogue describes."""
        return int(self.meta("generation"))

    @property
    def wipe_by(self) -> float | None:
        """When nothing is to be left of what was deleted (seconds since the epoch), infinity where nothing was.

        None for a catalogue from before this was known: what was deleted may be anywhere in it.
        """
        rows = self._rows("SELECT value FROM meta WHERE key = 'wipe_by'")
        return float(rows[0][0]) if rows else None

    def is_to_be_wiped(self, now: float) -> bool:
        """Whether that time has come; also where a clock that went back would put it off."""
        by = self.wipe_by
        return by is None or (by < math.inf and not now < by <= now + CHANGED_STAYS)

    @property
    def is_whole(self) -> bool:
        """Whether a scan has come to its end since the index was made, so that what it lacks is nowhere."""
        return self._rows("SELECT value FROM meta WHERE key = 'is_whole'") != [(0,)]

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
            seen.update(self._read_documents(lacking))
        return {doc_id: seen[doc_id] for doc_id in wanted if doc_id in seen}

    def _read_documents(self, doc_ids: Iterable[int]) -> dict[int, DocumentRow]:
        wanted = str([int(doc_id) for doc_id in doc_ids])  # numbers in JSON are as Python writes them
        rows = self._rows(
            f"SELECT {_DOCUMENT}, pages FROM documents JOIN files USING (file_id)"
            " WHERE doc_id IN (SELECT value FROM json_each(?))",
            wanted,
        )
        return {row[0]: _document(row) for row in rows}

    def text(self, doc_id: int) -> str:
        """The text of a document; "" when it was removed meanwhile."""
        rows = self._rows("SELECT text_z FROM texts WHERE doc_id = ?", doc_id)
        return _text(rows[0][0]) if rows else ""

    def beginning(self, doc_id: int, n: int) -> str:
        """The first `n` characters of a document's text; the rest is not taken out."""
        rows = self._rows("SELECT text_z FROM texts WHERE doc_id = ?", doc_id)
        start = zlib.decompressobj().decompress(rows[0][0], 4 * n) if rows and rows[0][0] else b""
        return start.decode("utf-8", "ignore")[:n]

    def written(self, doc_ids: Iterable[int]) -> Iterator[tuple[int, str]]:
        """The ids of those documents that are there, each with its path, title, properties and text in lines."""
        wanted = str([int(doc_id) for doc_id in doc_ids])
        rows = self._rows(
            "SELECT doc_id, path, title, properties, text_z"
            " FROM documents JOIN files USING (file_id) LEFT JOIN texts USING (doc_id)"
            " WHERE doc_id IN (SELECT value FROM json_each(?))",
            wanted,
        )
        for doc_id, path, title, properties, text_z in rows:
            values = (value for _, value in _pairs(properties))
            yield doc_id, "\n".join((os.fsdecode(path), title, *values, _text(text_z)))

    def doc_ids_of(self, path: str) -> tuple[int, ...]:
        """The documents of one file, in their order in it."""
        query = "SELECT doc_id FROM documents JOIN files USING (file_id) WHERE path = ? ORDER BY doc_id"
        return tuple(row[0] for row in self._rows(query, os.fsencode(path)))

    def threads_of(self, doc_ids: Iterable[int]) -> dict[int, mail_threads.Thread]:
        """The thread of each of those documents that are mails with an id."""
        with plain_errors(self.path):
            return mail_threads.threads_of(self.connection, doc_ids)

    def parts_of(self, path: str) -> dict[str, int]:
        """The documents of one file by their parts."""
        query = "SELECT part, doc_id FROM documents JOIN files USING (file_id) WHERE path = ?"
        return dict(self._rows(query, os.fsencode(path)))

    def doc_ids_of_thread(self, thread: str) -> set[int]:
        """The mails of the thread with that name, or with a message of that id."""
        with plain_errors(self.path):
            return mail_threads.doc_ids_in(self.connection, thread)

    def doc_ids(self) -> set[int]:
        """All documents."""
        return {row[0] for row in self._rows("SELECT doc_id FROM documents")}

    def doc_ids_of_files(self, file_ids: Iterable[int]) -> list[int]:
        """The documents of some files."""
        query = "SELECT doc_id FROM documents WHERE file_id IN (SELECT value FROM json_each(?))"
        return [row[0] for row in self._rows(query, str(list(file_ids)))]

    def paths_of(self, doc_ids: Iterable[int]) -> list[str]:
        """The files of some documents, each once for each of them that is known."""
        query = "SELECT path FROM documents JOIN files USING (file_id) WHERE doc_id IN (SELECT value FROM json_each(?))"
        return [os.fsdecode(row[0]) for row in self._rows(query, str(list(doc_ids)))]

    def counts(self) -> Counts:
        """How much there is of everything."""
        states = dict(self._rows("SELECT state, count(*) FROM files GROUP BY state"))
        n_documents = self._rows("SELECT count(*) FROM documents")[0][0]
        n_failures = states.pop("failed", 0)
        n_named, n_skipped = states.pop("named", 0), sum(self.skipped_by_rule().values())
        return Counts(sum(states.values()), n_named, n_documents, n_failures, n_skipped)

    def failures(self) -> list[Failure]:
        """Every file that could not be read, by path."""
        rows = self._rows("SELECT path, kind, reason FROM files WHERE state = 'failed' ORDER BY path")
        return [Failure(os.fsdecode(path), kind, reason) for path, kind, reason in rows]

    def partial_failures(self) -> list[Failure]:
        """Files that were read, but not every part of them (kind "part", one line for each part)."""
        rows = self._rows("SELECT path, reason FROM files WHERE state = 'indexed' AND reason <> '' ORDER BY path")
        return [Failure(os.fsdecode(path), "part", reason) for path, reason in rows]

    def skipped_by_rule(self) -> dict[str, int]:
        """How many paths each rule passed over in the last scan; a folder counts as one."""
        return msgspec.msgpack.decode(self.meta("skipped"), type=dict[str, int])

    def skipped(self) -> list[Failure]:
        """Paths that the last scan passed over (the first 10,000), the rule as `kind`."""
        rows = self._rows("SELECT path, rule, reason FROM skipped ORDER BY path")
        return [Failure(os.fsdecode(path), kind, reason) for path, kind, reason in rows]

    def away(self) -> list[Failure]:
        """Folders whose files the last scan did not see and kept, with what to tell of each as the reason."""
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

    def known(self, below: str | None = None) -> dict[str, KnownFile]:
        """All files by path, or `below` and what lies in it."""
        if below is None:
            rows = self._rows(f"SELECT {_KNOWN} FROM files")
        else:
            rows = self._rows(f"SELECT {_KNOWN} FROM files WHERE {_BELOW}", *_below(below))
        return {os.fsdecode(row[0]): KnownFile(*row[1:]) for row in rows}

    def doc_ids_below(self, folder: str) -> list[int]:
        """The documents of the file `folder`, or of those that lie in it."""
        query = f"SELECT doc_id FROM files JOIN documents USING (file_id) WHERE {_BELOW}"
        return [row[0] for row in self._rows(query, *_below(folder))]

    def types_below(self, folder: str) -> dict[str, int]:
        """How many documents of each type lie in `folder`."""
        query = f"SELECT type, count(*) FROM files JOIN documents USING (file_id) WHERE {_BELOW} GROUP BY type"
        return dict(self._rows(query, *_below(folder)))

    def known_of(self, paths: Iterable[str]) -> dict[str, KnownFile]:
        """Those of the files `paths` that are known."""
        with plain_errors(self.path):
            query = f"SELECT {_KNOWN} FROM files WHERE path = ?"
            rows = [(path, self.connection.execute(query, (os.fsencode(path),)).fetchone()) for path in paths]
        return {path: KnownFile(*row[1:]) for path, row in rows if row is not None}

    def on_device(self, device: int, *, outside: str, limit: int) -> list[tuple[str, int]]:
        """Path and inode of at most `limit` files that were on a device, but for those below the folder `outside`."""
        _, first, after = _below(outside)
        query = "SELECT path, inode FROM files WHERE device = ? AND NOT (path >= ? AND path < ?) LIMIT ?"
        return [(os.fsdecode(path), inode) for path, inode in self._rows(query, device, first, after, limit)]

    def paths(self) -> list[str]:
        """All files."""
        return [os.fsdecode(row[0]) for row in self._rows("SELECT path FROM files")]

    def read_at(self) -> dict[str, float]:
        """When each file was indexed, in seconds since the epoch."""
        return {os.fsdecode(path): when for path, when in self._rows("SELECT path, indexed_at FROM files")}

    def purge(self, path: str) -> None:
        """Note that a search found `path` gone; the next update looks and removes it."""
        with plain_errors(self.path):
            self.connection.execute("INSERT OR IGNORE INTO suspects VALUES (?)", (os.fsencode(path),))

    def suspects(self) -> list[str]:
        """Paths to look at: those that searches found gone, and those to be read anew."""
        return [os.fsdecode(row[0]) for row in self._rows("SELECT path FROM suspects")]


_BELOW = "path = ? OR (path >= ? AND path < ?)"


def _below(folder: str) -> tuple[bytes, bytes, bytes]:
    """What stands for the question marks of `_BELOW`."""
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
