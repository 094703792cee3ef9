"""This program's own SQLite files: opened only by SQLite, readable only by their owner.

POSIX drops all locks that a process has on a file as soon as the process closes any handle of it
(https://sqlite.org/howtocorrupt.html, 2.2). SQLite takes care of its own handles, any number of connections in any
number of threads, but it does not notice when Python closes a handle. The next process then believes that it is alone
and removes the log when it ends, and later writes go into a file without a name. So only SQLite opens, copies, reads
and even creates such a file here; its mode is set before anything is in it, and SQLite gives the log the same mode.

A file that cannot be written now, on a full disk or in a read-only folder, can still be read.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from indexer.errors import IndexDamaged

Place = tuple[int, int] | None
"""device and inode of the file with a name; None if there is none"""
_ATTEMPTS = 5


class Connection(sqlite3.Connection):
    """A connection that a WeakSet can hold, and that knows whether its files still have their names."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.places: dict[str, Place] = {}
        """name of each of its files -> its place when it was opened"""

    @property
    def is_stranded(self) -> bool:
        """Whether a file was removed or replaced since it was opened: nobody will find what is written now."""
        return any(_place(name) != place for name, place in self.places.items())

    def close(self) -> None:
        self.places.clear()
        super().close()


def connect(path: Path, *, seconds: float = 10.0) -> Connection:
    """A connection in autocommit mode that waits for other writers; removes other users' access to the file.

    Raises sqlite3.Error, or OSError where the mode cannot be set.
    """
    for _ in range(_ATTEMPTS):
        before = _place(path)
        connection = sqlite3.connect(
            path, timeout=seconds, isolation_level=None, check_same_thread=False, factory=Connection
        )
        try:
            if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
                os.chmod(path, 0o600)
        except OSError:
            connection.close()
            raise
        if before is not None and before == _place(path):
            connection.places[str(path)] = before
            return connection
        connection.close()  # the file is new: open it again, to be sure that it is the one with this name
    raise OSError(errno.ESTALE, "another program replaces it all the time", str(path))


def use_write_ahead_log(connection: Connection, path: Path) -> None:
    """Switch to a log, so that readers never wait for a writer. SQLite does not wait for this switch, so wait here.

    sqlite3.OperationalError where the file cannot have a log, as on a network folder.
    """
    for _ in range(100):
        try:
            if connection.is_stranded:  # it would use the log of the file that has its name now
                raise sqlite3.OperationalError("it was removed or replaced while it was opened")
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # from here on there is a log
                connection.places[f"{path}-wal"] = _place(f"{path}-wal")
                return
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                raise
        time.sleep(0.05)
    raise sqlite3.OperationalError("it cannot be switched to a write-ahead log (is it on a network folder?)")


def _place(path: str | Path) -> Place:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


_CODES = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
_NUMBERS = (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM)


def is_unwritable(error: BaseException | None) -> bool:
    """Whether an error says that a file cannot be written, though it may well be read."""
    if isinstance(error, sqlite3.Error):
        moved = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_DBMOVED
        return _code(error) in _CODES and not moved
    return isinstance(error, OSError) and error.errno in _NUMBERS


def cause(error: BaseException | None, path: Path) -> str:
    """Why the file at `path` cannot be written, in a few words."""
    if isinstance(error, OSError):
        return os.strerror(error.errno).lower() if error.errno else str(error)
    if is_full(error, path):
        return "the disk is full"
    return "read-only" if _code(error) == sqlite3.SQLITE_READONLY else str(error)


def is_full(error: BaseException | None, path: Path) -> bool:
    """Whether the disk is full: SQLite needs 32 KiB at a time beside a log, and reports an I/O error without them."""
    if _code(error) == sqlite3.SQLITE_IOERR and path.parent.is_dir():
        return shutil.disk_usage(path.parent).free < 1 << 16
    return _code(error) == sqlite3.SQLITE_FULL


def _code(error: BaseException | None) -> int:
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def connect_to_read(path: Path) -> Connection:
    """A connection in autocommit mode that writes nothing, not even the files beside a write-ahead log.

    If these are needed and cannot be made, the file is read as it is: SQLite then assumes that nobody changes it, and
    what is still only in the log is not seen. sqlite3.Error if that fails, too.
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


def connect_to_share(path: Path) -> Connection:
    """A connection in autocommit mode to a file that many read and write, which waits for other writers.

    A file that is there and cannot be written is opened for reading.
    """
    try:
        return _connect_to_write(path)
    except (sqlite3.OperationalError, OSError) as error:
        if not is_unwritable(error):
            raise
        return connect_to_read(path)


def _connect_to_write(path: Path) -> Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    connection = connect(path)
    try:
        use_write_ahead_log(connection, path)
    except sqlite3.Error:
        connection.close()
        raise
    connection.execute("PRAGMA secure_delete = ON")  # as in state.sqlite, however SQLite was compiled
    # What was acknowledged survives a power cut, even while others have the file open.
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
        if connection.in_transaction:  # SQLite ends it itself where the disk is full
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    if connection.is_stranded:
        raise IndexDamaged("the catalogue was removed or replaced while it was open")


TRUNCATE = "PRAGMA wal_checkpoint(TRUNCATE)"
"""empties the log, unless somebody is reading it"""
