"""The folder that is synchronised anyway: sealed files of this person's devices, each written once, by one device."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from app.devices.device_keys import DeviceKeys, Generation
from app.devices.records import DeviceRecord
from app.devices.sealing import LEAST_SIZE, DevicesError, handed_on, sealed, taken_over, unsealed
from console.durable import UNFINISHED, create_durably

M = TypeVar("M")
_NAME = re.compile(r"[0-9a-f]{32}")
_LEFTOVER = re.compile(rf"[0-9a-f]{{32}}{re.escape(UNFINISHED)}[0-9a-f]{{8}}")
LEFT_SECONDS = 86_400.0
SIZES = frozenset(LEAST_SIZE << k for k in range(15))
"""bytes of files that are read, up to 64 MiB"""


class Delivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="records"):
    """Records from one device."""

    v: Literal[1]
    device: bytes
    names: bytes
    """the key by which all devices name things"""
    records: Sequence[DeviceRecord]
    number: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
    """of the key's generation"""
    without: tuple[bytes, ...]
    """the devices that had been removed when the key was made"""

    def generation(self, secret: bytes) -> Generation:
        """The key of this file, for a device that has it by its code."""
        return Generation(self.number, secret, self.without)


class Handover(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="key"):
    """A new key for one device."""

    v: Literal[1]
    generation: Generation


class SharedFolder:
    """Its files by name; DevicesError where the folder is away, as a stick may be."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def names(self) -> set[str]:
        """The sealed files; what was not finished a day ago was killed, and goes."""
        try:
            found = os.listdir(self.path)
        except OSError as error:
            raise DevicesError(f"the folder {self.path} cannot be read: {error.strerror}") from error
        for path in (self.path / name for name in found if _LEFTOVER.fullmatch(name)):
            with suppress(OSError):  # another device has just finished it, or nothing can be removed here
                if time.time() - path.lstat().st_mtime > LEFT_SECONDS:
                    path.unlink()
        return {name for name in found if _NAME.fullmatch(name)}

    def remove(self, names: Sequence[str]) -> None:
        """Files whose records lie in others by now; where that is not allowed they stay."""
        for name in names:
            with suppress(OSError):
                (self.path / name).unlink()

    def read(self, name: str) -> bytes:
        """b"" of what cannot be read now, and of what is no sealed file by its size or kind."""
        try:
            with open(self.path / name, "rb", opener=_without_waiting) as file:
                status = os.fstat(file.fileno())
                return file.read(status.st_size) if stat.S_ISREG(status.st_mode) and status.st_size in SIZES else b""
        except OSError:
            return b""

    def stamp(self, name: str) -> str:
        """Another one when the file is another, or was written since; names a file that could not be opened."""
        try:
            status = os.stat(self.path / name)
        except OSError:
            return name
        return f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"

    def deliver(self, keys: DeviceKeys, records: Sequence[DeviceRecord]) -> str:
        """Write records durably; the name of their file."""
        newest = keys.newest
        content = msgspec.msgpack.encode(Delivery(1, keys.device, keys.names, records, newest.number, newest.without))
        return self._write(sealed(content, newest.key))

    def hand_on(self, keys: DeviceKeys, public: bytes) -> None:
        """Give the newest key to the device with this public key."""
        content = msgspec.msgpack.encode(Handover(1, keys.newest))
        self._write(handed_on(content, keys.private, public))

    def _write(self, content: bytes) -> str:
        name = os.urandom(16).hex()
        try:
            create_durably(self.path / name, content)
        except OSError as error:
            raise DevicesError(f"the folder {self.path} cannot be written: {error.strerror}") from error
        return name


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would be waited for


def delivered(file: bytes, keys: DeviceKeys) -> tuple[Delivery, Generation] | None:
    """The records in a file, and which key it lies under; None where no key fits, or a newer version has written it."""
    for generation in reversed(keys.generations):
        if (content := unsealed(file, generation.key)) is not None:
            found = _decoded(content, Delivery)
            return (found, generation) if found else None
    return None


def received(file: bytes, keys: DeviceKeys, senders: Iterable[bytes]) -> Generation | None:
    """The key that one of these public keys' devices hands on to this one."""
    content = taken_over(file, keys.private, senders)
    found = None if content is None else _decoded(content, Handover)
    return found.generation if found else None


def _decoded(content: bytes, kind: type[M]) -> M | None:
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except msgspec.MsgspecError:
        return None
