"""The write lock of an index: one writer at a time, and it says who it is."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from indexer.errors import LockedError

FILE = "writer.lock"
_ATTEMPTS = 10


def lock_holder(folder: Path) -> str:
    """Who holds the write lock: "foltr-search watch (process 4711, since 10:02)", or ""."""
    path = folder / FILE
    try:
        with open(path, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return ""
    except BlockingIOError:
        return path.read_text(errors="replace").strip() or "another process"
    return ""


def take(folder: Path, holder: str) -> int:
    """Take the lock until the handle that is returned is closed; LockedError names who has it."""
    handle = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if attempt < _ATTEMPTS:
                time.sleep(0.01)  # `lock_holder` holds it for a moment, too
                continue
            name = os.read(handle, 500).decode(errors="replace").strip() or "another process"
            os.close(handle)
            raise LockedError(f"the index is being written by {name}") from error
    os.ftruncate(handle, 0)
    os.write(handle, f"{holder} (process {os.getpid()}, since {time.strftime('%H:%M')})".encode(errors="replace"))
    return handle
