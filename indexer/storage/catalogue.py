"""The catalogue: what is indexed, what could not be read, and what was passed over; one SQLite file.

Any number of threads and processes may read at any time; only the holder of the index's write lock writes
(`CatalogueWriter`), all of a commit or nothing, after its documents are durable in the index.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import threading
import time
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from indexer.documents import FileEntry, Listing, Skipped, storable
from indexer.errors import IndexDamaged, IndexerError
from indexer.storage import database, threads
from indexer.storage.database import Connection, use_write_ahead_log
from indexer.storage.settled import TABLE as SETTLED
from indexer.storage.settled import SettledFolders, skipped_rows, unsettle, unsettle_all
from indexer.storage.unwritable import cause, connect_to_read, is_unwritable

if TYPE_CHECKING:
    from indexer.prepare import PreparedDocument


VERSION = 2
"""of the tables; another version is rebuilt from the files"""

UNREAD = "unread"
"""the reader of a file that the crawl says is not read"""
AS_SOURCE = " as "
"""stands in the reader of a file that was read as a source, before its name"""

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
    SETTLED,
    *threads.TABLES,
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
}
"""roots: a list of paths as bytes; skipped: how many paths each rule passed over; wipe_by: see `Catalogue.wipe_by`"""

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
    connection = database.connect(path)
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
        connection.execute(SETTLED)
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
    properties: tuple[tuple[str, str], ...]
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

    def threads_of(self, doc_ids: Iterable[int]) -> dict[int, threads.Thread]:
        """The thread of each of those documents that are mails with an id."""
        with plain_errors(self.path):
            return threads.threads_of(self.connection, doc_ids)

    def parts_of(self, path: str) -> dict[str, int]:
        """The documents of one file by their parts."""
        query = "SELECT part, doc_id FROM documents JOIN files USING (file_id) WHERE path = ?"
        return dict(self._rows(query, os.fsencode(path)))

    def doc_ids_of_thread(self, thread: str) -> set[int]:
        """The mails of the thread with that name, or with a message of that id."""
        with plain_errors(self.path):
            return threads.doc_ids_in(self.connection, thread)

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


def _pairs(properties: bytes) -> tuple[tuple[str, str], ...]:
    return msgspec.msgpack.decode(properties, type=tuple[tuple[str, str], ...]) if properties else ()


AWAY = "away"
"""the rule of folders whose files are out of sight and kept"""
MAX_SKIPPED_ROWS = 10_000
"""Paths listed one by one; the counts by rule go on."""


class StoredFile(msgspec.Struct, frozen=True):
    """One file that was read, or could not be: the row to write."""

    file_id: int
    entry: FileEntry
    state: str
    kind: str
    reason: str
    reader: str
    digest: bytes = b""
    tries: int = 0


class Batch(msgspec.Struct):
    """What waits for the next commit."""

    files: list[StoredFile] = msgspec.field(default_factory=list)
    documents: list[tuple[Any, ...]] = msgspec.field(default_factory=list)
    texts: list[tuple[int, bytes]] = msgspec.field(default_factory=list)
    mails: list[tuple[int, tuple[str, ...]]] = msgspec.field(default_factory=list)
    """document and message ids, as indexer.storage.threads ties them"""
    replaced: list[int] = msgspec.field(default_factory=list)
    """file ids whose old rows go"""
    touched: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """(changed_ns, file id) of files whose content is as it was"""
    n_text_bytes: int = 0

    def add(self, file: StoredFile, documents: Iterable[tuple[int, PreparedDocument]] = ()) -> None:
        """Add a file with its documents and their ids; postings are not kept.

        Adds nothing and raises TypeError, ValueError, OverflowError or AttributeError when SQLite could not take all of
        it: found out when the batch is written, that would cost all that waits.
        """
        added = list(documents)
        rows = [_document_row(doc_id, file, document) for doc_id, document in added]
        texts = [(doc_id, document.text_z) for doc_id, document in added if document.text_z]
        mails = [(doc_id, document.message_ids) for doc_id, document in added if document.message_ids]
        for row in (_file(file, 0.0), *rows):
            _check(row)
        for _, ids in mails:
            threads.keys_of(0, ids)
        n_text_bytes = sum(len(text_z) for _, text_z in texts)
        self.files.append(file)
        self.documents += rows
        self.texts += texts
        self.mails += mails
        self.n_text_bytes += n_text_bytes

    def __bool__(self) -> bool:
        return self.changes_documents or bool(self.touched)

    @property
    def changes_documents(self) -> bool:
        """Whether the index changes with this batch."""
        return bool(self.files or self.replaced)


class CatalogueWriter:
    """Writes to a catalogue; only for the holder of the index's write lock."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._next_doc_id = int(catalogue.meta("next_doc_id"))
        self._next_file_id = int(catalogue.meta("next_file_id"))

    def new_doc_id(self) -> int:
        """A document id that no document ever had."""
        self._next_doc_id += 1
        return self._next_doc_id - 1

    def new_file_id(self) -> int:
        self._next_file_id += 1
        return self._next_file_id - 1

    def pass_over_doc_ids(self, used: Iterable[int]) -> None:
        """Never give out ids up to the largest of `used` again."""
        self._next_doc_id = max(self._next_doc_id, max(used, default=0) + 1)

    def commit(self, batch: Batch, *, generation: int) -> None:
        """Write `batch` and say that the catalogue now describes `generation` of the index."""
        path = self._catalogue.path
        with plain_errors(path), transaction(self._catalogue.connection) as connection:
            file_ids = [*batch.replaced, *(file.file_id for file in batch.files)]
            unsettle(connection, file_ids, (file.entry.path for file in batch.files))
            now = time.time()
            if _delete_files(connection, file_ids):
                by = 0.0 if batch.replaced else now + CHANGED_STAYS
                connection.execute("UPDATE meta SET value = min(value, ?) WHERE key = 'wipe_by'", (by,))
            connection.executemany(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (_file(file, now) for file in batch.files),
            )
            connection.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", batch.documents
            )
            connection.executemany("INSERT INTO texts VALUES (?, ?)", batch.texts)
            threads.tie(connection, batch.mails)
            connection.executemany("UPDATE files SET changed_ns = ? WHERE file_id = ?", batch.touched)
            _set(connection, {"next_doc_id": self._next_doc_id, "next_file_id": self._next_file_id})
            _set(connection, {"generation": generation})

    def read_again(self, doc_ids: Iterable[int], *, generation: int) -> list[int]:
        """Mark the files of `doc_ids` as pending and forget their documents; gives all doc ids of those files."""
        path = self._catalogue.path
        with plain_errors(path), transaction(self._catalogue.connection) as connection:
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS lost (doc_id INTEGER PRIMARY KEY)")
            connection.execute("DELETE FROM lost")
            connection.executemany("INSERT INTO lost VALUES (?)", ((doc_id,) for doc_id in doc_ids))
            rows = connection.execute("SELECT DISTINCT file_id FROM documents JOIN lost USING (doc_id)").fetchall()
            unsettle_all(connection)
            known = connection.executemany("UPDATE files SET state = 'pending' WHERE file_id = ?", rows)
            known.close()
            gone = [
                doc_id
                for row in rows
                for (doc_id,) in connection.execute("SELECT doc_id FROM documents WHERE file_id = ?", row)
            ]
            _delete_documents(connection, [row[0] for row in rows])
            _set(connection, {"generation": generation, "next_doc_id": self._next_doc_id})
        return gone


