"""Shamir's secret sharing of vectors of whole numbers: any `threshold` shares give the vector, fewer give nothing.

    f(x) = s + c_1 x + ... + c_{t-1} x^{t-1}  over GF(p),    share i = f(i),  i = 1, ..., n

one polynomial for each number of the vector (Shamir, "How to share a secret", CACM 1979). Shares of several vectors
are added point by point and are then shares of the sum. Negative numbers are centred: -1 is p - 1, so a sum is exact as
long as it stays within -(p-1)/2, ..., (p-1)/2. More shares than the threshold say who lies: k shares of which at most
e = (k - t) / 2 are false have one polynomial that the others agree on (Welch and Berlekamp, US patent 4,633,470, 1986).

All of it is exact arithmetic on Python's whole numbers; the prime is an argument, because in a small field everything
can be counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import nacl.utils
import numpy as np

from foltr.arrays import Int64Vector
from foltr.errors import FoltrError, ShapeError, ValueRangeError

PRIME = (1 << 61) - 1
"""a Mersenne prime"""
ELEMENT_BYTES = 8
Elements: TypeAlias = tuple[int, ...]
"""`[n_numbers]` of the field, each from 0 to p - 1"""


class SharingError(FoltrError):
    """The shares do not give one vector: there are too few, or too many of them are false."""


@dataclass(frozen=True, slots=True)
class Reconstructed:
    """What a set of shares holds."""

    values: Elements
    liars: tuple[int, ...]
    """points whose shares lie on no common polynomial with the others, in order"""


def to_elements(values: Int64Vector, prime: int = PRIME) -> Elements:
    """Whole numbers as elements of the field; ValueRangeError for one beyond +-(p-1)/2."""
    found = [int(value) for value in values]
    if any(abs(value) > prime // 2 for value in found):
        raise ValueRangeError(f"a number to be shared is beyond {prime // 2}")
    return tuple(value % prime for value in found)


def from_elements(elements: Sequence[int], prime: int = PRIME) -> Int64Vector:
    """The whole numbers between -(p-1)/2 and (p-1)/2."""
    return np.array([e - prime if e > prime // 2 else e for e in elements], dtype=np.int64)


def to_bytes(elements: Sequence[int]) -> bytes:
    """`[n_numbers]` as 8 bytes each, little-endian."""
    return b"".join(element.to_bytes(ELEMENT_BYTES, "little") for element in elements)


def from_bytes(data: bytes, prime: int = PRIME) -> Elements:
    """What `to_bytes` wrote; ShapeError for a broken length, ValueRangeError for a number that is not in the field."""
    if len(data) % ELEMENT_BYTES:
        raise ShapeError(f"elements are {ELEMENT_BYTES} bytes each; {len(data)} bytes are no whole number of them")
    found = tuple(int.from_bytes(data[at : at + ELEMENT_BYTES], "little") for at in range(0, len(data), ELEMENT_BYTES))
    if any(element >= prime for element in found):
        raise ValueRangeError("a number is not an element of the field")
    return found


def random_elements(count: int, rng: np.random.Generator) -> Elements:
    """Elements of the large field, each as likely as any other: ChaCha20 under 32 bytes of `rng`, cut to 61 bits.

    What colluding holders of shares see are sums of these numbers, so they come from a cipher, not from a generator
    that was made for simulations.
    """
    found: list[int] = []
    seed, wanted = rng.bytes(32), count
    while len(found) < count:  # p itself is drawn once in 2^61 times, and passed over
        wanted += 1
        stream = nacl.utils.randombytes_deterministic(wanted * ELEMENT_BYTES, seed)
        cut = (int.from_bytes(stream[8 * i : 8 * i + 8], "little") & PRIME for i in range(wanted))
        found = [element for element in cut if element < PRIME][:count]
    return tuple(found)


def split(
    secret: Sequence[int], coefficients: Sequence[Sequence[int]], n_shares: int, prime: int = PRIME
) -> tuple[Elements, ...]:
    """`n_shares` shares of `secret` `[n_numbers]`, at points 1, 2, ...; `coefficients` is `[threshold - 1][n_numbers]`.

    ValueRangeError when there are fewer shares than the threshold, or as many as the field has elements.
    """
    if not len(coefficients) < n_shares < prime:
        raise ValueRangeError(f"{n_shares} shares of threshold {len(coefficients) + 1} make no sense")
    return tuple(_evaluate(secret, coefficients, point, prime) for point in range(1, n_shares + 1))


def share(values: Int64Vector, *, n_shares: int, threshold: int, rng: np.random.Generator) -> tuple[Elements, ...]:
    """Shares of whole numbers `[n_numbers]` by polynomials drawn from `rng`; any `threshold` of them give them back."""
    secret = to_elements(values)
    drawn = random_elements((threshold - 1) * len(secret), rng)
    rows = [drawn[row * len(secret) : (row + 1) * len(secret)] for row in range(threshold - 1)]
    return split(secret, rows, n_shares)


def add(shares: Sequence[Sequence[int]], prime: int = PRIME) -> Elements:
    """The sum of vectors of one length, number by number."""
    return tuple(sum(column) % prime for column in zip(*shares, strict=True))


def reconstruct(points: Mapping[int, Sequence[int]], threshold: int, prime: int = PRIME) -> Reconstructed:
    """The vector that these shares hold, by point; with more than `threshold` of them, who lies.

    SharingError for fewer than `threshold`, or where they contradict one another and it cannot be told who is right:
    naming e liars takes threshold + 2 e shares.
    """
    if len(points) < threshold:
        raise SharingError(f"{len(points)} shares are too few; {threshold} give the sum")
    xs = sorted(points)
    liars: set[int] = set()
    values = []
    for column in zip(*(points[x] for x in xs), strict=True):
        polynomial, false = _decode(xs, column, threshold, prime)
        values.append(polynomial[0])
        liars |= false
    if len(liars) > (len(xs) - threshold) // 2:
        raise SharingError("the shares contradict one another, and too many of them to tell who is right")
    return Reconstructed(tuple(values), tuple(sorted(liars)))


def _evaluate(secret: Sequence[int], coefficients: Sequence[Sequence[int]], x: int, prime: int) -> Elements:
    """Horner's rule for each number."""
    total = [0] * len(secret)
    for row in (*reversed(coefficients), secret):
        total = [(t * x + c) % prime for t, c in zip(total, row, strict=True)]
    return tuple(total)


