"""What this device keeps between runs: one SQLite file, state.sqlite, readable by its owner only.

It holds interactions (features, ranking, clicks and the query's keyed hash only), model versions, keyed hashes of
picks, ranks of opened results, the session's nonce, the last page and, if switched on, past queries. It holds no text
of a document, and paths and titles only of documents judged in a review. Deleted rows are overwritten.

Any number of threads and processes may use it at once, also by several `Store`s of one process: each has a connection
of its own, so that none is in another's transaction, and SQLite knows of them all. What must be durable (a lesson, a
pick) is synchronised to the disk before the call returns; kill -9 loses at most what was not yet acknowledged.

A file's `user_version` is the number of its format. Released formats never change; a new one adds a step that leads to
it. Past queries are off by default, and kept apart from everything that is learned.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import msgspec

from app.settings import HistorySettings
from foltr.errors import FoltrError
from foltr.ranking.interaction import Interaction, decode, encode
from indexer.storage import sqlite_files
from indexer.storage.sqlite_files import Connection, cause, connect_to_read, is_full, is_unwritable, use_write_ahead_log

R = TypeVar("R")

_FIRST = (
    # small values by name: the session's nonce, the last page, a check of the key, a revision of the picks
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    # pages that taught something: foltr.ranking.interaction records, the query that each answered, named as in picks
    # (pages of one query are one voice; x'' has no name), and the app.learning.traits.Marks of its documents, packed
    """CREATE TABLE interactions (
        id INTEGER PRIMARY KEY AUTOINCREMENT, manifest_hash TEXT NOT NULL, record BLOB NOT NULL,
        query BLOB NOT NULL DEFAULT x'', marks BLOB NOT NULL DEFAULT x'')""",
    # the present model of each ranker: app.learning.model_versions.StoredModel; `revision` is new with each write
    "CREATE TABLE models (ranker TEXT PRIMARY KEY, revision BLOB NOT NULL, record BLOB NOT NULL) WITHOUT ROWID",
    # the model as it was at the end of a day (ISO date, local time)
    """CREATE TABLE snapshots (
        ranker TEXT NOT NULL, day TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (ranker, day)) WITHOUT ROWID""",
    # documents that were opened; every name is a keyed hash (app.learning.pick_keys), n_opened what is left at `last`
    """CREATE TABLE picked_documents (
        document BLOB PRIMARY KEY, path BLOB NOT NULL, part BLOB NOT NULL, type BLOB NOT NULL,
        n_opened REAL NOT NULL, last REAL NOT NULL) WITHOUT ROWID""",
    # which document was opened for which set of query terms
    """CREATE TABLE picks (
        document BLOB NOT NULL, query BLOB NOT NULL, n_picks REAL NOT NULL, last REAL NOT NULL,
        PRIMARY KEY (document, query)) WITHOUT ROWID""",
    "CREATE INDEX picks_by_query ON picks (query)",
    "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, query TEXT NOT NULL)",
    # where opened results stood: 1 for the first; winner of interleaving or null
    """CREATE TABLE outcomes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, rank_learned INTEGER NOT NULL,
        rank_bm25 INTEGER NOT NULL, source TEXT NOT NULL, winner TEXT)""",
    # the group this device belongs to: an app.federation.membership.Membership
    "CREATE TABLE membership (id INTEGER PRIMARY KEY CHECK (id = 1), record BLOB NOT NULL)",
    # what was spent on privacy, written before anything is sent; mechanism is JSON of foltr.privacy.mechanisms; against
    # whom it is counted: "server" where it opens each update, "sum" where it learns the sum alone
    """CREATE TABLE privacy_ledger (
        id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, group_id TEXT NOT NULL, lineage INTEGER NOT NULL,
        round INTEGER NOT NULL, n_params INTEGER NOT NULL, mechanism TEXT NOT NULL, exact_count INTEGER NOT NULL,
        against TEXT NOT NULL DEFAULT 'server', UNIQUE (group_id, lineage, round))""",
    """CREATE TRIGGER ledger_keeps BEFORE DELETE ON privacy_ledger
        BEGIN SELECT raise(ABORT, 'the privacy ledger only grows'); END""",
    """CREATE TRIGGER ledger_stands BEFORE UPDATE ON privacy_ledger
        BEGIN SELECT raise(ABORT, 'the privacy ledger only grows'); END""",
    # one sealed update a round, kept until the server has it so that it can be sent again unchanged;
    # last_page is the newest interaction that is in it, 0 where it does not count as used
    """CREATE TABLE uploads (
        lineage INTEGER NOT NULL, round INTEGER NOT NULL, body BLOB, state TEXT NOT NULL, last_page INTEGER NOT NULL,
        n_interactions INTEGER NOT NULL, PRIMARY KEY (lineage, round)) WITHOUT ROWID""",
    # the common ranker that this device ranks with: an app.federation.group_ranker.GroupRanker
    "CREATE TABLE group_ranker (id INTEGER PRIMARY KEY CHECK (id = 1), revision BLOB NOT NULL, record BLOB NOT NULL)",
    # what servers signed when this device left: an app.federation.membership.KeptReceipt
    "CREATE TABLE receipts (id INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT NOT NULL, record BLOB NOT NULL)",
    # the group's members as verified: the JSON of wire.RosterEntry by number
    "CREATE TABLE roster (number INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    # lists that a sealed group's server signed for a round: place 0 is answered, any other is proof against the server
    """CREATE TABLE round_lists (
        lineage INTEGER NOT NULL, round INTEGER NOT NULL, place INTEGER NOT NULL, signed BLOB NOT NULL,
        PRIMARY KEY (lineage, round, place)) WITHOUT ROWID""",
)

FIRST_FORMAT = 6
"""`user_version` of a file with `_FIRST`; no earlier format was released"""
LATER: tuple[tuple[str, ...], ...] = (
    # what an assistant asked and was given: its tool, its query, and the documents as in picks, packed
    (
        """CREATE TABLE requests (
            id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, tool TEXT NOT NULL, query TEXT NOT NULL,
            given BLOB NOT NULL)""",
    ),
    (
        # searches to the end, and what was judged in each: app.review.judgements
        """CREATE TABLE reviews (
            id INTEGER PRIMARY KEY AUTOINCREMENT, started REAL NOT NULL, query TEXT NOT NULL,
            taught INTEGER NOT NULL DEFAULT 0)""",
        """CREATE TABLE judgements (
            id INTEGER PRIMARY KEY AUTOINCREMENT, review INTEGER NOT NULL, identity BLOB NOT NULL, path BLOB NOT NULL,
            part TEXT NOT NULL, title TEXT NOT NULL, answer TEXT NOT NULL, time REAL NOT NULL)""",
        "CREATE INDEX judgements_of_review ON judgements (review, identity)",
    ),
    (
        # of a person with several devices: app.devices.records, in which file of their folder each lies ('' in none),
        # and the files that were read
        """CREATE TABLE device_records (
            id BLOB PRIMARY KEY, place INTEGER NOT NULL, forgets INTEGER NOT NULL, record BLOB NOT NULL,
            file TEXT NOT NULL) WITHOUT ROWID""",
        "CREATE INDEX device_records_by_place ON device_records (place)",
        "CREATE INDEX device_records_that_forget ON device_records (id) WHERE forgets",
        "CREATE TABLE device_files (name TEXT PRIMARY KEY, is_ours INTEGER NOT NULL) WITHOUT ROWID",
    ),
)
"""steps that lead from each released format to the next"""

APPLICATION_ID = 0x464F4C54
""""FOLT": how SQLite's header names this kind of file"""


