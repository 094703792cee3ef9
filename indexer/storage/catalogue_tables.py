"""The tables of the catalogue: made, checked for their version, emptied."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from indexer.errors import IndexDamaged, IndexerError
from indexer.storage import mail_threads
from indexer.storage.sqlite_files import TRUNCATE, Connection, connect_to_share, transaction

VERSION = 2
"""version of the tables; a catalogue of another version is rebuilt from the files"""

_SETTLED = """CREATE TABLE settled (
    folder BLOB PRIMARY KEY,        -- as os.fsencode gives it
    digest BLOB NOT NULL,           -- of the listing
    n_files INTEGER NOT NULL,       -- in the folder itself
    skipped BLOB NOT NULL           -- msgpack array of [path, rule, reason]
) WITHOUT ROWID"""

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
"""roots: a list of paths as bytes; skipped: how many paths each rule skipped; the last two: see `Catalogue`"""


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

    Document ids continue, so that no reader takes a new document for an old one. A file that is no database is deleted.
    """
    try:
        with closing(connect_to_share(path)) as connection:
            with transaction(connection):
                _make_anew(connection)
            connection.execute(TRUNCATE)
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
