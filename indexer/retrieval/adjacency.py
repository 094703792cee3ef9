"""Words next to each other: where the pieces of a phrase or of a joined word stand in a row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import numpy as np

from indexer.postings import Ints
from indexer.storage.snapshot import Snapshot


def phrase_starts(snapshot: Snapshot, field: str, words: Sequence[str]) -> Ints:
    """The places at which the words stand next to each other in this order."""
    return adjacent(snapshot, field, [(word,) for word in words])


def adjacent(snapshot: Snapshot, field: str, pieces: Sequence[tuple[str, ...]]) -> Ints:
    """The places at which one term of each piece [n_pieces][n_terms] stands next to one of the next; ascending."""
    holders = [_union([snapshot.postings(field, term).docs for term in terms]) for terms in pieces]
    common = reduce(partial(np.intersect1d, assume_unique=True), holders)
    starts = _union([snapshot.places(field, term, common) for term in pieces[0]])
    for i, terms in enumerate(pieces[1:], start=1):
        following = _union([snapshot.places(field, term, common) for term in terms])
        starts = starts[np.isin(starts + i, following, assume_unique=True)]
    return starts


def _union(lists: list[Ints]) -> Ints:
    return lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists))
