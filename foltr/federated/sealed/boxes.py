"""Boxes that only their owner can open or show to others: encryption, and complaints that anybody can check.

    X_i = x_i B          the member's box key as a point: its X25519 key with the sign that XEdDSA gives it (Perrin)
    E = e B              one for each message, with a proof that the sender knows e, for this very message's context
    key_i = SHA-256(context, i, E, e X_i)      of box i, by XSalsa20-Poly1305 (libsodium's secretbox)

(hashed ElGamal: Abdalla, Bellare and Rogaway, CT-RSA 2001). A member that finds rubbish in its box publishes K = x_i E
= e X_i with a proof that log_B X_i = log_E K (Chaum and Pedersen, CRYPTO 1992): everybody can then open that one box,
but none of another owner or with another E. Nobody can put another's E into its own message, so that a complaint about
one would open the other, as it does not know e; nor an earlier E into a later message (Schnorr, CRYPTO 1989).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import nacl.exceptions
import nacl.utils
from msgspec import Struct
from nacl.secret import SecretBox

from foltr.federated.sealed import points

PROOF_BYTES = 2 * points.SIZE
OPENING_BYTES = points.SIZE + PROOF_BYTES
"""of the point E with the proof that its sender knows e, and of a key K with its own"""
BOX_BYTES = SecretBox.MACBYTES
"""how much longer a box is than what is in it"""
NONCE = bytes(SecretBox.NONCE_SIZE)
"""each key is for one box"""


class BoxError(points.PointError):
    """A box cannot be opened, or a proof about one does not hold."""


def box_point(public: bytes) -> bytes:
    """The point X of an X25519 public key u: y = (u - 1) / (u + 1), its sign 0; PointError where there is none."""
    u = int.from_bytes(public, "little")
    if len(public) != points.SIZE or u >= points.FIELD - 1:
        raise points.PointError("a box key is no point of the group")
    point = ((u - 1) * pow(u + 1, -1, points.FIELD) % points.FIELD).to_bytes(points.SIZE, "little")
    points.check_points([point])
    return point


def box_scalar(private: bytes) -> int:
    """The x with x B = `box_point` of the public half: the clamped private key, or its negative."""
    clamped = int.from_bytes(private, "little") & ~7 & (1 << 254) - 1 | 1 << 254
    negative = points.multiply(clamped, points.BASE)[-1] >> 7
    return (-clamped if negative else clamped) % points.ORDER


def sealed_boxes(
    context: bytes, owners: Sequence[bytes], contents: Sequence[bytes], ephemeral: int, nonce: int
) -> tuple[bytes, list[bytes]]:
    """E with its proof, and a box for each owner's point; `ephemeral` and `nonce` are for this one message alone."""
    once = points.multiply(ephemeral, points.BASE)
    opening = once + _proof(b"ephemeral", context, ephemeral, (points.BASE,), nonce)
    boxes = [
        SecretBox(_key(context, place, once, points.multiply(ephemeral, owner))).encrypt(content, NONCE).ciphertext
        for place, (owner, content) in enumerate(zip(owners, contents, strict=True), 1)
    ]
    return opening, boxes


def check_opening(context: bytes, opening: bytes) -> None:
    """PointError unless the sender knows the logarithm of the message's E."""
    once, proof = opening[: points.SIZE], opening[points.SIZE :]
    points.check_points([once])
    _check_proof(b"ephemeral", context, proof, (points.BASE,), (once,))


class Box(Struct, frozen=True):
    """One of a message."""

    context: bytes
    """of the message, whose `check_opening` holds"""
    place: int
    """from 1"""
    opening: bytes
    content: bytes
    """sealed"""

    @property
    def once(self) -> bytes:
        """E"""
        return self.opening[: points.SIZE]


def open_box(box: Box, key: bytes) -> bytes:
    """What is in it, by K; BoxError for rubbish."""
    try:
        return SecretBox(_key(box.context, box.place, box.once, key)).decrypt(box.content, NONCE)
    except (nacl.exceptions.CryptoError, ValueError) as error:
        raise BoxError("a box does not open") from error


def own_key(box: Box, private: bytes) -> bytes:
    """K, for the owner."""
    return points.multiply(box_scalar(private), box.once)


def shown_key(box: Box, private: bytes) -> bytes:
    """K with the proof that it is the owner's: it opens this one box."""
    secret = box_scalar(private)
    nonce = int.from_bytes(nacl.utils.random(2 * points.SIZE), "little")
    key = points.multiply(secret, box.once)
    return key + _proof(b"shown", _about(box), secret, (points.BASE, box.once), nonce)


def check_shown(box: Box, owner: bytes, shown: bytes) -> bytes:
    """K of that point's owner; BoxError unless it is proved."""
    key, proof = shown[: points.SIZE], shown[points.SIZE :]
    points.check_points([key])
    _check_proof(b"shown", _about(box), proof, (points.BASE, box.once), (owner, key))
    return key


def _about(box: Box) -> bytes:
    """All that a shown key belongs to."""
    return b"\n".join([box.context, str(box.place).encode(), box.opening, box.content])


def _key(context: bytes, place: int, once: bytes, shared: bytes) -> bytes:
    told = b"foltr box 1\n" + len(context).to_bytes(8, "little") + context + place.to_bytes(8, "little") + once + shared
    return hashlib.sha256(told).digest()


def _proof(purpose: bytes, context: bytes, secret: int, bases: Sequence[bytes], nonce: int) -> bytes:
    """That one secret is the logarithm of several points, each to its own base."""
    shown = [points.multiply(secret, base) for base in bases]
    masked = [points.multiply(nonce, base) for base in bases]
    asked = points.challenge(purpose, context, *bases, *shown, *masked)
    return points.scalar_bytes(asked) + points.scalar_bytes(nonce + asked * secret)


def _check_proof(purpose: bytes, context: bytes, proof: bytes, bases: Sequence[bytes], shown: Sequence[bytes]) -> None:
    if len(proof) != PROOF_BYTES:
        raise BoxError("a proof has another length")
    asked, answer = points.read_scalars(proof)
    masked = [
        points.add(points.multiply(answer, b), points.multiply(-asked, s)) for b, s in zip(bases, shown, strict=True)
    ]
    if points.challenge(purpose, context, *bases, *shown, *masked) != asked:
        raise BoxError("a proof does not hold")


def box_hashes(boxes: Sequence[bytes]) -> bytes:
    """[32] each."""
    return b"".join(hashlib.blake2b(box, digest_size=points.SIZE).digest() for box in boxes)


def is_box(box: bytes, place: int, hashes: bytes) -> bool:
    """Whether it is the one of this place, from 1, of the message with these hashes."""
    return points.cut(hashes)[place - 1 : place] == [box_hashes([box])]
