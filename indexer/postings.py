"""Postings as arrays: their types, grouping a document's terms, and the byte code of positions.

Positions are stored as gaps (the first as itself) in variable-length bytes: seven bits a byte, the lowest
first, the high bit set on all but the last byte of a number.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
"""document numbers, places, occurrences"""
Bytes = npt.NDArray[np.uint8]
"""as stored on disk"""
Floats = npt.NDArray[np.float64]
"""occurrences, scores and values of features, `[n]` or `[n, m]`"""
Mask = npt.NDArray[np.bool_]
"""`[n_numbers]` over the document numbers of a snapshot"""
Rows = npt.NDArray[np.void]
"""`[n_docs]` what the index keeps of each document (indexer.schema.DOCUMENT)"""
Column = npt.NDArray[Any]
"""`[n_docs]` one column of the numbers kept of each document; `[n_docs, n]` where it holds several"""
Vectors = npt.NDArray[np.float32]
"""`[n, n_numbers]` embeddings of texts, each of length 1"""

MAX_TF = 65_535


class FieldPostings(msgspec.Struct, frozen=True):
    """One field of one document: its distinct terms, how often each occurs and where."""

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


def group_postings(
    terms: npt.NDArray[np.int32], positions: Ints, names: Sequence[str], length: int
) -> tuple[FieldPostings, Ints]:
    """Group occurrences (terms [n], positions [n], both below 2^31) by term; gives the distinct terms [n_terms] too."""
    if terms.size == 0:
        return FieldPostings("", b"", b"", b"", length), terms
    keys = terms.astype(np.int64) << 32 | positions
    keys.sort()
    terms, gaps = keys >> 32, keys.copy()
    starts = beginnings(terms)
    gaps[1:] -= keys[:-1]
    gaps[starts] = keys[starts] & 0x7FFFFFFF
    code, sizes = encode(gaps)
    tf = np.empty(starts.size, dtype=np.int64)
    tf[:-1], tf[-1] = starts[1:], terms.size
    tf -= starts
    distinct = terms[starts]
    postings = FieldPostings(
        "\n".join(map(names.__getitem__, distinct.tolist())),
        np.minimum(tf, MAX_TF).astype("<u2").tobytes(),
        np.add.reduceat(sizes, starts).astype("<u4").tobytes(),
        code.tobytes(),
        length,
    )
    return postings, distinct


def beginnings(keys: Ints) -> Ints:
    """Where each run of equal `keys` [n] begins."""
    first = np.empty(keys.size, dtype=bool)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first.nonzero()[0]


def few_postings(places: Mapping[str, Sequence[int]], length: int) -> FieldPostings:
    """The postings of a short text, from term -> its positions, in any order."""
    tf, sizes, code = list[int](), list[int](), bytearray()
    for own in places.values():
        before, start = 0, len(code)
        for position in sorted(own):
            gap, before = position - before, position
            while gap > 0x7F:
                code.append(gap & 0x7F | 0x80)
                gap >>= 7
            code.append(gap)
        tf.append(min(len(own), MAX_TF))
        sizes.append(len(code) - start)
    n = len(tf)
    packed = struct.pack(f"<{n}H", *tf), struct.pack(f"<{n}I", *sizes), bytes(code)
    return FieldPostings("\n".join(places), *packed, length)


def encode(numbers: Ints) -> tuple[Bytes, Ints]:
    """Variable-length bytes of `numbers` [n] (each in 0..2^35-1), and the size in bytes of each [n]."""
    top = int(numbers.max(initial=0))
    if top < 1 << 7:
        return numbers.astype(np.uint8), np.ones(numbers.size, dtype=np.int64)
    sizes = (numbers > 0x7F) + 1
    for bits in range(14, top.bit_length(), 7):
        sizes += numbers >= 1 << bits
    ends = sizes.cumsum()
    code, at = np.empty(int(ends[-1]), dtype=np.uint8), ends - sizes
    while numbers.size:
        more = numbers > 0x7F
        code[at] = numbers | more << 7
        numbers, at = numbers[more] >> 7, at[more] + 1
    return code, sizes


def decode(code: Bytes) -> Ints:
    if code.size == 0:
        return np.zeros(0, dtype=np.int64)
    ends = (code < 0x80).nonzero()[0]
    if ends.size == code.size:
        return code.astype(np.int64)
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    numbers = code[ends].astype(np.int64)  # the last byte of each, then the earlier ones
    has = (starts < ends).nonzero()[0]
    at = ends[has]
    while has.size:
        at = at - 1
        numbers[has] = numbers[has] << 7 | (code[at] & 0x7F)
        more = (starts[has] < at).nonzero()[0]
        has, at = has[more], at[more]
    return numbers


def number_at(code: bytes | memoryview, at: int) -> tuple[int, int]:
    """The one number at a place in such bytes, and where it ends; IndexError where they end before it."""
    number = shift = 0
    while code[at] >= 0x80:
        number, shift, at = number | (code[at] & 0x7F) << shift, shift + 7, at + 1
    return number | code[at] << shift, at + 1


def decode_runs(code: Bytes, sizes: Ints, firsts: Ints) -> tuple[Ints, Ints]:
    """The positions in runs of so many bytes [n_runs], to each the run's of `firsts` [n_runs] added; and where each run
    ends among them [n_runs]."""
    if not sizes.size:
        return np.zeros(0, dtype=np.int64), sizes
    running = decode(code).cumsum()
    ends = np.add.reduceat(code < 0x80, sizes.cumsum() - sizes, dtype=np.int64).cumsum()
    counts, firsts = ends.copy(), firsts.copy()
    counts[1:] -= ends[:-1]
    firsts[1:] -= running[ends[:-1] - 1]
    running += firsts.repeat(counts)
    return running, ends


def run_places(starts: Ints, sizes: Ints) -> Ints:
    """The numbers of the runs [start, start + size), one run after the other."""
    ends = sizes.cumsum()
    places: Ints = (starts - ends + sizes).repeat(sizes)
    places += np.arange(places.size)
    return places


def gather(code: Bytes, starts: Ints, sizes: Ints) -> Bytes:
    """The runs [start, start + size) of `code`, one after the other."""
    chosen: Bytes = code[run_places(starts, sizes)]
    return chosen
