"""Erased rows leave the database's files too: a deleted row stays in a log or a free page until it is overwritten."""

from __future__ import annotations

import sqlite3

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from federation_server import group
from federation_server.database import is_sqlite, reading, writing

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
            for table in ("updates", "members", "models"):
                connection.execute(text(f"VACUUM FULL {table}"))
    with writing(engine) as connection:
        group.set_fact(connection, ERASED, "")


def is_due(engine: Engine) -> bool:
    """Whether a member was erased from the tables, and not yet from the files."""
    with reading(engine) as connection:
        return bool(group.fact(connection, ERASED))


def _scrub_sqlite(connection: Connection) -> None:
    for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
        try:
            found = connection.connection.driver_connection.execute(statement).fetchone()  # type: ignore[union-attr]
        except sqlite3.OperationalError as error:
            raise OperationalError(statement, None, error) from error
    if found is not None and found[0]:
        raise OperationalError(statement, None, sqlite3.OperationalError("a reader keeps the log"))
