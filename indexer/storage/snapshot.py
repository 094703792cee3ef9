"""One commit of the index, open for reading: posting lists of all segments as arrays over one document range.

A document's number in a snapshot is its number in its segment plus the sizes of the segments before it.
Decoded lists are kept (a bounded cache), since the words of a query come back with each key press.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from indexer.postings import Ints, Mask, Rows
from indexer.schema import DOCUMENT, TEXT_FIELDS, stored_field, stored_term
from indexer.storage.codec import SegmentFiles, damage_named
from indexer.text.spelling import TermList

CACHE_BYTES = 48 << 20
PLACE_BITS = 32
"""a place key is document number << PLACE_BITS | position"""
MAX_LOCATED = 50_000
"""terms whose place in the segments is remembered"""
Answer = TypeVar("Answer")
Term = tuple[str, str]
"""field and term"""
Holder = tuple[int, SegmentFiles, int]
CommitName = tuple[int, tuple[str, ...]]
"""the generation, which starts anew with a new index, and the names of the segments, which never come back"""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Where one term stands in one field of a snapshot."""

    docs: Ints
    """[n] document numbers, ascending, living documents only"""
    tf: Ints
    """[n] occurrences"""


NOTHING = Postings(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class _Cache:
    """Posting lists by term; the least recently used go first."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._lists: OrderedDict[Term, Postings] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Term) -> Postings | None:
        with self._lock:
            found = self._lists.get(key)
            if found is not None:
                self._lists.move_to_end(key)
            return found

    def put(self, key: Term, postings: Postings) -> None:
        with self._lock:
            if key in self._lists:
                return
            self._lists[key] = postings
            self._size += _n_bytes(postings)
            while self._size > self._limit and len(self._lists) > 1:
                self._size -= _n_bytes(self._lists.popitem(last=False)[1])


def _n_bytes(postings: Postings) -> int:
    return postings.docs.nbytes + postings.tf.nbytes + 200


class Snapshot:
    """Read access to one commit; safe to share between threads."""

    def __init__(self, segments: Sequence[tuple[SegmentFiles, frozenset[int]]], *, generation: int) -> None:
        self.generation = generation
        self._remembered: dict[Hashable, Any] = {}
        self._cache = _Cache(CACHE_BYTES)
        self._located: dict[Term, tuple[Holder, ...]] = {}
        self._segments = [files for files, _ in segments]
        sizes = [len(files.documents) for files in self._segments]
        bases = np.cumsum([0, *sizes])[:-1].tolist() if sizes else []
        self._placed = list(zip(bases, self._segments, strict=True))
        self.documents: Rows = (
            np.concatenate([files.documents for files in self._segments]) if sizes else np.zeros(0, dtype=DOCUMENT)
        )
        self.alive: Mask = np.ones(sum(sizes), dtype=bool)
        """[n_numbers] False for a removed document"""
        for base, (_, dead) in zip(bases, segments, strict=True):
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

    def having(self, doc_ids: Iterable[int]) -> Mask:
        """[n_numbers] True for the living documents of these ids; unknown ids are passed over."""
        mask = np.zeros(self.alive.size, dtype=bool)
        mask[[self.numbers[i] for i in doc_ids if i in self.numbers]] = True
        return mask

    def remember(self, question: Hashable, look_up: Callable[[], Answer]) -> Answer:
        """The answer to a question about this commit, looked up once."""
        answer: Answer | None = self._remembered.get(question)
        if answer is None:
            answer = self._remembered[question] = look_up()
        return answer

    def postings(self, field: str, term: str) -> Postings:
        """The documents that hold `term` (folded) in `field`, which may be the name of a property here and below."""
        known = self._cache.get((field, term))
        if known is None:
            known = self._read(field, term)
            self._cache.put((field, term), known)
        return known

    def _read(self, field: str, term: str) -> Postings:
        lists = [(base, files.postings(stored_field(field), i)) for base, files, i in self._holders(field, term)]
        if not lists:
            return NOTHING
        docs = np.concatenate([docs + base for base, (docs, _) in lists])
        tf = np.concatenate([tf for _, (_, tf) in lists])
        alive = self.alive[docs]
        return Postings(docs, tf) if alive.all() else Postings(docs[alive], tf[alive])

    def _holders(self, field: str, term: str) -> tuple[Holder, ...]:
        """The segments that know the term: first document number, files, number of the term."""
        known = self._located.get((field, term))
        if known is None:
            own, name = stored_term(field, term)
            code = name.encode("utf-8", "surrogatepass")
            found = ((base, files, files.find(own, code)) for base, files in self._placed)
            known = tuple((base, files, i) for base, files, i in found if i >= 0)
            if len(self._located) >= MAX_LOCATED:
                self._located.clear()
            self._located[field, term] = known
        return known

    def places(self, field: str, term: str, docs: Ints) -> Ints:
        """Where `term` stands in those of the documents `docs` (ascending) that hold it: ascending place keys [n]."""
        holders, own = self._holders(field, term), stored_field(field)
        if not holders or not docs.size:
            return NOTHING.docs
        holding = self.postings(field, term).docs
        if not holding.size:
            return NOTHING.docs
        held = docs[holding[np.minimum(np.searchsorted(holding, docs), holding.size - 1)] == docs]
        if not held.size:
            return NOTHING.docs
        found: list[Ints] = [NOTHING.docs]
        for base, files, i in holders:
            first, last = np.searchsorted(held, (base, base + len(files.documents)))
            if last > first:
                in_docs, positions = files.positions(own, i, held[first:last] - base)
                found.append((in_docs + base) << PLACE_BITS | positions)
        return np.concatenate(found)

    def document_frequency(self, field: str, term: str) -> int:
        """How many documents hold the term, removed but not yet merged ones included."""
        return sum(files.frequencies(stored_field(field), i)[0] for _, files, i in self._holders(field, term))

    def terms_with_prefix(self, field: str, prefix: str, limit: int = 20_000) -> dict[str, int]:
        """The field's terms that begin with `prefix`, with their document frequency; at most `limit` a segment."""
        own, begin = stored_term(field, prefix)
        start = begin.encode("utf-8", "surrogatepass")
        n_before = len(begin) - len(prefix)  # the name of a property, where it is one
        found: dict[str, int] = {}
        for files in self._segments:
            first, last = files.position_of(own, start), files.position_of(own, start + b"\xff")
            last = min(last, first + limit)
            df = files.document_frequencies(own)[first:last].tolist()
            for word, count in zip(_words(files, own, first, last), df, strict=True):
                word = word[n_before:]
                found[word] = found.get(word, 0) + count
        return found

    def term_lists(self, field: str) -> list[TermList]:
        """The field's terms, segment by segment, as they lie on disk."""
        return [files.term_list(field) for files in self._segments]


def _words(files: SegmentFiles, field: str, start: int = 0, stop: int | None = None) -> list[str]:
    with damage_named(files.name):
        return [term.decode("utf-8", "surrogatepass") for term in files.all_terms(field, start, stop)]
