"""The server's secrets in one file: its identity, and the key that encrypts columns at rest.

The file is JSON, mode 0600, and is not in the database: a copy of the database alone opens no update and no round.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import nacl.exceptions
import nacl.utils
from nacl.secret import SecretBox

from console.durable import replace_durably
from foltr.errors import FoltrError
from foltr.federated.envelope import KEY_BYTES, Identity


class VaultError(FoltrError):
    """The key file cannot be used, or does not open what is stored."""


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    identity: bytes
    column_keys: tuple[bytes, ...]
    """the first encrypts, all decrypt"""


@dataclass(frozen=True, slots=True)
class Vault:
    """The identity of the server, and encryption of columns."""

    identity: Identity = field(repr=False)
    column_keys: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def generate(cls) -> Vault:
        """New secrets, from the operating system's entropy."""
        return cls(Identity.generate(), (nacl.utils.random(KEY_BYTES),))

    @classmethod
    def read(cls, path: Path) -> Vault:
        """From the file; VaultError when it is missing, damaged, or readable by others."""
        try:
            if path.stat().st_mode & 0o077:
                raise VaultError(f"{path} can be read by others; wanted mode 0600 (chmod 600 {path})")
            stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
        except (OSError, msgspec.MsgspecError) as error:
            raise VaultError(f"the key file {path} cannot be read: {getattr(error, 'strerror', error)}") from error
        keys = (stored.identity, *stored.column_keys)
        if stored.version != 1 or len(keys) < 2 or any(len(key) != KEY_BYTES for key in keys):
            raise VaultError(f"the key file {path} is not one of this program")
        return cls(Identity(stored.identity), stored.column_keys)

    def write(self, path: Path, *, put: Callable[[Path, bytes], None] = replace_durably) -> None:
        """To a new file or over an old one, durably, mode 0600."""
        put(path, msgspec.json.encode(_Stored(1, self.identity.seed, self.column_keys)))

    def encrypt(self, plain: bytes) -> bytes:
        """Under the newest column key."""
        return bytes(SecretBox(self.column_keys[0]).encrypt(plain))

    def decrypt(self, box: bytes) -> bytes:
        """Under whichever column key fits; VaultError when none does."""
        for key in self.column_keys:
            try:
                return bytes(SecretBox(key).decrypt(box))
            except nacl.exceptions.CryptoError:
                continue
        raise VaultError("a stored value was encrypted with a key that this server does not have")

    def with_new_column_key(self) -> Vault:
        """The same, encrypting with a new key from now on."""
        return Vault(self.identity, (nacl.utils.random(KEY_BYTES), *self.column_keys))


def hash_of(secret: str) -> str:
    """How single-use tokens and nonces are kept: lower-case hex of their BLAKE2b-256."""
    return hashlib.blake2b(secret.encode(), digest_size=32).hexdigest()
