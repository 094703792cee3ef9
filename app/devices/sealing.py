"""Sealed files: without the key nobody learns anything but their size.

    file        nonce (24) | XSalsa20-Poly1305 of: length (4), content, zeros        4,096 * 2^k bytes in all
    handing on  the same under the key that two devices have together (X25519): a new secret, from one to the other

Without the key one kind of file looks like the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from nacl.exceptions import CryptoError
from nacl.public import Box, PrivateKey, PublicKey
from nacl.secret import SecretBox

from foltr.errors import FoltrError

DEVICE_BYTES = 16
LEAST_SIZE = 4096
"""bytes of the smallest file"""
BOX = 40
"""bytes that a box adds"""


class DevicesError(FoltrError):
    """Something about this person's devices cannot be done; the message says why."""


def key_of(secret: bytes) -> bytes:
    """The 32 bytes that seal files."""
    return hashlib.blake2b(secret, digest_size=SecretBox.KEY_SIZE, person=b"foltr devices").digest()


def sealed(content: bytes, key: bytes) -> bytes:
    return bytes(SecretBox(key).encrypt(_padded(content)))


def unsealed(file: bytes, key: bytes) -> bytes | None:
    """The content of a file; None if this key did not seal it, or any byte of it was changed."""
    return _content(SecretBox(key), file)


def handed_on(content: bytes, private: bytes, public: bytes) -> bytes:
    """A file that only the device with this public key can open, and that proves who made it."""
    return bytes(Box(PrivateKey(private), PublicKey(public)).encrypt(_padded(content)))


def taken_over(file: bytes, private: bytes, senders: Iterable[bytes]) -> bytes | None:
    """What a device with one of these public keys hands on to the one with this private key; None for other files."""
    boxes = (Box(PrivateKey(private), PublicKey(public)) for public in senders)
    return next((content for box in boxes if (content := _content(box, file)) is not None), None)


def _padded(content: bytes) -> bytes:
    size = LEAST_SIZE
    while size < 4 + len(content) + BOX:
        size *= 2
    return (len(content).to_bytes(4, "big") + content).ljust(size - BOX, b"\0")


def _content(box: SecretBox | Box, file: bytes) -> bytes | None:
    try:
        padded = box.decrypt(file)
    except (CryptoError, ValueError):
        return None
    return padded[4 : 4 + int.from_bytes(padded[:4], "big")]


def new_private_key() -> bytes:
    return bytes(PrivateKey.generate())


def public_key(private: bytes) -> bytes:
    return bytes(PrivateKey(private).public_key)


def device_of(public: bytes) -> bytes:
    """The name of the device with this public key; ValueError for bytes that cannot serve as one."""
    try:
        Box(PrivateKey(bytes(range(32))), PublicKey(public))
    except CryptoError as error:
        raise ValueError(f"no public key: {error}") from error
    return hashlib.blake2b(public, digest_size=DEVICE_BYTES, person=b"foltr device").digest()
