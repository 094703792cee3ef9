"""The folder that is synchronised anyway, in which this person's devices meet."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from app.devices.meeting_place import MeetingPlace
from app.devices.sealing import LEAST_SIZE, DevicesError
from console.durable import UNFINISHED, content_of, create_durably
from foltr.federated.wire import DEPOT_NAME

_LEFTOVER = re.compile(rf"[0-9a-f]{{32}}{re.escape(UNFINISHED)}[0-9a-f]{{8}}")
LEFT_SECONDS = 86_400.0
SIZES = frozenset(LEAST_SIZE << k for k in range(15))
"""bytes of files that are read, up to 64 MiB"""


class SharedFolder(MeetingPlace):
    """Its files by name; DevicesError where the folder is away, as a stick may be."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.emptiness = (
            f"the folder {path} is empty and was not before: wait until it is mounted and synced, or name another one: "
            "`foltr-search devices sync --folder FOLDER`"
        )

    def names(self) -> set[str]:
        """The sealed files; unfinished ones older than a day, left by a kill, are deleted."""
        try:
            found = os.listdir(self.path)
        except OSError as error:
            raise DevicesError(f"the folder {self.path} cannot be read: {error.strerror}") from error
        for path in (self.path / name for name in found if _LEFTOVER.fullmatch(name)):
            with suppress(OSError):  # another device has just finished it, or nothing can be removed here
                if time.time() - path.lstat().st_mtime > LEFT_SECONDS:
                    path.unlink()
        return {name for name in found if DEPOT_NAME.fullmatch(name)}

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            with suppress(OSError):
                (self.path / name).unlink()

    def read(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        return ((name, self._read(name)) for name in names)

    def _read(self, name: str) -> bytes:
        try:
            content = content_of(self.path / name, max(SIZES))
        except OSError:
            return b""
        return content if len(content) in SIZES else b""

    def stamp(self, name: str) -> str:
        """Identifies the content: changes when the file is replaced or written to; its name alone if unreadable."""
        try:
            status = os.stat(self.path / name)
        except OSError:
            return name
        return f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"

    def write(self, content: bytes, *, instead_of: Sequence[str] = (), is_key: bool = False) -> str:
        name = os.urandom(16).hex()
        try:
            create_durably(self.path / name, content)
        except OSError as error:
            raise DevicesError(f"the folder {self.path} cannot be written: {error.strerror}") from error
        self.remove(instead_of)
        return name
