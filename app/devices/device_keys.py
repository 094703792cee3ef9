"""devices.key: who this device is among its person's devices, the keys that they share, and where they meet.

A secret goes from the first device to the next as a code that is typed: 16 random bytes and 4 of their hash, in base32,
eight groups of four.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from app.devices.sealing import DevicesError, device_of, key_of, new_private_key, public_key
from app.paths import Paths
from console.durable import content_of, replace_durably

SECRET_BYTES, CHECK_BYTES = 16, 4


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One key of the devices; a new one comes when a device is removed."""

    number: int
    secret: bytes
    without: tuple[bytes, ...] = ()
    """the devices that had been removed when it was made"""

    @property
    def key(self) -> bytes:
        return key_of(self.secret)

    @property
    def rank(self) -> tuple[int, bytes]:
        """Orders keys: of two made at the same time, all devices take the same one."""
        return self.number, self.key

    def next(self, without: Iterable[bytes]) -> Generation:
        return Generation(self.number + 1, new_secret(), tuple(sorted(without)))


class DeviceKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of the file."""

    v: Literal[1] = 1
    device: bytes
    """names it in records: the hash of its public key"""
    name: str
    """what its person calls it"""
    private: bytes
    """X25519, to which new keys are handed on"""
    names: bytes
    """32 bytes that key the hashes of words, documents and folders on all devices"""
    former_names: bytes = b""
    """the same for the devices that this one belonged to before"""
    folder: str
    """where the devices meet: the synchronised folder or a server's address; "" for a device that has left"""
    generations: tuple[Generation, ...]
    """the keys that it was given, the newest last"""
    is_to_hand_on: bool = False
    """whether others may lack the newest key: each device hands it on, as not all know each other"""

    @classmethod
    def begun(
        cls, name: str, place: str, generation: Generation, names: bytes, former: DeviceKeys | None
    ) -> DeviceKeys:
        """The keys of a device that joins others (or begins as the first) now."""
        private = new_private_key()
        return cls(
            device=device_of(public_key(private)), name=name, private=private, names=names, folder=place,
            generations=(generation,), former_names=former.names if former else b"",
        )  # fmt: skip

    @property
    def newest(self) -> Generation:
        return self.generations[-1]

    @property
    def has_left(self) -> bool:
        return not self.generations

    def with_generation(self, generation: Generation) -> DeviceKeys:
        return msgspec.structs.replace(self, generations=(*self.generations, generation), is_to_hand_on=True)

    def left(self) -> DeviceKeys:
        """The same without the keys to others' records; `names` stays, or nothing learned would be found again."""
        return msgspec.structs.replace(self, folder="", generations=())


def read_keys(paths: Paths) -> DeviceKeys | None:
    """None where this device was never one of several, and for an assistant; DevicesError for a damaged file."""
    if paths.assistant:
        return None
    try:
        return msgspec.msgpack.decode(content_of(paths.device_keys), type=DeviceKeys)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise DevicesError(
            f"{paths.device_keys} cannot be used ({why}): restore it from a backup, or delete it"
        ) from error


def write_keys(paths: Paths, keys: DeviceKeys) -> None:
    replace_durably(paths.device_keys, msgspec.msgpack.encode(keys))


def new_secret() -> bytes:
    return os.urandom(SECRET_BYTES)


def to_code(secret: bytes) -> str:
    """A secret as a person copies it."""
    text = base64.b32encode(secret + _check(secret)).decode("ascii")
    return "-".join(text[i : i + 4] for i in range(0, len(text), 4))


def from_code(code: str) -> bytes:
    """The secret in a code, however its letters are written; DevicesError for one that was copied wrongly."""
    plain = re.sub(r"[\s-]", "", code).upper().replace("0", "O").replace("1", "I").replace("8", "B")
    try:
        whole = base64.b32decode(plain)
    except (binascii.Error, ValueError):
        whole = b""
    secret = whole[:SECRET_BYTES]
    if len(whole) != SECRET_BYTES + CHECK_BYTES or _check(secret) != whole[SECRET_BYTES:]:
        raise DevicesError("wanted the code of eight groups that `foltr-search devices new` shows, got no such code")
    return secret


def _check(secret: bytes) -> bytes:
    return hashlib.blake2b(secret, digest_size=CHECK_BYTES, person=b"foltr code").digest()
