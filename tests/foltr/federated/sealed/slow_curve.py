"""edwards25519 by Python's whole numbers and the textbook's formulas: a second opinion that shares no code.

-x^2 + y^2 = 1 + d x^2 y^2  modulo p = 2^255 - 19       (RFC 8032, section 5.1; affine, one inversion an addition)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ZERO = (0, 1)
Point = tuple[int, int]


def decoded(data: bytes) -> Point:
    """RFC 8032, section 5.1.3; ValueError for no point of the curve."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or y >= P:
        raise ValueError("no point")
    return (P - x if x & 1 != sign else x, y)


def encoded(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def plus(one: Point, two: Point) -> Point:
    (a, b), (c, d) = one, two
    product = D * a * b * c * d % P
    inverse = pow(1 - product * product, -1, P)  # of both denominators, 1 + product and 1 - product
    return ((a * d + b * c) * (1 - product) * inverse % P, (b * d + a * c) * (1 + product) * inverse % P)


def times(scalar: int, point: Point) -> Point:
    total = ZERO
    for bit in bin(scalar % (8 * Q))[2:]:
        total = plus(total, total)
        if bit == "1":
            total = plus(total, point)
    return total


def total(scalars: Sequence[int], points: Sequence[bytes]) -> bytes:
    """The sum of scalar * point, encoded: doubled once for all of them, bit by bit."""
    pairs, found = [(scalar % Q, decoded(point)) for scalar, point in zip(scalars, points, strict=True)], ZERO
    for place in reversed(range(Q.bit_length())):
        found = plus(found, found)
        for scalar, point in pairs:
            found = plus(found, point) if scalar >> place & 1 else found
    return encoded(found)


def is_in_group(data: bytes) -> bool:
    """Whether it is a point of prime order, and not the identity."""
    try:
        point = decoded(data)
    except ValueError:
        return False
    return point != ZERO and times(Q, point) == ZERO


def hashed_to_group(seed: bytes) -> bytes:
    """Elligator 2 of 32 bytes (Bernstein et al., CCS 2013), as edwards25519, its cofactor cleared."""
    number = int.from_bytes(seed, "little")
    sign, r = number >> 255, number & (1 << 255) - 1
    a = 486662
    w = -a * pow(1 + 2 * r * r, -1, P) % P
    square = pow(w * (w * w + a * w + 1), (P - 1) // 2, P) == 1
    u = w if square else (-w - a) % P
    y = (u - 1) * pow(u + 1, -1, P) % P
    return encoded(times(8, decoded((y | sign << 255).to_bytes(32, "little"))))


def sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def asked(purpose: bytes, *said: bytes) -> int:
    """The challenge of a transcript."""
    text = b"foltr challenge 1\n" + b"".join(len(one).to_bytes(8, "little") + one for one in (purpose, *said))
    return int.from_bytes(hashlib.sha512(text).digest(), "little") % Q