class StateError(FoltrError):
    """The device's state file cannot be used; the message says why and what to do."""


class Store:
    """The state file, open."""

    def __init__(self, path: Path, *, writable: bool = True, content: bytes | None = None) -> None:
        """Open the file, make it when there is none, and bring an older one up to date.

        Unless `writable`, work on a copy in memory that is thrown away; `content` is that copy, and `path` names it
        in errors. Raises StateError for a file that is damaged, of another program, or of a newer version of this one.
        """
        self.path, self.is_kept = path, writable and content is None
        self.why_unkept = ""
        """why nothing can be kept, where `for_searching` found that"""
        self.lock = RLock()
        """held during every call; it also guards memory that mirrors a table, so that no deadlock is possible"""
        self._depth = 0
        try:
            self._db = self._open() if self.is_kept else self._copied(content)
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise StateError(f"{path} cannot be opened: {reason}") from error
        try:
            with self._named_errors():
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    @classmethod
    def for_searching(cls, path: Path) -> Store:
        """As `Store(path)`; if the disk is full or the folder read-only, a copy in memory that is thrown away."""
        store = None
        try:
            store = cls(path)
            store.set_value("can be written", b"yes")
            return store
        except StateError as error:
            if store is not None:
                store.close()
            if not is_unwritable(error.__cause__):
                raise
            copy = cls(path, writable=False)
            copy.why_unkept = cause(error.__cause__, path)
            return copy

    def _open(self) -> Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return sqlite_files.connect(self.path)

    def _copied(self, content: bytes | None) -> Connection:
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Connection)
        if content:
            copy.deserialize(content)
        elif content is None and self.path.exists() and self.path.stat().st_size:
            with closing(connect_to_read(self.path)) as stored:
                stored.backup(copy)
        return copy

    def content(self) -> bytes:
        """All that is kept, as one file without a write-ahead log; StateError where it is damaged anywhere."""
        self.read_through()
        with self.lock, self._named_errors():
            whole = self._db.serialize()
        return whole[:18] + b"\1\1" + whole[20:]  # the header's versions: no write-ahead log, sqlite.org/fileformat2

    def hold_alone(self) -> None:
        """Keep others from reading or writing until `close`; StateError while another has it open for writing."""
        with self.lock, self._named_errors():
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode = DELETE")
            self._db.places.pop(f"{self.path}-wal")
            self._db.execute("BEGIN EXCLUSIVE")
            self._db.execute("COMMIT")

    def become(self, other: Store) -> None:
        """Replace the content by that of `other`, in one transaction that is durable when this returns."""
        with self.lock, self._named_errors():
            self._db.execute("PRAGMA synchronous = FULL")
            other._db.backup(self._db)

    def read_through(self) -> None:
        """StateError where any page of the file is damaged, even one that is not needed now."""
        if (found := self.rows("PRAGMA quick_check(1)")) != [("ok",)]:
            raise StateError(f"{self.path} is damaged ({found[0][0].splitlines()[-1]}); move it away to start afresh")

    def close(self) -> None:
        with self.lock:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_lost(self) -> bool:
        """Whether the file was removed or replaced since it was opened."""
        return self._db.is_stranded

    def _require_its_file(self) -> None:
        if self.is_lost:
            raise StateError(f"{self.path} was removed or replaced while it was open: nothing is kept; try again")

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing: what is written inside is kept when the block ends, and undone when it raises.

        Blocks may be nested; the outermost decides. Without `durable` it does not wait for the disk: a power cut may
        then undo the transaction, killing the program cannot. StateError where the file was removed or replaced.
        """
        with self.lock, self._named_errors():
            if self._depth:
                yield self._db
                return
            self._require_its_file()
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
            self._require_its_file()

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
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

    def add_interaction(
        self, interaction: Interaction, *, manifest_hash: str, cap: int, query: bytes = b"",
        marks: Sequence[Sequence[str]] = (),
    ) -> None:  # fmt: skip
        """Keep one page for later learning, and drop the oldest beyond `cap`; `query` is hashed, b"" has no name.

        `marks` are type and hashed folders of each document.
        """
        with self.transaction() as db:
            # Features lie in [0, 1], where float16 keeps three decimals at half the space.
            record = encode(interaction, "float16")
            row = (manifest_hash, record, query, msgspec.msgpack.encode(marks) if marks else b"")
            db.execute("INSERT INTO interactions (manifest_hash, record, query, marks) VALUES (?, ?, ?, ?)", row)
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
        if self.is_kept:
            use_write_ahead_log(self._db, self.path)
        version, newest = self._format(), FIRST_FORMAT + len(LATER)
        if version == newest:
            return
        with self.transaction() as db:
            version = self._format()  # another process may have made the file meanwhile
            steps = LATER[version - FIRST_FORMAT :] if version else (_FIRST, *LATER)
            for statement in itertools.chain(*steps):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {newest}")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _format(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _refuse_strangers(self) -> None:
        # In this order: another process that makes the file right now writes both in one transaction.
        n_tables = int(self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        kind = int(self._db.execute("PRAGMA application_id").fetchone()[0])
        if n_tables and kind != APPLICATION_ID:
            raise StateError(f"{self.path} is a database of another program; move it away to start afresh")
        version, newest = self._format(), FIRST_FORMAT + len(LATER)
        if version and not FIRST_FORMAT <= version <= newest:
            age = "a newer" if version > newest else "an unreleased"
            raise StateError(
                f"{self.path} was written by {age} foltr-search (format {version}, this one reads {FIRST_FORMAT} to "
                f"{newest}); update the program, or move the file away to start afresh"
            )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Within the block SQLite's errors become StateErrors of one line for a person."""
        try:
            yield
        except sqlite3.OperationalError as error:
            self._require_its_file()
            reason = "the disk is full; free some space, then try again" if is_full(error, self.path) else error
            raise StateError(f"{self.path}: {reason}") from error
        except sqlite3.DatabaseError as error:
            raise StateError(f"{self.path} is damaged ({error}); move it away to start afresh") from error


