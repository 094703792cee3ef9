"""SQLite files that cannot be written now, on a full disk or in a read-only folder, are read all the same."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

from indexer.storage.database import Connection

_CODES = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
_NUMBERS = (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM)


def is_unwritable(error: BaseException | None) -> bool:
    """Whether an error says that a file cannot be written, though it may well be read."""
    if isinstance(error, sqlite3.Error):
        code: int | None = getattr(error, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in _CODES and code != sqlite3.SQLITE_READONLY_DBMOVED
    return isinstance(error, OSError) and error.errno in _NUMBERS


def cause(error: BaseException | None) -> str:
    """In a few words why a file `is_unwritable`."""
    if isinstance(error, OSError):
        return os.strerror(error.errno).lower() if error.errno else str(error)
    return {sqlite3.SQLITE_READONLY: "read-only", sqlite3.SQLITE_FULL: "the disk is full"}.get(
        getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error)
    )


def connect_to_read(path: Path) -> Connection:
    """A connection in autocommit mode that writes nothing, not even the files beside a write-ahead log.

    Where these are wanted and cannot be made, the file is read as it is: SQLite then takes it as one that nobody
    changes, and what still lies in the log alone is not seen. sqlite3.Error when it cannot be read either.
    """
    name = path.absolute().as_uri()
    for how in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(
            f"{name}?{how}", timeout=10, isolation_level=None, check_same_thread=False, uri=True, factory=Connection
        )
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            return connection
        except sqlite3.Error as error:
            connection.close()
            failure = error
    raise failure
