"""How much two texts have in common, from a few bytes of each: one-permutation min-hashing.

The resemblance of two texts is the Jaccard index of their sets of words, words with digits left out: two bills of one
firm resemble each other, whatever their numbers. Each word is hashed once; the hashes fall into BUCKETS buckets by
their highest bits, and each bucket keeps eight bits of its smallest (0: no word fell there). Then

    resemblance ~ buckets that agree / buckets that are used by either text

is unbiased but for the chance of 1/255 that two different words agree, with standard error sqrt(J (1 - J) / buckets
used) (Li, Owen and Zhang 2012, One Permutation Hashing, Eq. 2 to 6).
"""

from __future__ import annotations

from binascii import crc32

import numpy as np

from indexer.postings import Bytes, Floats, Ints

BUCKETS = 128
"""a sketch is so many bytes; at a resemblance of .9 the standard error is .027"""
_FIRST = 32
"""buckets that are compared for all pairs"""
_BITS = 64 - BUCKETS.bit_length() + 1
_HAS_DIGIT = frozenset("0123456789")


NO_HASH = -1
"""of a word that does not count"""


def word_hash(word: str) -> int:
    """32 bits of a word, NO_HASH for one with digits."""
    return crc32(word.encode("utf-8", "surrogatepass")) if _HAS_DIGIT.isdisjoint(word) else NO_HASH


def sketch(hashes: Ints) -> bytes:
    """The sketch `[BUCKETS]` of words by their hashes [n], which may come several times."""
    codes = np.zeros(BUCKETS, dtype=np.uint8)
    hashes = hashes[hashes != NO_HASH]
    if hashes.size:
        mixed = np.sort(_mixed(hashes.astype(np.uint64)))
        buckets = (mixed >> np.uint64(_BITS)).astype(np.int64)
        first = np.concatenate(([0], (buckets[1:] != buckets[:-1]).nonzero()[0] + 1))
        codes[buckets[first]] = mixed[first] % np.uint64(255) + np.uint64(1)
    return codes.tobytes()


def _mixed(values: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Each of the 64 bits depends on all of a value's: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)


def resembling(sketches: Bytes, least: float) -> tuple[Ints, Floats]:
    """The pairs `[n_pairs, 2]` (earlier, later) of sketches `[n, BUCKETS]` that resemble each other at least so much,
    in order, and their estimated resemblance `[n_pairs]`.

    Pairs that agree in far fewer of the first buckets than `least` are not looked at further: below a quarter of them
    a pair of resemblance .5 falls once in a thousand.
    """
    columns = np.ascontiguousarray(sketches[:, :_FIRST].T)
    agree = (columns[:, :, None] == columns[:, None, :]).view(np.uint8).sum(axis=0, dtype=np.uint8)
    earlier, later = (agree >= least * _FIRST / 2).nonzero()
    forward = earlier < later
    earlier, later = earlier[forward], later[forward]
    filled = _bits(sketches > 0)
    used = np.bitwise_count(filled[earlier] | filled[later]).sum(axis=1, dtype=np.int64)
    differ = np.bitwise_count(_bits(sketches[earlier] != sketches[later])).sum(axis=1, dtype=np.int64)
    values = (used - differ) / np.maximum(used, 1)
    kept = values >= least
    return np.column_stack((earlier[kept], later[kept])), values[kept]


def _bits(mask: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """A `mask` [n, BUCKETS] as bits, which are counted 64 at a time."""
    return np.packbits(mask, axis=1).view(np.uint64)
