"""The group in which a sealed round is proved: the points of prime order of edwards25519, by libsodium.

    q = 2^252 + 27742317777372353535851937790883648493     the order; whole numbers below it are "scalars"
    B                                                      the base point of Ed25519 and X25519 (Bernstein et al. 2011)
    G_1, G_2, ..., H, V_1, ...                             `generator`: hashed to points, nobody knows how they relate

An attacker who computes discrete logarithms could open commitments in two ways, but read none (they hide perfectly).
The curve has points of small order beside these. With one of them mixed in, honest devices would disagree about who is
a liar, and a product with a secret would give three bits of it away, so every point that arrives is checked. A build
of libsodium that lets a point of order 2 pass (CVE-2025-69277) is refused at the first check.

All products are libsodium's, which takes the same time whatever the scalar is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache

from nacl import bindings

from foltr.errors import FoltrError, RecordError

ORDER = 2**252 + 27742317777372353535851937790883648493
FIELD = 2**255 - 19
"""the coordinates' prime"""
SIZE = 32
"""bytes of a point, and of a scalar"""
IDENTITY = (1).to_bytes(SIZE, "little")
BASE = bindings.crypto_scalarmult_ed25519_base_noclamp((1).to_bytes(SIZE, "little"))
ORDER_TWO = (FIELD - 1).to_bytes(SIZE, "little")
"""the point (0, -1)"""


class PointError(RecordError):
    """Bytes are no point of the group, or no scalar."""


class UnsoundLibraryError(FoltrError):
    """libsodium takes points from outside the group."""


@cache
def check_library() -> None:
    """UnsoundLibraryError where libsodium takes B + (0, -1) for a point of prime order."""
    if bindings.crypto_core_ed25519_is_valid_point(bindings.crypto_core_ed25519_add(BASE, ORDER_TWO)):
        raise UnsoundLibraryError(
            "this libsodium takes points of order 2 (CVE-2025-69277): install pynacl 1.6.2 or newer from its own wheel"
        )


def check_points(points: Iterable[bytes]) -> None:
    """PointError unless each is a point of prime order, in its one encoding, and not the identity."""
    check_library()
    for one in points:
        if len(one) != SIZE or not bindings.crypto_core_ed25519_is_valid_point(one):
            raise PointError("a point is not of the group")


def scalar_bytes(scalar: int) -> bytes:
    """[32], little-endian, of a whole number reduced by the order."""
    return (scalar % ORDER).to_bytes(SIZE, "little")


def read_scalars(data: bytes) -> tuple[int, ...]:
    """What `scalar_bytes` wrote, one after another; PointError for another length, or a number that is not reduced."""
    if len(data) % SIZE:
        raise PointError(f"scalars are {SIZE} bytes each; {len(data)} bytes are no whole number of them")
    found = tuple(int.from_bytes(one, "little") for one in cut(data))
    if any(scalar >= ORDER for scalar in found):
        raise PointError("a scalar is not below the order")
    return found


def cut(data: bytes, size: int = SIZE) -> list[bytes]:
    """Pieces of `size` bytes."""
    return [data[at : at + size] for at in range(0, len(data), size)]


@cache
def generator(label: str, number: int) -> bytes:
    """A point that nobody knows a relation of to any other: Elligator 2 of SHA-256(label, number), times the cofactor.

    (Bernstein, Hamburg, Krasnova and Lange, CCS 2013; libsodium's `from_uniform`.)
    """
    seed = hashlib.sha256(f"foltr generator 1\n{label}\n{number}".encode()).digest()
    return bindings.crypto_core_ed25519_from_uniform(seed)


def generators(label: str, n: int) -> tuple[bytes, ...]:
    """The first `n` generators of a label; nobody knows the logarithm of one to another."""
    return tuple(generator(label, number) for number in range(n))


def multiply(scalar: int, point: bytes) -> bytes:
    """scalar * point; PointError for a point outside the group."""
    reduced = scalar % ORDER
    if not reduced or point == IDENTITY:  # libsodium takes no identity, and gives none
        return IDENTITY
    try:
        if point == BASE:
            return bindings.crypto_scalarmult_ed25519_base_noclamp(reduced.to_bytes(SIZE, "little"))
        return bindings.crypto_scalarmult_ed25519_noclamp(reduced.to_bytes(SIZE, "little"), point)
    except RuntimeError as error:
        raise PointError("a point is not of the group") from error


def add(*points: bytes) -> bytes:
    """Their sum; of points that `check_points` or `multiply` has seen."""
    total = points[0]
    for one in points[1:]:
        total = bindings.crypto_core_ed25519_add(total, one)
    return total


def combine(scalars: Sequence[int], points: Sequence[bytes]) -> bytes:
    """The sum of scalar * point over both, which are equally long."""
    return add(IDENTITY, *(multiply(s, p) for s, p in zip(scalars, points, strict=True)))


def challenge(purpose: bytes, *said: bytes) -> int:
    """A scalar that nobody chose: SHA-512 of the purpose and all that was said, each with its length, modulo q.

    It must be given the whole statement and everything that the prover has sent so far (Fiat and Shamir 1986;
    Bernhard, Pereira and Warinschi, "How not to prove yourself", ASIACRYPT 2012).
    """
    hashed = hashlib.sha512(b"foltr challenge 1\n")
    for one in (purpose, *said):
        hashed.update(len(one).to_bytes(8, "little") + one)
    return int.from_bytes(hashed.digest(), "little") % ORDER
