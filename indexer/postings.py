"""Postings as arrays: their types, grouping a document's terms, and the byte code of positions.

Positions are stored as gaps (the first as itself) in variable-length bytes: seven bits a byte, the lowest
first, the high bit set on all but the last byte of a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
"""document numbers, places, occurrences"""
Bytes = npt.NDArray[np.uint8]
"""as they stand on the disk"""
Floats = npt.NDArray[np.float64]
"""occurrences, scores and values of features, `[n]` or `[n, m]`"""
Mask = npt.NDArray[np.bool_]
"""`[n_numbers]` over the document numbers of a snapshot"""
Rows = npt.NDArray[np.void]
"""`[n_docs]` what the index keeps of each document (indexer.schema.DOCUMENT)"""

Vectors = npt.NDArray[np.float32]
"""`[n, n_numbers]` what texts mean, each of length 1"""

MAX_TF = 65_535


class FieldPostings(msgspec.Struct, frozen=True):
    """One field of one document: its distinct terms, how often and where."""

    terms: str
    """the n_terms distinct terms, joined by line feeds (no term holds one)"""
    tf: bytes
    """uint16 [n_terms]: occurrences, at most 65,535"""
    position_lengths: bytes
    """uint32 [n_terms]: bytes of each term's run in `positions`"""
    positions: bytes
    length: int
    """how many positions the field has: its length in words"""


EMPTY = FieldPostings("", b"", b"", b"", 0)


def group_postings(terms: npt.NDArray[np.int32], positions: Ints, names: Sequence[str], length: int) -> FieldPostings:
    """Group occurrences (terms [n], positions [n]) by term."""
    if terms.size == 0:
        return FieldPostings("", b"", b"", b"", length)
    order = np.lexsort((positions, terms))
    terms, positions = terms[order], positions[order]
    starts = np.flatnonzero(np.concatenate(([True], terms[1:] != terms[:-1])))
    gaps = np.diff(positions, prepend=0)
    gaps[starts] = positions[starts]
    code, sizes = encode(gaps)
    tf = np.diff(np.append(starts, terms.size))
    return FieldPostings(
        "\n".join([names[i] for i in terms[starts].tolist()]),
        np.minimum(tf, MAX_TF).astype("<u2").tobytes(),
        np.add.reduceat(sizes, starts).astype("<u4").tobytes(),
        code.tobytes(),
        length,
    )


def group_positions(terms: Sequence[int], positions: Sequence[int], names: Sequence[str], length: int) -> FieldPostings:
    """The same for a few occurrences, given as lists."""
    return group_postings(np.array(terms, dtype=np.int32), np.array(positions, dtype=np.int64), names, length)


def encode(numbers: Ints) -> tuple[Bytes, Ints]:
    """Variable-length bytes of `numbers` [n] (each in 0..2^35-1), and the size in bytes of each [n]."""
    numbers = numbers.astype(np.int64)
    sizes = 1 + (numbers >= 1 << 7) + (numbers >= 1 << 14) + (numbers >= 1 << 21) + (numbers >= 1 << 28)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    code = np.zeros(int(ends[-1]) if ends.size else 0, dtype=np.uint8)
    for i in range(int(sizes.max(initial=0))):
        has = sizes > i
        more = np.where(sizes[has] > i + 1, 0x80, 0)
        code[starts[has] + i] = ((numbers[has] >> (7 * i)) & 0x7F) | more
    return code, sizes


def decode(code: Bytes) -> Ints:
    """The numbers that `encode` wrote."""
    if code.size == 0:
        return np.zeros(0, dtype=np.int64)
    ends = np.flatnonzero(code < 0x80)
    sizes = np.diff(ends, prepend=-1)
    starts = ends - sizes + 1
    numbers = (code[starts] & 0x7F).astype(np.int64)
    for i in range(1, int(sizes.max())):
        has = np.flatnonzero(sizes > i)
        numbers[has] |= (code[starts[has] + i] & 0x7F).astype(np.int64) << (7 * i)
    return numbers


def gather(code: Bytes, starts: Ints, sizes: Ints) -> Bytes:
    """The runs [start, start + size) of `code`, one after the other."""
    total = int(sizes.sum())
    if total == 0:
        return np.zeros(0, dtype=np.uint8)
    ends = np.cumsum(sizes)
    index = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - sizes), sizes)
    chosen: Bytes = code[index]
    return chosen
