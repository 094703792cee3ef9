"""Words next to each other: where the pieces of a phrase or of a joined word stand in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.postings import Ints, Mask
from indexer.storage.snapshot import Snapshot

Pieces = tuple[tuple[str, ...], ...]
"""of a phrase or a joined word: the terms that may stand at each of its positions"""

DENSE = 16
"""numbers of which one in so many is there are marked in a row, which beats sorting them"""


def phrase_starts(snapshot: Snapshot, field: str, words: Sequence[str], docs: Ints | None = None) -> Ints:
    """The places at which the words stand next to each other in this order; `docs` as in `adjacent`."""
    return adjacent(snapshot, field, [(word,) for word in words], docs)


def adjacent(snapshot: Snapshot, field: str, pieces: Sequence[tuple[str, ...]], docs: Ints | None = None) -> Ints:
    """The places at which one term of each piece [n_pieces][n_terms] stands next to one of the next; ascending.

    Of the ascending `docs` alone, where they are given.
    """
    common, distinct = docs, tuple(dict.fromkeys(pieces))
    for holders in (union([snapshot.postings(field, term).docs for term in terms]) for terms in distinct):
        if common is None:
            common = holders
        else:
            few, many = (common, holders) if common.size < holders.size else (holders, common)
            common = few[among(few, many)]
        if not common.size:
            return common
    assert common is not None
    places = map(_different, snapshot.all_places([(field, terms) for terms in distinct], common))
    return _in_a_row(tuple(pieces), {(terms,): own for terms, own in zip(distinct, places, strict=True)})


def _in_a_row(pieces: Pieces, known: dict[Pieces, Ints]) -> Ints:
    """Where the pieces stand in a row; `known` holds where each stands alone, and gets what is found of runs of them.

    A run is found from its two parts, the first of 2^k pieces: where pieces repeat so do the parts, and each is looked
    for once. A word n times in a row costs log n looks at its places.
    """
    if pieces not in known:
        n = 1 << (len(pieces) - 1).bit_length() - 1
        starts = _in_a_row(pieces[:n], known)
        known[pieces] = starts[among(starts + n, _in_a_row(pieces[n:], known))] if starts.size else starts
    return known[pieces]


def among(values: Ints, known: Ints) -> Mask:
    """Which of `values` [n] are in the ascending `known`: np.isin, without its sorting."""
    if not known.size:
        return np.zeros(values.size, dtype=bool)
    rows = known.searchsorted(values)
    rows[rows == known.size] = 0
    return np.asarray(known[rows] == values)


def union(lists: Sequence[Ints]) -> Ints:
    """The different numbers of several lists of different numbers, ascending."""
    if len(lists) == 1:
        return lists[0]
    every = np.concatenate(lists)
    most = int(every.max(initial=-1)) + 1
    if most < DENSE * every.size:
        is_there = np.zeros(most, dtype=bool)
        is_there[every] = True
        return is_there.nonzero()[0]
    every.sort()
    return _different(every)


def _different(values: Ints) -> Ints:
    """The ascending `values` [n] without those that are there already."""
    is_new = np.empty(values.size, dtype=bool)
    is_new[:1] = True
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return values[is_new]