def read_anew(catalogue: Catalogue, paths: Iterable[str]) -> None:
    """Have whoever follows changes, or the next scan, read these files again though they have not changed.

    They stay found meanwhile.
    """
    rows = [(os.fsencode(path),) for path in paths]
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        connection.executemany("UPDATE files SET state = 'pending' WHERE path = ?", rows).close()
        connection.executemany("INSERT OR IGNORE INTO suspects VALUES (?)", rows).close()


def note_scan(
    catalogue: Catalogue, *, roots: Sequence[str], skipped: Sequence[Skipped], by_rule: Mapping[str, int],
    settled: SettledFolders | None = None, listings: Sequence[Listing] = (),
) -> None:  # fmt: skip
    """Keep what a whole scan passed over, if that changed, when the scan was, and which of the `listings` settle."""
    shown = skipped[:MAX_SKIPPED_ROWS]
    rows = skipped_rows(shown)
    digest = hashlib.blake2b(repr((rows, sorted(by_rule.items()))).encode(), digest_size=16).digest()
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        if catalogue.meta("skipped_hash") != digest:
            connection.execute("DELETE FROM skipped")
            connection.executemany("INSERT INTO skipped VALUES (?, ?, ?)", rows)
            _set(connection, {"skipped": msgspec.msgpack.encode(dict(by_rule)), "skipped_hash": digest})
        if settled is not None:
            settled.note(listings)
        _set(connection, {"roots": msgspec.msgpack.encode([os.fsencode(root) for root in roots])})
        _set(connection, {"last_update": time.time()})


