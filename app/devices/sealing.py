"""Keys from a code, and files from which nobody without it learns anything but their size.

    code        16 random bytes and 4 of their hash, in base32: eight groups of four
    file        nonce (24) | XSalsa20-Poly1305 of: length (4), content, zeros        4,096 * 2^k bytes in all
    handing on  the same under the key that two devices have together (X25519): a new secret, from one to the other

Without the key one kind of file looks like the other.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Iterable

from nacl.exceptions import CryptoError
from nacl.public import Box, PrivateKey, PublicKey
from nacl.secret import SecretBox

from foltr.errors import FoltrError

SECRET_BYTES, CHECK_BYTES, DEVICE_BYTES = 16, 4, 16
LEAST_SIZE = 4096
"""bytes of the smallest file"""
BOX = 40
"""bytes that a box adds"""


class DevicesError(FoltrError):
    """Something about this person's devices cannot be done; the message says why."""


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
        raise DevicesError("wanted the code of eight groups that `foltr-search devices new` shows, got another text")
    return secret


def _check(secret: bytes) -> bytes:
    return hashlib.blake2b(secret, digest_size=CHECK_BYTES, person=b"foltr code").digest()


def key_of(secret: bytes) -> bytes:
    """The 32 bytes that seal files."""
    return hashlib.blake2b(secret, digest_size=SecretBox.KEY_SIZE, person=b"foltr devices").digest()


def sealed(content: bytes, key: bytes) -> bytes:
    return bytes(SecretBox(key).encrypt(_padded(content)))


def unsealed(file: bytes, key: bytes) -> bytes | None:
    """The content of a file; None for what this key has not sealed, or was changed in any byte."""
    return _content(SecretBox(key), file)


def handed_on(content: bytes, private: bytes, public: bytes) -> bytes:
    """A file for the device with this public key alone, which is told whose it is."""
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
    """The name of the device with this public key; ValueError for bytes with which nothing can be sealed."""
    try:
        Box(PrivateKey(bytes(range(32))), PublicKey(public))
    except CryptoError as error:
        raise ValueError(f"no public key: {error}") from error
    return hashlib.blake2b(public, digest_size=DEVICE_BYTES, person=b"foltr device").digest()
