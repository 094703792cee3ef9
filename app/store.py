"""What this device keeps between runs: one SQLite file, state.sqlite, readable by its owner only.

It holds interactions (features, ranking and clicks only), model versions, keyed hashes of picks, ranks of opened
results, the session's nonce, the last page and, if switched on, past queries. It never holds a path or a text of a
document. Deleted rows are overwritten.

Any number of threads and processes may use it at once. What must be durable (a lesson, a pick) is synchronised to
the disk before the call returns; kill -9 loses at most what was not yet acknowledged.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from app.store_schema import MIGRATIONS
from foltr.errors import FoltrError
from foltr.ranking.interaction import Interaction, decode, encode

APPLICATION_ID = 0x464F4C54
""""FOLT": how SQLite's header names this kind of file"""


class StateError(FoltrError):
    """The device's state file cannot be used; the message says why and what to do."""


class Store:
    """The state file, open."""

    def __init__(self, path: Path) -> None:
        """Open the file, make it when there is none, and bring an older one up to date.

        Raises StateError for a file that is damaged, of another program, or of a newer version of this one.
        """
        self.path = path
        self.lock = RLock()
        """held during every call; memory that mirrors a table is guarded by it too, so that nobody waits in a ring"""
        self._depth = 0
        _create_private(path)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
        except sqlite3.Error as error:
            raise StateError(f"{path} cannot be opened: {error}") from error
        try:
            with self._named_errors():
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        with self.lock:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing: what is written inside is kept when the block ends, and undone when it raises.

        Blocks may be nested; the outermost decides. Not `durable` spares the wait for the disk: a power cut may then
        take the transaction back, killing the program may not.
        """
        with self.lock, self._named_errors():
            if self._depth:
                yield self._db
                return
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                self._depth = 0
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        """All rows of one SELECT."""
        with self.lock, self._named_errors():
            return self._db.execute(sql, tuple(parameters)).fetchall()

    def value(self, key: str) -> bytes | None:
        """A small named value, None when it was never set."""
        found = self.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return bytes(found[0][0]) if found else None

    def set_value(self, key: str, value: bytes | None, *, durable: bool = False) -> None:
        """Set a small named value; None removes it."""
        with self.transaction(durable=durable) as db:
            if value is None:
                db.execute("DELETE FROM meta WHERE key = ?", (key,))
            else:
                db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def erase(self, *tables: str) -> None:
        """Remove all rows of these tables, and what the write-ahead log still holds of removed rows."""
        with self.transaction() as db:
            for table in tables:
                db.execute(f'DELETE FROM "{table}"')
        with self.lock, self._named_errors():
            if not self._depth:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def add_interaction(self, interaction: Interaction, *, manifest_hash: str, cap: int) -> None:
        """Keep one page for later learning, and drop the oldest beyond `cap`."""
        with self.transaction() as db:
            # Features lie in [0, 1], where float16 keeps three decimals at half the space.
            record = encode(interaction, "float16")
            db.execute("INSERT INTO interactions (manifest_hash, record) VALUES (?, ?)", (manifest_hash, record))
            trim(db, "interactions", cap)

    def interactions(self, manifest_hash: str) -> Iterator[Interaction]:
        """The pages kept whose features have this meaning, oldest first."""
        ids = self.rows("SELECT id FROM interactions WHERE manifest_hash = ? ORDER BY id", (manifest_hash,))
        for (row_id,) in ids:
            for (record,) in self.rows("SELECT record FROM interactions WHERE id = ?", (row_id,)):
                yield decode(record)

    def count_interactions(self) -> int:
        return int(self.rows("SELECT count(*) FROM interactions")[0][0])

    def clear_interactions(self) -> None:
        """Forget all pages, the last one too. What was learned from them stays in the model."""
        with self.transaction():
            self.erase("interactions")
            self.set_value("last page", None)
        self.erase()

    def _prepare(self) -> None:
        """Settings of the connection, then the missing steps of the schema in one transaction."""
        self._db.execute("PRAGMA secure_delete = ON")
        self._refuse_strangers()
        self._use_write_ahead_log()
        if self._schema_version() == len(MIGRATIONS):
            return
        with self.transaction() as db:
            for step in MIGRATIONS[self._schema_version() :]:
                for statement in step:
                    db.execute(statement)
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _use_write_ahead_log(self) -> None:
        """Readers never wait for a writer. Changing the mode ignores SQLite's own waiting, so wait here."""
        for _ in range(100):
            try:
                if self._db.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                    return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
            time.sleep(0.05)
        raise StateError(f"{self.path} cannot be switched to a write-ahead log (is it on a network folder?)")

    def _schema_version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _refuse_strangers(self) -> None:
        # In this order: another process that makes the file right now writes both in one transaction.
        n_tables = int(self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        kind = int(self._db.execute("PRAGMA application_id").fetchone()[0])
        if n_tables and kind != APPLICATION_ID:
            raise StateError(f"{self.path} is a database of another program; move it away to start afresh")
        if self._schema_version() > len(MIGRATIONS):
            raise StateError(
                f"{self.path} was written by a newer foltr-search (format {self._schema_version()}, this one reads "
                f"up to {len(MIGRATIONS)}); update the program, or move the file away to start afresh"
            )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """SQLite's errors as one line for a person."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StateError(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise StateError(f"{self.path} is damaged ({error}); move it away to start afresh") from error


def trim(db: sqlite3.Connection, table: str, cap: int) -> None:
    """Drop the oldest rows of a table with ascending `id`, so that `cap` stay."""
    newest_to_drop = f'SELECT id FROM "{table}" ORDER BY id DESC LIMIT 1 OFFSET ?'
    db.execute(f'DELETE FROM "{table}" WHERE id <= ({newest_to_drop})', (cap,))


def _create_private(path: Path) -> None:
    """Make the file (0600) and its folder (0700) before SQLite would make them with the user's umask."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
    except OSError as error:
        raise StateError(f"{path} cannot be opened: {error.strerror}") from error
