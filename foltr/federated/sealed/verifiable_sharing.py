"""Pedersen's verifiable sharing of vectors of whole numbers: every share can be checked, and a false one detected.

    f_c(x) = v_c + a_{c,1} x + ... + a_{c,t-1} x^{t-1}    for each number v_c of the vector, over the scalars modulo q
    g(x)   = r + b_1 x + ... + b_{t-1} x^{t-1}            of blinding numbers
    C_j    = sum over c of a_{c,j} G_c + b_j H            t commitments, sent along: C_0 is that to the vector
    share i = (f_1(i), ..., f_d(i), g(i)),  i = 1, ..., n

(Pedersen, "Non-interactive and information-theoretic secure verifiable secret sharing", CRYPTO 1991; one commitment to
all coefficients of a power.) Any t shares give the vector; fewer reveal nothing, whoever computes. A share belongs to
the committed polynomials if and only if

    sum over c of f_c(i) G_c + g(i) H = sum over j of i^j C_j

(else a relation between two generators would be known). Sums of shares are shares of the sum, and sums of commitments
are commitments to it: a false sum is detected alone, and any t right ones give the vector. Negative numbers are q - 1,
...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import nacl.utils
import numpy as np
from msgspec import Struct

from foltr.arrays import Int64Vector
from foltr.errors import FoltrError, ValueRangeError
from foltr.federated.sealed.points import (
    ORDER,
    SIZE,
    add,
    combine,
    cut,
    generator,
    generators,
    read_scalars,
    scalar_bytes,
)

Scalars: TypeAlias = tuple[int, ...]
"""a share `[n_numbers + 1]`: the numbers, and the blinding last"""


class SharingError(FoltrError):
    """There are too few shares, or what they give are no numbers that anybody shared."""


class Sharing(Struct, frozen=True):
    commitments: tuple[bytes, ...]
    """[threshold]"""
    shares: tuple[Scalars, ...]
    """of points 1, 2, ..."""
    blinding: int
    """r: that of the first commitment, to the vector itself"""


def commit(values: Sequence[int], blinding: int) -> bytes:
    """sum over c of v_c G_c + r H."""
    bases = (*generators("number", len(values)), generator("blinding", 0))
    return combine((*values, blinding), bases)


def random_scalars(count: int, rng: np.random.Generator) -> Scalars:
    """`stream_scalars` under 32 bytes of `rng`.

    Colluding holders of shares see sums of these, so they come from a cipher, not from a generator for simulations.
    """
    return stream_scalars(count, rng.bytes(32))


def stream_scalars(count: int, seed: bytes) -> Scalars:
    """Each as likely as any other but for 2^-259: ChaCha20 under the seed [32], 512 bits for each, modulo q."""
    stream = nacl.utils.randombytes_deterministic(count * 2 * SIZE, seed)
    return tuple(int.from_bytes(one, "little") % ORDER for one in cut(stream, 2 * SIZE))


def share(values: Int64Vector, *, n_shares: int, threshold: int, rng: np.random.Generator) -> Sharing:
    """Whole numbers `[n_numbers]` in shares, all else drawn from `rng`; ValueRangeError below `threshold` shares."""
    if not 1 <= threshold <= n_shares:
        raise ValueRangeError(f"{n_shares} shares of threshold {threshold} make no sense")
    n = len(values) + 1
    drawn = random_scalars(threshold * n - n + 1, rng)
    rows = [(*map(int, values), drawn[0]), *(drawn[1 + at * n :][:n] for at in range(threshold - 1))]
    return Sharing(
        tuple(commit(row[:-1], row[-1]) for row in rows),
        tuple(_evaluated(rows, point) for point in range(1, n_shares + 1)),
        drawn[0],
    )


def is_share(share: Scalars, point: int, commitments: Sequence[bytes]) -> bool:
    """Whether it is that of this point, or the sum of several is, of the commitments or of their sums."""
    powers = [pow(point, power, ORDER) for power in range(len(commitments))]
    return commit(share[:-1], share[-1]) == combine(powers, commitments)


def add_shares(shares: Sequence[Scalars]) -> Scalars:
    """Number by number; those of one point."""
    return tuple(sum(column) % ORDER for column in zip(*shares, strict=True))


def add_commitments(commitments: Sequence[Sequence[bytes]]) -> tuple[bytes, ...]:
    """Power by power."""
    return tuple(add(*column) for column in zip(*commitments, strict=True))


def reconstruct(shares: Mapping[int, Scalars], threshold: int) -> Int64Vector:
    """The vector of the first `threshold` of these shares, by point, all of which `is_share` has let pass.

    SharingError for fewer, and for a number beyond 63 bits, which its sender has made up.
    """
    if len(shares) < threshold:
        raise SharingError(f"{len(shares)} shares are too few; {threshold} give the sum")
    taken = sorted(shares)[:threshold]
    weights = [_weight(point, taken) for point in taken]
    rows = [shares[point][:-1] for point in taken]
    sums = [sum(w * value for w, value in zip(weights, column, strict=True)) for column in zip(*rows, strict=True)]
    centred = [(total + ORDER // 2) % ORDER - ORDER // 2 for total in sums]
    if any(abs(number) >= 1 << 63 for number in centred):
        raise SharingError("the sum is of numbers that no honest member sends")
    return np.array(centred, dtype=np.int64)


def share_bytes(share: Scalars) -> bytes:
    """[n_numbers + 1, 32]"""
    return b"".join(map(scalar_bytes, share))


def read_share(data: bytes, n_numbers: int) -> Scalars:
    """What `share_bytes` wrote; PointError for anything else."""
    found = read_scalars(data)
    if len(found) != n_numbers + 1:
        raise SharingError(f"a share of {n_numbers} numbers has {n_numbers + 1} scalars, not {len(found)}")
    return found


def _evaluated(rows: Sequence[Sequence[int]], point: int) -> Scalars:
    """Horner's rule for each polynomial."""
    total = tuple(0 for _ in rows[0])
    for row in reversed(rows):
        total = tuple((t * point + c) % ORDER for t, c in zip(total, row, strict=True))
    return total


def _weight(point: int, points: Sequence[int]) -> int:
    """Lagrange's, at 0."""
    top, bottom = 1, 1
    for other in points:
        if other != point:
            top, bottom = top * other % ORDER, bottom * (other - point) % ORDER
    return top * pow(bottom, -1, ORDER) % ORDER
