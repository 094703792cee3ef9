"""One commit of the index, open for reading: posting lists of all segments as arrays over one document range.

A document's number in a snapshot is its number in its segment plus the sizes of the segments before it.
Segments never change, so decoded lists are kept between snapshots (a bounded cache).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from indexer.codec import SegmentFiles, damage_named
from indexer.postings import Ints
from indexer.schema import DOCUMENT, TEXT_FIELDS

CACHE_BYTES = 48 << 20
PLACE_BITS = 32
"""a place key is document number << PLACE_BITS | position"""
Key = tuple[str, str, bytes]
CommitName = tuple[int, tuple[str, ...]]
"""generation and names of the segments: an index that was made anew may come to a generation it had before"""


class _Cache:
    """Decoded posting lists by (segment, field, term); the least recently used go first."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._lists: OrderedDict[Key, tuple[Ints, Ints]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> tuple[Ints, Ints] | None:
        with self._lock:
            found = self._lists.get(key)
            if found is not None:
                self._lists.move_to_end(key)
            return found

    def put(self, key: Key, lists: tuple[Ints, Ints]) -> None:
        with self._lock:
            if key in self._lists:
                return
            self._lists[key] = lists
            self._size += lists[0].nbytes + lists[1].nbytes
            while self._size > self._limit and len(self._lists) > 1:
                _, (docs, tf) = self._lists.popitem(last=False)
                self._size -= docs.nbytes + tf.nbytes


_CACHE = _Cache(CACHE_BYTES)


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Where one term stands in one field of a snapshot."""

    docs: Ints
    """[n] document numbers, ascending, living documents only"""
    tf: Ints
    """[n] occurrences"""


NOTHING = Postings(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Snapshot:
    """Read access to one commit; safe to share between threads."""

    def __init__(self, segments: Sequence[tuple[SegmentFiles, frozenset[int]]], *, generation: int) -> None:
        self.generation = generation
        self._remembered: dict[Hashable, tuple[str, ...]] = {}
        self._segments = [files for files, _ in segments]
        sizes = [len(files.documents) for files in self._segments]
        self._bases = np.cumsum([0, *sizes])[:-1].tolist() if sizes else []
        self.documents: npt.NDArray[np.void] = (
            np.concatenate([files.documents for files in self._segments]) if sizes else np.zeros(0, dtype=DOCUMENT)
        )
        self.alive: npt.NDArray[np.bool_] = np.ones(sum(sizes), dtype=bool)
        """[n_numbers] False for a removed document"""
        for base, (_, dead) in zip(self._bases, segments, strict=True):
            self.alive[[base + docnum for docnum in dead]] = False
        self.n_documents = int(self.alive.sum())

    @property
    def commit_name(self) -> CommitName:
        """What tells this commit from all others."""
        return self.generation, tuple(files.name for files in self._segments)

    @cached_property
    def average_length(self) -> dict[str, float]:
        """Mean length in words of each text field over the documents that have it (1 where none has)."""
        means: dict[str, float] = {}
        for field in TEXT_FIELDS:
            lengths = self.documents[f"n_{field}"][self.alive]
            n = int(np.count_nonzero(lengths))
            means[field] = float(lengths.sum(dtype=np.int64)) / n if n else 1.0
        return means

    @cached_property
    def numbers(self) -> dict[int, int]:
        """doc_id -> document number, living documents only."""
        living = np.flatnonzero(self.alive)
        return dict(zip(self.documents["doc_id"][living].tolist(), living.tolist(), strict=True))

    def remember(self, question: Hashable, look_up: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        """The answer to a question about this commit's terms, looked up once."""
        answer = self._remembered.get(question)
        if answer is None:
            answer = self._remembered[question] = look_up()
        return answer

    def postings(self, field: str, term: str) -> Postings:
        """The documents that hold `term` (folded) in `field`."""
        name = term.encode("utf-8", "surrogatepass")
        docs: list[Ints] = []
        tfs: list[Ints] = []
        for base, files in zip(self._bases, self._segments, strict=True):
            i = files.find(field, name)
            if i >= 0:
                found, tf = self._lists(files, field, i, name)
                docs.append(found + base)
                tfs.append(tf)
        if not docs:
            return NOTHING
        all_docs, all_tf = (docs[0], tfs[0]) if len(docs) == 1 else (np.concatenate(docs), np.concatenate(tfs))
        alive = self.alive[all_docs]
        return Postings(all_docs, all_tf) if alive.all() else Postings(all_docs[alive], all_tf[alive])

    def _lists(self, files: SegmentFiles, field: str, i: int, name: bytes) -> tuple[Ints, Ints]:
        key = (files.name, field, name)
        lists = _CACHE.get(key)
        if lists is None:
            lists = files.postings(field, i)
            _CACHE.put(key, lists)
        return lists

    def places(self, field: str, term: str, docs: Ints) -> Ints:
        """Where `term` stands in those of the documents `docs` (ascending) that hold it: ascending place keys [n]."""
        name = term.encode("utf-8", "surrogatepass")
        found: list[Ints] = [np.zeros(0, dtype=np.int64)]
        for base, files in zip(self._bases, self._segments, strict=True):
            first, last = np.searchsorted(docs, (base, base + len(files.documents)))
            if first == last or (i := files.find(field, name)) < 0:
                continue
            holders = self._lists(files, field, i, name)[0]
            own = docs[first:last] - base
            rows = np.minimum(np.searchsorted(holders, own), holders.size - 1)
            in_docs, positions = files.positions(field, i, own[holders[rows] == own])
            found.append((in_docs + base) << PLACE_BITS | positions)
        return np.concatenate(found)

    def document_frequency(self, field: str, term: str) -> int:
        """How many documents hold the term, removed but not yet merged ones included."""
        name = term.encode("utf-8", "surrogatepass")
        total = 0
        for files in self._segments:
            i = files.find(field, name)
            if i >= 0:
                total += files.frequencies(field, i)[0]
        return total

    def terms_with_prefix(self, field: str, prefix: str, limit: int = 20_000) -> dict[str, int]:
        """The field's terms that begin with `prefix`, with their document frequency; at most `limit` a segment."""
        start = prefix.encode("utf-8", "surrogatepass")
        found: dict[str, int] = {}
        for files in self._segments:
            first, last = files.position_of(field, start), files.position_of(field, start + b"\xff")
            last = min(last, first + limit)
            df = files.document_frequencies(field)[first:last].tolist()
            for word, count in zip(_words(files, field, first, last), df, strict=True):
                found[word] = found.get(word, 0) + count
        return found

    def vocabulary(self, field: str) -> dict[str, int]:
        """Every term of the field with its document frequency."""
        found: dict[str, int] = {}
        for files in self._segments:
            for word, df in zip(_words(files, field), files.document_frequencies(field).tolist(), strict=True):
                found[word] = found.get(word, 0) + df
        return found


def _words(files: SegmentFiles, field: str, start: int = 0, stop: int | None = None) -> list[str]:
    with damage_named(files.name):
        return [term.decode("utf-8", "surrogatepass") for term in files.all_terms(field, start, stop)]