def note_update(catalogue: Catalogue, checked: Sequence[str]) -> None:
    """Keep when an update of single paths was, and that the suspects among them were looked at."""
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        connection.executemany("DELETE FROM suspects WHERE path = ?", ((os.fsencode(path),) for path in checked))
        _set(connection, {"last_update": time.time()})


def compact(catalogue: Catalogue) -> None:
    """Give the space of removed documents back to the disk."""
    with plain_errors(catalogue.path):
        threads.forget_empty(catalogue.connection)
        catalogue.connection.execute("VACUUM")


def wipe_soon(catalogue: Catalogue) -> None:
    """Have the next scan wipe."""
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        _set(connection, {"wipe_by": 0.0})


def note_wiped(catalogue: Catalogue, *, generation: int) -> None:
    """Drop the threads of which no mail is left; nothing else is left of what was deleted."""
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        threads.forget_empty(connection)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('wipe_by', ?)", (math.inf,))
        _set(connection, {"generation": generation})


def empty_log(catalogue: Catalogue) -> None:
    """Leave nothing in the write-ahead log; while somebody reads it stays until the next time."""
    with plain_errors(catalogue.path):
        catalogue.connection.execute(TRUNCATE)


def _document_row(doc_id: int, file: StoredFile, document: PreparedDocument) -> tuple[Any, ...]:
    modified = document.modified
    if modified is None or not math.isfinite(modified):
        modified = file.entry.modified_ns / 1e9
    return (
        doc_id, file.file_id, storable(document.part), storable(document.title), document.type,
        storable(document.author), storable(document.recipients), _stored_pairs(document.properties),
        modified, document.language, document.truncated, document.n_words, document.content_hash,
        msgspec.msgpack.encode(document.starts),
    )  # fmt: skip


def _check(row: Iterable[object]) -> None:
    """Raise what SQLite would raise for `row`."""
    for value in row:
        if isinstance(value, str):
            value.encode()
        elif isinstance(value, int):
            value.to_bytes(8, "little", signed=True)
        elif not isinstance(value, bytes | float):
            raise TypeError(f"wanted a number, a text or bytes, got {type(value).__name__}")


def _stored_pairs(properties: Iterable[tuple[str, str]]) -> bytes:
    pairs = [(storable(name), storable(value)) for name, value in properties]
    return msgspec.msgpack.encode(pairs) if pairs else b""


def _file(file: StoredFile, now: float) -> tuple[Any, ...]:
    entry = file.entry
    reason = storable(file.reason)
    return (
        file.file_id, os.fsencode(entry.path), entry.size, entry.modified_ns, entry.device, entry.inode,
        entry.changed_ns, file.digest, file.state, file.kind, reason, file.reader, file.tries, now,
    )  # fmt: skip


def _delete_files(connection: Connection, file_ids: Sequence[int]) -> bool:
    """Whether one of them was there."""
    _delete_documents(connection, file_ids)
    deleted = connection.executemany("DELETE FROM files WHERE file_id = ?", ((file_id,) for file_id in file_ids))
    return deleted.rowcount > 0


def _delete_documents(connection: Connection, file_ids: Sequence[int]) -> None:
    threads.untie(connection, file_ids)
    of_file = "(SELECT doc_id FROM documents WHERE file_id = ?)"
    connection.executemany(f"DELETE FROM texts WHERE doc_id IN {of_file}", ((file_id,) for file_id in file_ids))
    connection.executemany("DELETE FROM documents WHERE file_id = ?", ((file_id,) for file_id in file_ids))


def _set(connection: Connection, values: Mapping[str, object]) -> None:
    connection.executemany("UPDATE meta SET value = ? WHERE key = ?", ((value, key) for key, value in values.items()))