def trim(db: sqlite3.Connection, table: str, cap: int) -> None:
    """Drop the oldest rows of a table with ascending `id`, so that at most `cap` stay; gaps in ids count as rows."""
    db.execute(f'DELETE FROM "{table}" WHERE id <= (SELECT max(id) FROM "{table}") - ?', (cap,))


def decode_record(stored: bytes, kind: type[R], error: type[FoltrError], what: str, advice: str = "") -> R:
    """A record as it was stored (msgpack); `error` with "WHAT is damaged: WHY ADVICE" for other bytes.

    The advice, which may cost what was stored, is left out if a newer version stored fields unknown to this one.
    """
    try:
        return msgspec.msgpack.decode(stored, type=kind)
    except msgspec.MsgspecError as why:
        is_newer = "unknown field" in str(why)
        state = "is of a newer version of this program" if is_newer else "is damaged"
        raise error(f"{what} {state}: {why}{'' if is_newer else advice}") from why


class PastQuery(NamedTuple):
    time: float
    """seconds since the epoch"""
    query: str


class SearchHistory:
    """The list of past queries in the state file."""

    def __init__(self, store: Store, settings: HistorySettings) -> None:
        self._store = store
        self._settings = settings

    def add(self, query: str, *, now: float) -> None:
        """Remember a query once, replacing an older entry of the same text. Does nothing when history is off."""
        text = query.strip().encode("utf-8", "replace").decode("utf-8")
        if not self._settings.enabled or not text:
            return
        with self._store.transaction(durable=False) as db:
            db.execute("DELETE FROM history WHERE query = ?", (text,))
            db.execute("INSERT INTO history (time, query) VALUES (?, ?)", (now, text))
            surplus = "SELECT id FROM history ORDER BY id DESC LIMIT -1 OFFSET ?"
            db.execute(f"DELETE FROM history WHERE id IN ({surplus})", (self._settings.max_entries,))

    def list(self, *, limit: int = 1000) -> tuple[PastQuery, ...]:
        """Past queries, newest first; also those stored before history was switched off."""
        found = self._store.rows("SELECT time, query FROM history ORDER BY id DESC LIMIT ?", (limit,))
        return tuple(map(PastQuery._make, found))

    def clear(self) -> None:
        self._store.erase("history")