def _value(polynomial: Sequence[int], x: int, prime: int) -> int:
    return _evaluate(polynomial[:1], [[c] for c in polynomial[1:]], x, prime)[0]


def _decode(xs: Sequence[int], ys: Sequence[int], threshold: int, prime: int) -> tuple[list[int], set[int]]:
    """Coefficients of the polynomial that all points but a few lie on, and the points that do not.

    With e errors there are E of degree e, monic, and Q of degree below t + e with Q(x_i) = y_i E(x_i) at every point;
    then f = Q / E.
    """
    for n_errors in range((len(xs) - threshold) // 2 + 1):
        unknown = threshold + 2 * n_errors
        rows = [
            [pow(x, j, prime) for j in range(threshold + n_errors)]
            + [-y * pow(x, j, prime) % prime for j in range(n_errors)]
            + [y * pow(x, n_errors, prime) % prime]
            for x, y in zip(xs, ys, strict=True)
        ]
        solution = _solve(rows, unknown, prime)
        if solution is None:
            continue
        locator = [*solution[threshold + n_errors :], 1]
        polynomial = _divide(solution[: threshold + n_errors], locator, prime)
        if polynomial is None:
            continue
        false = {x for x, y in zip(xs, ys, strict=True) if _value(polynomial, x, prime) != y % prime}
        if len(false) <= n_errors:
            return polynomial, false
    raise SharingError("the shares contradict one another, and it cannot be told who is right")


def _solve(rows: list[list[int]], n_unknown: int, prime: int) -> list[int] | None:
    """One solution of linear equations over the field, each row with its right side last; None when there is none."""
    pivots: list[int] = []
    for column in range(n_unknown):
        here = len(pivots)
        found = next((row for row in range(here, len(rows)) if rows[row][column]), None)
        if found is None:
            continue
        rows[here], rows[found] = rows[found], rows[here]
        inverse = pow(rows[here][column], -1, prime)
        rows[here] = [value * inverse % prime for value in rows[here]]
        for row in range(len(rows)):
            if row != here and (factor := rows[row][column]):
                rows[row] = [(a - factor * b) % prime for a, b in zip(rows[row], rows[here], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = [0] * n_unknown
    for row, column in enumerate(pivots):
        solution[column] = rows[row][-1]
    return solution


def _divide(dividend: Sequence[int], divisor: Sequence[int], prime: int) -> list[int] | None:
    """The quotient by a monic polynomial, lowest coefficient first; None when something remains."""
    rest = list(dividend)
    quotient = [0] * (len(dividend) - len(divisor) + 1)
    for place in reversed(range(len(quotient))):
        quotient[place] = factor = rest[place + len(divisor) - 1]
        for offset, coefficient in enumerate(divisor):
            rest[place + offset] = (rest[place + offset] - factor * coefficient) % prime
    return None if any(rest) else quotient
