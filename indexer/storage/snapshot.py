"""One commit of the index, open for reading: posting lists of all segments as arrays over one document range.

A document's number in a snapshot is its number in its segment plus the sizes of the segments before it.
Decoded lists are kept (a bounded cache), since the words of a query come back with each key press.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from indexer.codec.segments import Columns, SegmentFiles, damage_named
from indexer.postings import Bytes, Ints, Mask, beginnings, decode_runs, run_places
from indexer.schema import FIELDS, PROPERTY_FIELD, TEXT_FIELDS, scoped_term
from indexer.text.analysis import MAX_TERM_LENGTH
from indexer.text.spelling import TermList

CACHE_BYTES = 48 << 20
PLACE_BITS = 32
"""a place key is document number << PLACE_BITS | position"""
MAX_LOCATED = 50_000
"""most terms whose place in the segments is cached"""
Answer = TypeVar("Answer")
Key = tuple[Hashable, ...]
"""a question, in parts"""
Term = tuple[str, str]
"""field and term"""
AnyTerm = tuple[str, tuple[str, ...]]
"""a field and several terms, any of which matches"""
Holder = tuple[int, int, SegmentFiles, int]
"""first document number of a segment, first byte of its file of postings, the segment, the number of a term in it"""
CommitName = tuple[int, tuple[str, ...]]
"""the generation, which restarts with a new index, and the names of the segments, which are never used again"""


def stored_term(field: str, term: str) -> tuple[str, str]:
    """The field and term of the index that hold `term` in a field of the index or in a property."""
    return (field, term) if field in FIELDS else (PROPERTY_FIELD, scoped_term(field, term))


def stored_field(field: str) -> str:
    """The field of the index that holds a field or a property."""
    return field if field in FIELDS else PROPERTY_FIELD


class Postings(Struct, frozen=True, eq=False):
    """Where one term stands in one field of a snapshot."""

    docs: Ints
    """[n] document numbers, ascending, living documents only"""
    tf: Ints
    """[n] occurrences"""


NOTHING = Postings(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Runs(Struct, frozen=True, eq=False):
    """Where the positions of some terms lie in the files of postings, as if these were concatenated."""

    docs: Ints
    """[n] document numbers, ascending; one that holds two of the terms appears twice"""
    starts: Ints
    """[n] the first byte of its positions"""
    sizes: Ints
    """[n] bytes"""

    def of(self, docs: Ints) -> tuple[Ints, Ints]:
        """The runs of `docs` (ascending): for each run its place in `docs`, ascending, and its number among all."""
        first, last = self.docs.searchsorted(docs), self.docs.searchsorted(docs, side="right")
        counts = last - first
        return np.arange(docs.size).repeat(counts), run_places(first, counts)


class RecentlyUsed:
    """A cache of answers by question, up to a total size, least recently used out first; for any thread."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[Key, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Any:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Key, answer: object, size: int) -> None:
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = answer, size
            self._size += size
            while self._size > self._limit and len(self._kept) > 1:
                self._size -= self._kept.popitem(last=False)[1][1]


def _n_bytes(answer: object) -> int:
    """The approximate size of an answer: its arrays, and some bytes for the objects around them."""
    match answer:
        case np.ndarray():
            return answer.nbytes
        case Postings(docs, tf):
            return 300 + docs.nbytes + tf.nbytes
        case Runs(docs, starts, sizes):
            return 300 + docs.nbytes + starts.nbytes + sizes.nbytes
        case dict():
            return 300 + sum(map(_n_bytes, answer.values()))
        case tuple() | list():
            return 300 + sum(map(_n_bytes, answer))
        case str():
            return 60 + len(answer)
        case _:
            return _n_known(answer)


def _n_known(answer: object) -> int:
    """The size that the answer itself states, else 100."""
    return getattr(answer, "n_bytes", 100)


