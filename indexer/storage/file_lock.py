"""A lock on a file that is released when its process ends, however that ends, and lets others read the file.

It is `flock` where the system has that. Elsewhere (Windows) it is the write lock of an empty SQLite database beside the
file: SQLite can lock on every system that it runs on.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from indexer.errors import LockedError
from indexer.storage.sqlite_files import connect, is_unwritable

try:
    import fcntl
except ImportError:
    HAS_FLOCK = False
else:
    HAS_FLOCK = True


class FileLock:
    """Held from `take` until `close`."""

    def __init__(self, path: Path) -> None:
        """Make the file if there is none, for its owner only; raises OSError if that fails."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._database: sqlite3.Connection | None = None
        self._beside = path.with_name(path.name + ".held")

    def take(self) -> bool:
        """Take the lock, without waiting; False when another holds it."""
        if HAS_FLOCK:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True
        database = connect(self._beside, seconds=0)
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            database.close()
            if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return False
            raise OSError(str(error)) from error
        self._database = database
        return True

    def read(self) -> str:
        """The content of the file: the name of its holder, if it wrote one."""
        os.lseek(self._file, 0, os.SEEK_SET)
        return os.read(self._file, 500).decode(errors="replace").strip()

    def write(self, text: str) -> None:
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, text.encode(errors="replace"))

    def close(self) -> None:
        """Release the lock; may be called again."""
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


LOCK_FILE = "writer.lock"
"""in the folder of an index: names who writes there"""
_ATTEMPTS = 10


def lock_holder(folder: Path) -> str:
    """Who holds the write lock: "foltr-search watch (process 4711, since 10:02)", or ""."""
    path = folder / LOCK_FILE
    if not path.exists():
        return ""
    try:
        lock = FileLock(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        if not is_unwritable(error):  # else nobody can be writing there
            raise
        return ""
    try:
        return "" if lock.take() else lock.read() or "another process"
    finally:
        lock.close()


def take_lock(folder: Path, holder: str) -> FileLock:
    """Take the lock until it is closed; LockedError names who has it."""
    lock = FileLock(folder / LOCK_FILE)
    for attempt in range(1, _ATTEMPTS + 1):
        if lock.take():
            lock.write(f"{holder} (process {os.getpid()}, since {time.strftime('%H:%M')})")
            return lock
        if attempt < _ATTEMPTS:
            time.sleep(0.01)  # `lock_holder`, too, holds it for a moment
    name = lock.read() or "another process"
    lock.close()
    raise LockedError(f"the index is being written by {name}")
