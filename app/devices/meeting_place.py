"""Where this person's devices leave sealed files for each other, each written once: a folder, or their group's server.

An exchange need not know which: it lists names, reads, writes and removes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal, TypeVar

import msgspec

from app.devices.device_keys import DeviceKeys, Generation
from app.devices.records import DeviceRecord
from app.devices.sealing import DevicesError, handed_on, sealed, taken_over, unsealed

M = TypeVar("M")


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
        """The key of this file, for a device that got its secret as a code."""
        return Generation(self.number, secret, self.without)


class Handover(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="key"):
    """A new key for one device."""

    v: Literal[1]
    generation: Generation


class FullError(DevicesError):
    """Nothing more may be written there."""


class MeetingPlace(ABC):
    """Sealed files by name; FoltrError where it is away, as a stick or a server may be."""

    emptiness: str = ""
    """message for a place found empty whose files may come back; "" where they are lost and written again"""
    is_shut: bool = False
    """whether the place says that this device's key was replaced without it"""

    @abstractmethod
    def names(self) -> set[str]:
        """The sealed files."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Each of these with its content; b"" for what cannot be read now."""

    @abstractmethod
    def stamp(self, name: str) -> str:
        """Identifies the content: changes when the file is replaced or written to."""

    @abstractmethod
    def remove(self, names: Sequence[str]) -> None:
        """Remove files whose records lie in others by now; where that is not allowed they stay."""

    @abstractmethod
    def write(self, content: bytes, *, instead_of: Sequence[str] = (), is_key: bool = False) -> str:
        """Write a file durably, then remove others; returns its name. `is_key`: it hands on a key."""

    def succeed(self, handover: bytes, generation: Generation) -> None:  # noqa: B027
        """Replace the present key by a new one; `handover` gives it to this device itself, should it be killed."""

    def deliver(self, keys: DeviceKeys, records: Sequence[DeviceRecord], *, instead_of: Sequence[str] = ()) -> str:
        """Write records; returns the name of their file."""
        newest = keys.newest
        content = msgspec.msgpack.encode(Delivery(1, keys.device, keys.names, records, newest.number, newest.without))
        return self.write(sealed(content, newest.key), instead_of=instead_of)

    def hand_on(self, keys: DeviceKeys, public: bytes) -> None:
        """Give the newest key to the device with this public key."""
        self.write(handover_of(keys, keys.newest, public), is_key=True)


def handover_of(keys: DeviceKeys, generation: Generation, public: bytes) -> bytes:
    """A file that gives a key to the device with this public key alone."""
    return handed_on(msgspec.msgpack.encode(Handover(1, generation)), keys.private, public)


def delivered(file: bytes, keys: DeviceKeys) -> tuple[Delivery, Generation] | None:
    """The records in a file, and which key it lies under; None where no key fits, or a newer version wrote it."""
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
