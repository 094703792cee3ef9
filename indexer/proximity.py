"""How close together the words of a query stand in each candidate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from indexer.concepts import Concept, Counts
from indexer.postings import Ints
from indexer.snapshot import PLACE_BITS, Snapshot

FAR = 64
"""words; a gap at least this wide counts as not near at all"""
MAX_CONCEPTS = 8
"""only the first concepts of a long query are looked at"""


@dataclass(frozen=True, slots=True, eq=False)
class Nearness:
    """Closeness of neighbouring query words in one field, each [n_docs] in [0, 1]."""

    phrase: Counts
    """1 when all words stand next to each other in the query's order somewhere, else half the share of pairs that do"""
    ordered: Counts
    """mean over neighbouring pairs of 1 / smallest gap with the second after the first"""
    near: Counts
    """the same in either order"""
    early: Counts
    """1 / (1 + first position / 50): how near the beginning the field first speaks of any word"""


def nearness(snapshot: Snapshot, concepts: tuple[Concept, ...], field: str, docs: Ints) -> Nearness:
    """Closeness in `field` for the document numbers `docs` [n_docs] (any order).

    Two words stand as in the query when they are as far apart as there: function words between them count.
    """
    n = docs.size
    ascending = np.sort(docs)
    concepts = concepts[:MAX_CONCEPTS]
    places = [_places(snapshot, concept, field, ascending) for concept in concepts]
    early = np.zeros(n)
    for own in places:
        first_docs, first_rows = np.unique(own >> PLACE_BITS, return_index=True)
        position = own[first_rows] & ((1 << PLACE_BITS) - 1)
        rows = np.searchsorted(ascending, first_docs)
        early[rows] = np.maximum(early[rows], 1 / (1 + position / 50))
    ordered, near, adjacent = np.zeros(n), np.zeros(n), np.zeros(n)
    steps = [right.offset - left.offset for left, right in pairwise(concepts)]
    for (left, right), step in zip(pairwise(places), steps, strict=True):
        as_asked = np.isin(left + step, right)
        exact = np.isin(ascending, left[as_asked] >> PLACE_BITS)
        after = np.where(exact, 1.0, _extra(_smallest_gap(left, right, ascending), step))
        before = _smallest_gap(right, left, ascending)
        ordered += _closeness(after)
        near += _closeness(np.minimum(after, before))
        adjacent += exact
    if not steps:
        return Nearness(*_in_order(docs, ascending, (np.zeros(n), np.zeros(n), np.zeros(n), early)))
    phrase = 0.5 * adjacent / len(steps)
    phrase[_whole_phrase(places, steps, ascending)] = 1.0
    return Nearness(*_in_order(docs, ascending, (phrase, ordered / len(steps), near / len(steps), early)))


def _extra(gaps: Counts, step: int) -> Counts:
    """1 for words as far apart as asked, one more for each word that they are nearer or farther; FAR stays FAR."""
    return np.where(gaps < FAR, 1 + np.abs(gaps - step), gaps)


def _in_order(docs: Ints, ascending: Ints, columns: tuple[Counts, ...]) -> list[Counts]:
    rows = np.searchsorted(ascending, docs)
    return [column[rows] for column in columns]


def _places(snapshot: Snapshot, concept: Concept, field: str, docs: Ints) -> Ints:
    if field not in concept.fields:
        return np.zeros(0, dtype=np.int64)
    runs = [snapshot.places(field, run[0], docs) for run in concept.forms]
    return runs[0] if len(runs) == 1 else np.unique(np.concatenate(runs))


def _smallest_gap(left: Ints, right: Ints, docs: Ints) -> Counts:
    """[n_docs] the smallest distance from a place of `left` to a later place of `right` in the same document."""
    gaps = np.full(docs.size, float(FAR))
    if not left.size or not right.size:
        return gaps
    after = np.searchsorted(right, left, side="right")
    has = after < right.size
    left, following = left[has], right[np.minimum(after[has], right.size - 1)]
    same = (following >> PLACE_BITS) == (left >> PLACE_BITS)
    rows = np.searchsorted(docs, left[same] >> PLACE_BITS)
    np.minimum.at(gaps, rows, (following - left)[same].astype(np.float64))
    return gaps


def _closeness(gaps: Counts) -> Counts:
    return np.where(gaps < FAR, 1 / np.maximum(gaps, 1), 0.0)


def _whole_phrase(places: list[Ints], steps: list[int], docs: Ints) -> Ints:
    starts = places[0]
    for offset, own in zip(accumulate(steps), places[1:], strict=True):
        starts = starts[np.isin(starts + offset, own)]
    return np.searchsorted(docs, np.unique(starts >> PLACE_BITS))
