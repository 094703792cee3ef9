"""Signatures and seals around the wire records: who sent this, and who may read it.

Ed25519 signatures bind a purpose (a short text) to the bytes, so that a signature made for one thing is worth nothing
for another. Updates are sealed to the round's X25519 key, shares of them to those of members: libsodium's sealed box,
which hides the sender from everyone but gives the reader no name; the name comes from a signature. Primitives are
PyNaCl's (libsodium).
"""

from __future__ import annotations

import hashlib

import nacl.exceptions
from msgspec import Struct
from nacl.public import PrivateKey, PublicKey, SealedBox
from nacl.signing import SigningKey, VerifyKey

from foltr.errors import RecordError
from foltr.federated.wire import R, Record, Signed, decode, encode

KEY_BYTES = 32
REQUEST, ANSWER, DOCUMENT = b"foltr request 1", b"foltr answer 1", b"foltr document 1"
ANSWER_HEADER = "Foltr-Answer"
"""base64 of the server's signature of its answer"""


class SignatureError(RecordError):
    """A signature does not fit the bytes, or a box cannot be opened."""


class Identity(Struct, frozen=True):
    """An Ed25519 key pair; the seed [32 bytes] is the secret."""

    seed: bytes

    @classmethod
    def generate(cls) -> Identity:
        """A new one, from the operating system's entropy."""
        return cls(bytes(SigningKey.generate()))

    @property
    def public(self) -> bytes:
        """[32]"""
        return bytes(SigningKey(self.seed).verify_key)

    def sign(self, purpose: bytes, message: bytes) -> bytes:
        """[64] over purpose and message."""
        return bytes(SigningKey(self.seed).sign(_bound(purpose, message)).signature)


def verify(public: bytes, purpose: bytes, message: bytes, signature: bytes) -> None:
    """SignatureError unless the holder of `public` signed the message for this purpose."""
    try:
        VerifyKey(public).verify(_bound(purpose, message), signature)
    except (nacl.exceptions.CryptoError, ValueError, TypeError) as error:
        raise SignatureError("the signature does not fit") from error


def fingerprint(public: bytes) -> str:
    """Lower-case hex of the BLAKE2b-256 of a public key."""
    return hashlib.blake2b(public, digest_size=32).hexdigest()


def pseudonym(device_key: bytes) -> str:
    """A member's name: 32 hex digits of a hash of its key."""
    return hashlib.blake2b(device_key, digest_size=16, person=b"foltr-member").hexdigest()


def request_text(method: str, path: str, body: bytes, *, time: int, nonce: str) -> bytes:
    """What a device signs for one request: method, path with query, hash of the body, seconds since 1970, nonce."""
    digest = hashlib.blake2b(body, digest_size=32).hexdigest()
    return "\n".join([method.upper(), path, digest, str(time), nonce]).encode()


def answer_text(method: str, path: str, signature: str, *, status: int, body: bytes) -> bytes:
    """What a server signs for one answer: the request, with its signature as it was sent, status, hash of the body."""
    digest = hashlib.blake2b(body, digest_size=32).hexdigest()
    return "\n".join([method.upper(), path, signature, str(status), digest]).encode()


def sign_document(identity: Identity, kind: str, record: Record | bytes) -> Signed:
    """A server's record, or the JSON of one that was stored, with its signature."""
    body = record if isinstance(record, bytes) else encode(record)
    return Signed(kind=kind, body=body, signature=identity.sign(DOCUMENT, kind.encode() + b"\n" + body))  # type: ignore[arg-type]


def open_document(public: bytes, signed: Signed, kind: str, record: type[R]) -> R:
    """The record inside, once the signature is found to be the server's and for this kind; else SignatureError."""
    if signed.kind != kind:
        raise SignatureError(f"wanted a signed {kind}, got a signed {signed.kind}")
    verify(public, DOCUMENT, kind.encode() + b"\n" + signed.body, signed.signature)
    return decode(signed.body, record)


def new_box_key() -> bytes:
    """The private half [32] of an X25519 key, of a round or of a device, from the operating system's entropy."""
    return bytes(PrivateKey.generate())


def box_public(private: bytes) -> bytes:
    """The public half [32]."""
    return bytes(PrivateKey(private).public_key)


def seal(public: bytes, message: bytes) -> bytes:
    """A box that only the holder of the private key opens; 48 bytes longer than the message."""
    return bytes(SealedBox(PublicKey(public)).encrypt(message))


def unseal(private: bytes, box: bytes) -> bytes:
    """The message; SignatureError when it was sealed to another key or altered."""
    try:
        return bytes(SealedBox(PrivateKey(private)).decrypt(box))
    except (nacl.exceptions.CryptoError, ValueError, TypeError) as error:
        raise SignatureError("the box was sealed to another key, or altered") from error


def _bound(purpose: bytes, message: bytes) -> bytes:
    return len(purpose).to_bytes(1, "big") + purpose + message
