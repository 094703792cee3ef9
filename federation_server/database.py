"""Embedded SQLite or PostgreSQL behind one engine: connections, transactions, migrations.

SQLite runs in WAL mode with full synchronisation; every writing transaction begins IMMEDIATE, so that two writers wait
for one another instead of failing half-way. On PostgreSQL the same code relies on row locks (`SELECT ... FOR UPDATE`).

Erased rows leave the database's files too: a deleted row stays in a log or a free page until it is overwritten.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError, SQLAlchemyError

from federation_server.group import group
from federation_server.tables import metadata
from foltr.errors import FoltrError

MIGRATIONS = Path(__file__).with_name("migrations")
REVISIONS = ("0004", "0003", "0002")
"""of the migrations, newest first"""
BUSY_SECONDS = 30.0
FIRST_LOCK = 0x666F6C7472
"""the number of PostgreSQL's advisory lock that holds who makes tables or a group: "foltr" """


class DatabaseError(FoltrError):
    """The database cannot be used; the message says why and what to do."""


def connect(url: str) -> Engine:
    """An engine for `sqlite:///file` or `postgresql+psycopg://...`; DatabaseError for another kind of address."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise DatabaseError(f"this is no database address: {error}") from error
    # hide_parameters: an error's text may reach the log, and must not carry a row there.
    if parsed.get_backend_name() == "sqlite":
        engine = create_engine(
            parsed, hide_parameters=True, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}
        )
        _prepare_sqlite(engine)
        return engine
    if parsed.get_backend_name() != "postgresql":
        raise DatabaseError(f"wanted sqlite:///file or postgresql+psycopg://..., got {parsed.drivername}")
    return create_engine(
        parsed.set(drivername="postgresql+psycopg"), hide_parameters=True, pool_size=8, pool_pre_ping=True
    )


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "secure_delete = ON",
            f"busy_timeout = {int(BUSY_SECONDS * 1000)}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction that may write: all of it is kept when the block ends, none when it raises."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One consistent view: what others commit meanwhile is not in it."""
    view = {} if is_sqlite(engine) else {"isolation_level": "REPEATABLE READ"}
    with engine.connect().execution_options(**view) as connection, connection.begin():
        yield connection


def error_text(error: Exception) -> str:
    """An error for the log: its kind when it is the database's, whose text may quote a row, and a known cause."""
    if isinstance(error, SQLAlchemyError):
        kind = type(error.orig if isinstance(error, DBAPIError) else error).__name__
        causes = ["the disk is full"] if is_full(error) else KNOWN.findall(what_it_said(error))
        return ": ".join([kind, *causes[:1]])
    return f"{type(error).__name__}: {error}"


FULL = ("disk is full", "No space left on device")
KNOWN = re.compile("database is locked|readonly database|[Cc]onnection refused|No such file|server closed")
"""as SQLite, PostgreSQL and the system say it"""


def is_full(error: Exception) -> bool:
    """Whether nothing was written because the disk has no room."""
    return any(words in what_it_said(error) for words in FULL)


def what_it_said(error: Exception) -> str:
    """The database's own words in one line; they may quote a row."""
    said = " ".join(str(error.orig if isinstance(error, DBAPIError) else error).split())
    return said + " (is the disk full?)" * said.endswith("disk I/O error")


def has_room(engine: Engine) -> bool:
    """Whether a few messages fit on the disk of an SQLite file; True where the database is another machine's matter."""
    file = engine.url.database
    return not is_sqlite(engine) or not file or shutil.disk_usage(Path(file).parent).free >= LEAST_ROOM


LEAST_ROOM = 2_000_000
"""bytes"""


def is_sqlite(engine: Engine) -> bool:
    return engine.dialect.name == "sqlite"


def upgrade(engine: Engine) -> None:
    """Bring the tables up to this program's; DatabaseError when they are of another program or cannot be reached."""
    try:
        with engine.connect() as connection:
            present = _revision(connection)
        if present == REVISIONS[0]:
            return  # what only reads must neither write nor wait for who does
        if present is not None and present not in REVISIONS:
            raise DatabaseError(of_another("the database", present))
        with writing(engine) as connection:
            wait_turn(connection)
            _make_current(connection)
    except SQLAlchemyError as error:
        raise DatabaseError(f"the database cannot be used: {what_it_said(error)}") from error


def wait_turn(connection: Connection) -> None:
    """Of processes that start at once, the second finds what the first has made; for SQLite each writing waits so."""
    if connection.dialect.name != "sqlite":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({FIRST_LOCK})"))


def _make_current(connection: Connection) -> None:
    """Make today's tables in a new database; bring those of an older one up to them, migration after migration."""
    if (present := _revision(connection)) == REVISIONS[0]:
        return
    from alembic import command  # loading it is a fifth of a command, and few need it
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS))
    if present is None:
        metadata.create_all(connection, checkfirst=False)
    (command.upgrade if present else command.stamp)(config, "head")


def of_another(what: str, revision: str) -> str:
    """That tables or a backup have a schema that this program does not know."""
    return f"{what} is of another foltr-server (revision {revision}, here {REVISIONS[0]}); use that version"


def is_current(engine: Engine) -> bool:
    """Whether the tables are this program's; touches the database."""
    with engine.connect() as connection:
        return _revision(connection) == REVISIONS[0]


def _revision(connection: Connection) -> str | None:
    """Of the tables that are there; None where there are none."""
    made = inspect(connection).has_table("alembic_version")
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar() if made else None
    return found


ERASED = "files hold erased rows"
"""the fact that says so, from the erasing transaction until the files are clean"""


def note_erasure(connection: Connection) -> None:
    """Part of the transaction that erases: the files are to be scrubbed."""
    group.set_fact(connection, ERASED, "yes")


def scrub(engine: Engine) -> None:
    """Take erased rows out of the files too: SQLite's log and free pages, PostgreSQL's dead rows.

    OperationalError when somebody else reads or writes for too long; the fact ERASED then stays, to try again.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if is_sqlite(engine):
            _scrub_sqlite(connection)
        else:
            _scrub_postgresql(connection)
    with writing(engine) as connection:
        group.set_fact(connection, ERASED, "")


def is_scrub_due(engine: Engine) -> bool:
    """Whether a member was erased from the tables, and not yet from the files."""
    with reading(engine) as connection:
        return bool(group.fact(connection, ERASED))


def _scrub_postgresql(connection: Connection) -> None:
    """Rewrite every table without its dead rows, then end the log's present segment, where this user may.

    PostgreSQL uses older segments again in its own time, and archives of the log are not its to clean.
    """
    for table in inspect(connection).get_table_names():
        connection.execute(text(f'VACUUM FULL "{table}"'))
    for statement in ("CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT"):
        try:
            connection.execute(text(statement))
        except ProgrammingError:  # a right that an ordinary owner of a database lacks
            return


def _scrub_sqlite(connection: Connection) -> None:
    for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
        try:
            found = connection.connection.driver_connection.execute(statement).fetchone()  # type: ignore[union-attr]
        except sqlite3.OperationalError as error:
            raise OperationalError(statement, None, error) from error
    if found is not None and found[0]:
        raise OperationalError(statement, None, sqlite3.OperationalError("a reader keeps the log"))
