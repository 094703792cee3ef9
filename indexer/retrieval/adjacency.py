"""Words next to each other: where the pieces of a phrase or of a joined word stand in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.postings import Ints, Mask
from indexer.storage.snapshot import Snapshot


def phrase_starts(snapshot: Snapshot, field: str, words: Sequence[str]) -> Ints:
    """The places at which the words stand next to each other in this order."""
    return adjacent(snapshot, field, [(word,) for word in words])


def adjacent(snapshot: Snapshot, field: str, pieces: Sequence[tuple[str, ...]]) -> Ints:
    """The places at which one term of each piece [n_pieces][n_terms] stands next to one of the next; ascending."""
    holders = (union([snapshot.postings(field, term).docs for term in terms]) for terms in pieces)
    common = next(holders)
    for docs in holders:
        if not common.size:
            return common
        few, many = (common, docs) if common.size < docs.size else (docs, common)
        common = few[among(few, many)]
    places = iter(snapshot.all_places([(field, term) for terms in pieces for term in terms], common))
    starts = union([next(places) for _ in pieces[0]])
    for i, terms in enumerate(pieces[1:], start=1):
        following = union([next(places) for _ in terms])
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
    is_new = np.empty(every.size, dtype=bool)
    is_new[:1] = True
    np.not_equal(every[1:], every[:-1], out=is_new[1:])
    return every[is_new]
