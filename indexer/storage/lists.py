"""From postings as they come, document by document, to posting lists term by term."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.postings import Bytes, FieldPostings, Ints, gather
from indexer.storage.codec import FieldLists, SegmentFiles

_BLOCK = 100_000
"""postings whose positions are moved at a time, which bounds the memory of the index arrays"""
_RUN_BYTES = 2 << 20
"""of posting lists that are merged at a time; their arrays take about forty times as much memory"""


def _numbered() -> defaultdict[Any, int]:
    """Term -> its number; an unseen one gets the next."""
    return defaultdict(count().__next__)


def _numbers_of(terms: Sequence[object], numbered: Mapping[Any, int]) -> npt.NDArray[np.int32]:
    """The numbers of `terms` [n]."""
    return np.fromiter(map(numbered.__getitem__, terms), dtype=np.int32, count=len(terms))


class FieldBuffer:
    """Collects one field's postings of many documents, as arrays."""

    def __init__(self) -> None:
        self._numbers = _numbered()
        self._terms: list[npt.NDArray[np.int32]] = []
        self._docs: list[tuple[int, int]] = []
        self._tf: list[bytes] = []
        self._lengths: list[bytes] = []
        self._positions: list[bytes] = []
        self.n_postings = 0

    def add(self, doc: int, field: FieldPostings) -> None:
        """Append one document's field; `doc` grows from call to call."""
        if not field.terms:
            return
        terms = field.terms.split("\n")
        self._terms.append(_numbers_of(terms, self._numbers))
        self._docs.append((doc, len(terms)))
        self._tf.append(field.tf)
        self._lengths.append(field.position_lengths)
        self._positions.append(field.positions)
        self.n_postings += len(terms)

    def lists(self) -> FieldLists:
        """All that was added, term by term."""
        docs, counts = np.array(self._docs, dtype=np.int32).reshape(-1, 2).T
        return group_lists(
            [term.encode("utf-8", "surrogatepass") for term in self._numbers],
            np.concatenate(self._terms) if self._terms else np.zeros(0, dtype=np.int32),
            docs=np.repeat(docs, counts),
            tf=np.frombuffer(b"".join(self._tf), dtype="<u2"),
            lengths=np.frombuffer(b"".join(self._lengths), dtype="<u4"),
            positions=np.frombuffer(b"".join(self._positions), dtype=np.uint8),
        )


def group_lists(
    names: Sequence[bytes], terms: npt.NDArray[np.int32], *, docs: Ints, tf: Ints, lengths: Ints, positions: Bytes
) -> FieldLists:
    """Sort postings [n] by the bytes of their term's name; documents keep their order within a term."""
    counts = np.bincount(terms, minlength=len(names))
    by_name = sorted(counts.nonzero()[0].tolist(), key=names.__getitem__)
    place = np.zeros(len(names), dtype=np.int64)
    place[by_name] = np.arange(len(by_name))
    sorted_names, df, keys = [names[i] for i in by_name], counts[by_name], place[terms]
    if (keys[1:] >= keys[:-1]).all():  # of one segment that is written anew
        return FieldLists(sorted_names, df, docs, tf, lengths, positions)
    keys = keys << 32 | np.arange(terms.size)
    keys.sort()
    order = keys & 0xFFFFFFFF
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    blocks = [order[i : i + _BLOCK] for i in range(0, order.size, _BLOCK)]
    moved = [gather(positions, starts[block], lengths[block].astype(np.int64)) for block in blocks]
    return FieldLists(
        sorted_names,
        df,
        docs[order],
        tf[order],
        lengths[order],
        np.concatenate(moved) if moved else positions,
    )


def merged_lists(field: str, segments: Sequence[SegmentFiles], renumbered: Sequence[Ints]) -> Iterator[FieldLists]:
    """The field's lists of several segments as one, in runs of terms that bound the memory.

    `renumbered[s][doc]` is the new number of a document of segment s, -1 for a dead one.
    """
    largest = max(segments, key=lambda segment: segment.n_terms(field))
    n_bytes = max(_RUN_BYTES * largest.n_bytes // max(sum(segment.n_bytes for segment in segments), 1), 1)
    bounds = [largest.term(field, i) for i in largest.runs(field, n_bytes).tolist()]
    starts = [0] * len(segments)
    for bound in [*bounds, None]:
        stops = [s.n_terms(field) if bound is None else s.position_of(field, bound) for s in segments]
        yield _merged_run(field, segments, renumbered, list(zip(starts, stops, strict=True)))
        for segment, start, stop in zip(segments, starts, stops, strict=True):
            if stop > start:
                segment.forget_read(field, start, stop)
        starts = stops


def _merged_run(
    field: str, segments: Sequence[SegmentFiles], renumbered: Sequence[Ints], ranges: Sequence[tuple[int, int]]
) -> FieldLists:
    numbered = _numbered()
    nothing = np.zeros(0, dtype=np.int32)
    parts: list[tuple[Any, ...]] = [(nothing, nothing, nothing, nothing, nothing.astype(np.uint8))]
    for segment, new, (start, stop) in zip(segments, renumbered, ranges, strict=True):
        if stop > start:
            lists = segment.field_lists(field, start, stop)
            parts.append(_living(np.repeat(_numbers_of(lists.terms, numbered), lists.df), lists, new))
    terms, docs, tf, lengths, positions = (np.concatenate(column) for column in zip(*parts, strict=True))
    return group_lists(list(numbered), terms, docs=docs, tf=tf, lengths=lengths, positions=positions)


def _living(
    terms: npt.NDArray[np.int32], lists: FieldLists, new: Ints
) -> tuple[npt.NDArray[np.int32], Ints, Ints, Ints, Bytes]:
    docs = new[lists.docs].astype(np.int32)
    alive = docs >= 0
    tf, lengths = lists.tf.astype(np.uint16), lists.position_lengths.astype(np.uint32)
    if alive.all():
        return terms, docs, tf, lengths, lists.positions
    starts = np.cumsum(lists.position_lengths) - lists.position_lengths
    kept = gather(lists.positions, starts[alive], lists.position_lengths[alive])
    return terms[alive], docs[alive], tf[alive], lengths[alive], kept


def renumber(sizes: Iterable[int], dead: Iterable[Set[int]]) -> tuple[list[Ints], int]:
    """New numbers for the living documents of segments of `sizes`, one after the other, and how many there are."""
    maps: list[Ints] = []
    n = 0
    for size, gone in zip(sizes, dead, strict=True):
        alive = np.ones(size, dtype=bool)
        alive[list(gone)] = False
        new = np.full(size, -1, dtype=np.int64)
        new[alive] = n + np.arange(int(alive.sum()))
        n += int(alive.sum())
        maps.append(new)
    return maps, n
