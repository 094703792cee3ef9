"""Words next to each other: where the pieces of a phrase or of a joined word stand in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.postings import Ints, Mask
from indexer.storage.snapshot import Snapshot


def phrase_starts(snapshot: Snapshot, field: str, words: Sequence[str], docs: Ints | None = None) -> Ints:
    """The places at which the words stand next to each other in this order; `docs` as in `adjacent`."""
    return adjacent(snapshot, field, [(word,) for word in words], docs)


def adjacent(snapshot: Snapshot, field: str, pieces: Sequence[tuple[str, ...]], docs: Ints | None = None) -> Ints:
    """The places at which one term of each piece [n_pieces][n_terms] stands next to one of the next; ascending.

    Of the ascending `docs` alone, where they are given.
    """
    common = docs
    for holders in (union([snapshot.postings(field, term).docs for term in terms]) for terms in pieces):
        if common is None:
            common = holders
        else:
            few, many = (common, holders) if common.size < holders.size else (holders, common)
            common = few[among(few, many)]
        if not common.size:
            return common
    assert common is not None
    places = [_different(own) for own in snapshot.all_places([(field, terms) for terms in pieces], common)]
    starts = places[0]
    for i, following in enumerate(places[1:], start=1):
        starts = starts[among(starts + i, following)]
    return starts


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
    every.sort()
    return _different(every)


def _different(values: Ints) -> Ints:
    """The ascending `values` [n] without those that are there already."""
    is_new = np.empty(values.size, dtype=bool)
    is_new[:1] = True
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return values[is_new]
