"""Files for their owner alone (0600) that are whole after a power cut, and there once the call has returned."""

from __future__ import annotations

import os
from pathlib import Path


def replace_durably(path: Path, content: bytes) -> None:
    """Make `content` the file at `path`, whatever was there; it holds the old content or the new, never half of it."""
    fresh = path.with_name(path.name + ".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    take_name(fresh, path)


def take_name(fresh: Path, path: Path) -> None:
    """Give a file that is on disk its name, over whatever had it, durably."""
    os.replace(fresh, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
