"""The tables of the catalogue, and how its file is opened."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from indexer.errors import IndexDamaged, IndexerError

VERSION = 1
"""of the tables; another version is rebuilt from the files"""

TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    """CREATE TABLE files (
        file_id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE,      -- as os.fsencode gives it
        size INTEGER NOT NULL,          -- bytes
        modified_ns INTEGER NOT NULL,   -- since the epoch, UTC
        device INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        state TEXT NOT NULL,            -- indexed; failed; pending: the index may lack it, read it again
        kind TEXT NOT NULL,             -- of the failure, as in ExtractionError
        reason TEXT NOT NULL,           -- of the failure; or one line for each part that could not be read
        reader TEXT NOT NULL,           -- the version of the extractors and their limits
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
        modified REAL NOT NULL,         -- seconds since the epoch
        language TEXT NOT NULL,
        truncated TEXT NOT NULL,
        n_words INTEGER NOT NULL,
        content_hash BLOB NOT NULL,
        pages BLOB NOT NULL             -- msgpack array of offsets
    )""",
    "CREATE INDEX documents_of_file ON documents (file_id)",
    "CREATE TABLE texts (doc_id INTEGER PRIMARY KEY, text_z BLOB NOT NULL)",  # zlib of UTF-8
    "CREATE TABLE skipped (path BLOB NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL)",
    "CREATE TABLE suspects (path BLOB PRIMARY KEY) WITHOUT ROWID",  # a search found them gone
)

FIRST_META: dict[str, object] = {
    "generation": 0,
    "next_doc_id": 1,
    "next_file_id": 1,
    "roots": msgspec.msgpack.encode([]),
    "skipped": msgspec.msgpack.encode({}),
    "skipped_hash": b"",
    "last_update": 0.0,
}
"""roots: a list of paths as bytes; skipped: how many paths each rule passed over"""


class Connection(sqlite3.Connection):
    """One that a WeakSet can hold."""


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours: damage asks for a rebuild, a full disk says so."""
    try:
        yield
    except sqlite3.Error as error:
        name: str = error.sqlite_errorname if hasattr(error, "sqlite_errorname") else ""
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such" in str(error):
            raise IndexDamaged(f"the catalogue {path} cannot be read: {error}") from error
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            raise IndexerError(f"{path} cannot be written, perhaps the disk is full: {error}") from error
        raise IndexerError(f"{path}: {error}") from error


def connect(path: Path) -> Connection:
    """A connection in autocommit mode that waits for other writers; a new file gets the mode 0600."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False, factory=Connection)
    connection.execute("PRAGMA journal_mode = WAL")
    # A last transaction lost in a power cut is noticed: its generation is then older than that of the index.
    connection.execute("PRAGMA synchronous = NORMAL")
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


def make_tables(connection: Connection, path: Path) -> None:
    """Make the tables in a new file; raises IndexDamaged when another version made them."""
    if not _version(connection) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        with transaction(connection):
            if not _version(connection):  # else another process was faster
                _create(connection)
    if (version := _version(connection)) != VERSION:
        raise IndexDamaged(f"the catalogue has version {version}, this program has version {VERSION}: {path}")


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
