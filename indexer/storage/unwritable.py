"""SQLite files that cannot be written now, on a full disk or in a read-only folder, are read all the same."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import TypeVar

C = TypeVar("C", bound=sqlite3.Connection)

_CODES = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
_NUMBERS = (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM)


def is_unwritable(error: BaseException | None) -> bool:
    """Whether an error says that a file cannot be written, though it may well be read."""
    if isinstance(error, sqlite3.Error):
        code: int | None = getattr(error, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in _CODES
    return isinstance(error, OSError) and error.errno in _NUMBERS


def connect_to_read(path: Path, kind: type[C]) -> C:
    """A connection in autocommit mode that writes nothing, not even the files beside a write-ahead log.

    Where these are wanted and cannot be made, the file is read as it is: SQLite then takes it as one that nobody
    changes, and what still lies in the log alone is not seen. sqlite3.Error when it cannot be read either.
    """
    name = path.absolute().as_uri()
    for how in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(
            f"{name}?{how}", timeout=10, isolation_level=None, check_same_thread=False, uri=True, factory=kind
        )
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            return connection
        except sqlite3.Error as error:
            connection.close()
            failure = error
    raise failure