class Snapshot:
    """Read access to one commit; safe to share between threads."""

    def __init__(self, segments: Sequence[tuple[SegmentFiles, frozenset[int]]], *, generation: int) -> None:
        self.generation = generation
        self._remembered: dict[Hashable, Any] = {}
        self._cache = RecentlyUsed(CACHE_BYTES)
        self._located: dict[Term, tuple[Holder, ...]] = {}
        self._segments = [files for files, _ in segments]
        sizes = [len(files.documents) for files in self._segments]
        bases = np.cumsum([0, *sizes])[:-1].tolist() if sizes else []
        self._code_starts = np.cumsum([0, *(files.n_bytes for files in self._segments)])[:-1]
        """[n_segments] where each file of postings begins, as if they were concatenated"""
        self._placed = list(zip(bases, self._code_starts.tolist(), self._segments, strict=True))
        self.documents = Columns([files.documents for files in self._segments], sizes)
        self.alive: Mask = np.ones(sum(sizes), dtype=bool)
        """[n_numbers] False for a removed document"""
        for base, (_, dead) in zip(bases, segments, strict=True):
            self.alive[[base + docnum for docnum in dead]] = False
        self.n_documents = int(self.alive.sum())
        self._all_alive = self.n_documents == self.alive.size

    @property
    def commit_name(self) -> CommitName:
        """Identifies this commit among all others."""
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

    def forget(self) -> None:
        """Drop all cached answers."""
        self._remembered, self._cache = {}, RecentlyUsed(CACHE_BYTES)

    def having(self, doc_ids: Iterable[int]) -> Mask:
        """[n_numbers] True for the living documents of these ids; unknown ids are passed over."""
        wanted = np.fromiter(doc_ids, dtype=np.int64)
        return np.asarray(np.isin(self.documents["doc_id"], wanted) & self.alive)

    def remember(self, question: Hashable, look_up: Callable[[], Answer]) -> Answer:
        """The answer to one of the few questions that any query asks of this commit, looked up once."""
        answer: Answer | None = self._remembered.get(question)
        if answer is None:
            answer = self._remembered[question] = look_up()
        return answer

    def postings(self, field: str, term: str) -> Postings:
        """The documents that hold `term` (folded) in `field`, which here and below may also name a property."""
        return self.keep((field, term), partial(self._read, field, term)) if self._holders(field, term) else NOTHING

    def keep(self, question: Key, look_up: Callable[[], Answer]) -> Answer:
        """The answer to a question about this commit, cached with the posting lists while there is room."""
        known: Answer | None = self._cache.get(question)
        if known is None:
            known = look_up()
            self._cache.put(question, known, _n_bytes((question, known)))
        return known

    def _read(self, field: str, term: str) -> Postings:
        lists = [(base, files.postings(stored_field(field), i)) for base, _, files, i in self._holders(field, term)]
        docs = _joined([docs + base if base else docs for base, (docs, _) in lists])
        tf = _joined([tf for _, (_, tf) in lists])
        if self._all_alive:
            return Postings(docs, tf)
        alive = self.alive[docs]
        return Postings(docs, tf) if alive.all() else Postings(docs[alive], tf[alive])

    def _holders(self, field: str, term: str) -> tuple[Holder, ...]:
        """The segments that know the term: first document number, files, number of the term."""
        known = self._located.get((field, term))
        if known is None:
            own, name = stored_term(field, term)
            code = name.encode("utf-8", "surrogatepass")
            found = ((*placed, placed[-1].find(own, code)) for placed in self._placed)
            known = tuple(holder for holder in found if holder[-1] >= 0)
            if len(self._located) >= MAX_LOCATED:
                self._located.clear()
            if len(term) <= MAX_TERM_LENGTH:  # longer terms are not in the index, except marks
                self._located[field, term] = known
        return known

    def places(self, field: str, term: str, docs: Ints) -> Ints:
        """Where `term` stands in the documents `docs` (ascending): ascending place keys [n]."""
        return self.all_places([(field, (term,))], docs)[0]

    def all_places(self, questions: Sequence[AnyTerm], docs: Ints, *, by_row: bool = False) -> list[Ints]:
        """The same for several questions, `[n_questions][n]`; a place that two terms of one share appears twice.

        All positions are decoded together. With `by_row` a place key begins with the document's place in `docs`.
        """
        if not questions:
            return []
        numbers = np.arange(docs.size) if by_row else docs
        if not self._all_alive:
            alive = self.alive[docs]
            docs, numbers = docs[alive], numbers[alive]
        asked = [self.keep(("positions", *one), partial(self._read_runs, *one)) for one in questions]
        chosen = [runs.of(docs) for runs in asked]
        sizes = _joined([runs.sizes[own] for runs, (_, own) in zip(asked, chosen, strict=True)])
        starts = _joined([runs.starts[own] for runs, (_, own) in zip(asked, chosen, strict=True)])
        firsts = numbers[_joined([places for places, _ in chosen])] << PLACE_BITS
        keys, ends = decode_runs(self._coded_positions(starts, sizes), sizes, firsts)
        found, start = [], 0
        for n_runs, (_, terms) in zip(np.cumsum([own.size for _, own in chosen]).tolist(), questions, strict=True):
            end = int(ends[n_runs - 1]) if n_runs else 0
            found.append(keys[start:end] if len(terms) == 1 else np.sort(keys[start:end], kind="stable"))
            start = end
        return found

    def _coded_positions(self, starts: Ints, sizes: Ints) -> Bytes:
        """The bytes of runs, one after the other, from all segments."""
        segments = self._code_starts.searchsorted(starts, side="right") - 1
        bounds = [*beginnings(segments)[1:].tolist(), segments.size]
        places, ends = run_places(starts, sizes), sizes.cumsum()
        parts, start = [], 0
        for bound in bounds if segments.size else ():
            segment, end = int(segments[bound - 1]), int(ends[bound - 1])
            own = places[start:end] - self._code_starts[segment]
            parts.append(self._segments[segment].coded_positions(own))
            start = end
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)

    def _read_runs(self, field: str, terms: tuple[str, ...]) -> Runs:
        columns = [[NOTHING.docs], [NOTHING.docs], [NOTHING.docs]]
        for base, code_start, files, i in (holder for term in terms for holder in self._holders(field, term)):
            docs, starts, sizes = files.position_runs(stored_field(field), i)
            if sizes.size:
                for column, own in zip(columns, (docs + base, starts + code_start, sizes), strict=True):
                    column.append(own)
        docs, starts, sizes = map(np.concatenate, columns)
        if len(terms) == 1:
            return Runs(docs, starts, sizes)
        order = np.argsort(docs, kind="stable")
        return Runs(docs[order], starts[order], sizes[order])

    def document_frequency(self, field: str, term: str) -> int:
        """How many documents hold the term, removed but not yet merged ones included."""
        return sum(files.frequencies(stored_field(field), i)[0] for _, _, files, i in self._holders(field, term))

    def terms_with_prefix(self, field: str, prefix: str, limit: int = 20_000, *, rest: str = "") -> dict[str, int]:
        """The field's terms that begin with `prefix`, with their document frequency; at most `limit` per segment.

        With `rest`, two characters, only those whose next character is in the range from the first to the second.
        """
        own, begin = stored_term(field, prefix)
        start = begin.encode("utf-8", "surrogatepass")
        n_before = len(begin) - len(prefix)  # the property's name, if `field` is one
        found: dict[str, int] = {}
        for files in self._segments:
            first = files.position_of(own, start + rest[:1].encode())
            last = files.position_of(own, start + rest[1:].encode() + b"\xff", first, first + limit)
            df = files.document_frequencies(own)[first:last].tolist()
            with damage_named(files.name):
                words = [term.decode("utf-8", "surrogatepass") for term in files.all_terms(own, first, last)]
            for word, count in zip(words, df, strict=True):
                word = word[n_before:]
                found[word] = found.get(word, 0) + count
        return found

    def all_postings(self, field: str, n_bytes: int = 8 << 20) -> Iterator[tuple[list[bytes], Ints, Ints, Ints]]:
        """The whole field in runs of about `n_bytes`, deleted documents included: terms, document frequencies
        [n_terms], and, one term after the other, documents and occurrences [n_postings].

        A term appears once for each segment that holds it.
        """
        for base, _, files in self._placed:
            starts = [*files.runs(field, n_bytes).tolist(), files.n_terms(field)]
            for start, stop in pairwise(sorted({0, *starts})):
                lists = files.field_lists(field, start, stop, positions=False)
                files.forget_read(field, start, stop)
                yield lists.terms, lists.df, lists.docs + base, lists.tf

    def term_lists(self, field: str) -> list[TermList]:
        """The field's terms, segment by segment, in the order on disk."""
        return [files.term_list(field) for files in self._segments]


def _joined(lists: Sequence[Ints]) -> Ints:
    return lists[0] if len(lists) == 1 else np.concatenate(lists)
