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

from indexer.postings import Floats, Ints, Mask
from indexer.schema import TEXT_FIELDS, stored_field, stored_term
from indexer.storage.codec import SegmentFiles, damage_named
from indexer.storage.columns import Columns
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

Run = tuple[SegmentFiles, Ints, Ints, Ints]
"""a segment; documents of the snapshot that hold a term there; where their positions start and how many bytes"""


class _Cache:
    """Arrays by what they answer; the least recently used go first."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, answer: object, n_bytes: int) -> None:
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = answer, n_bytes + 300
            self._size += n_bytes + 300
            while self._size > self._limit and len(self._kept) > 1:
                self._size -= self._kept.popitem(last=False)[1][1]


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
        self.documents = Columns([files.documents for files in self._segments], sizes)
        self.alive: Mask = np.ones(sum(sizes), dtype=bool)
        """[n_numbers] False for a removed document"""
        for base, (_, dead) in zip(bases, segments, strict=True):
            self.alive[[base + docnum for docnum in dead]] = False
        self.n_documents = int(self.alive.sum())
        self._all_alive = self.n_documents == self.alive.size

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

    def having(self, doc_ids: Iterable[int]) -> Mask:
        """[n_numbers] True for the living documents of these ids; unknown ids are passed over."""
        wanted = np.fromiter(doc_ids, dtype=np.int64)
        return np.asarray(np.isin(self.documents["doc_id"], wanted) & self.alive)

    def remember(self, question: Hashable, look_up: Callable[[], Answer]) -> Answer:
        """The answer to a question about this commit, looked up once."""
        answer: Answer | None = self._remembered.get(question)
        if answer is None:
            answer = self._remembered[question] = look_up()
        return answer

    def postings(self, field: str, term: str) -> Postings:
        """The documents that hold `term` (folded) in `field`, which may be the name of a property here and below."""
        known: Postings | None = self._cache.get((field, term))
        if known is None:
            known = self._read(field, term)
            self._cache.put((field, term), known, known.docs.nbytes + known.tf.nbytes)
        return known

    def keep(self, question: Hashable, look_up: Callable[[], tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
        """Two arrays that answer a question about this commit, kept as posting lists are."""
        known: tuple[Ints, Floats] | None = self._cache.get(question)
        if known is None:
            known = look_up()
            self._cache.put(question, known, known[0].nbytes + known[1].nbytes)
        return known

    def _read(self, field: str, term: str) -> Postings:
        lists = [(base, files.postings(stored_field(field), i)) for base, files, i in self._holders(field, term)]
        if not lists:
            return NOTHING
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
            found = ((base, files, files.find(own, code)) for base, files in self._placed)
            known = tuple((base, files, i) for base, files, i in found if i >= 0)
            if len(self._located) >= MAX_LOCATED:
                self._located.clear()
            self._located[field, term] = known
        return known

    def places(self, field: str, term: str, docs: Ints) -> Ints:
        """Where `term` stands in those of the documents `docs` (ascending) that hold it: ascending place keys [n]."""
        return self.all_places([(field, term)], docs)[0]

    def all_places(self, terms: Sequence[Term], docs: Ints) -> list[Ints]:
        """The same for several terms at once, `[n_terms][n]`: their positions are decoded together."""
        found: list[list[Ints]] = [[] for _ in terms]
        docs = docs if self._all_alive else docs[self.alive[docs]]
        wanted: dict[str, list[tuple[int, Run, Ints, Ints]]] = {}
        if docs.size:
            for i, (field, term) in enumerate(terms):
                for run in self._runs(field, term):
                    rows = run[1].searchsorted(docs)
                    rows[rows == run[1].size] = 0
                    held = (run[1][rows] == docs).nonzero()[0]
                    if held.size:
                        wanted.setdefault(run[0].name, []).append((i, run, rows[held], docs[held]))
        for asked in [wanted[files.name] for files in self._segments if files.name in wanted]:
            starts = _joined([run[2][rows] for _, run, rows, _ in asked])
            sizes = _joined([run[3][rows] for _, run, rows, _ in asked])
            keys, ends = asked[0][1][0].place_keys(starts, sizes, _joined([own for *_, own in asked]) << PLACE_BITS)
            last = ends[np.cumsum([own.size for *_, own in asked]) - 1].tolist()
            for (i, *_), start, end in zip(asked, [0, *last[:-1]], last, strict=True):
                found[i].append(keys[start:end])
        return [_joined(own) if own else NOTHING.docs for own in found]

    def _runs(self, field: str, term: str) -> tuple[Run, ...]:
        known: tuple[Run, ...] | None = self._cache.get(("positions", field, term))
        if known is None:
            runs = []
            for base, files, i in self._holders(field, term):
                docs, starts, sizes = files.position_runs(stored_field(field), i)
                if sizes.size:
                    runs.append((files, docs + base, starts, sizes))
            known = tuple(runs)
            self._cache.put(("positions", field, term), known, sum(3 * run[1].nbytes for run in known))
        return known

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


def _joined(lists: list[Ints]) -> Ints:
    return lists[0] if len(lists) == 1 else np.concatenate(lists)


def _words(files: SegmentFiles, field: str, start: int = 0, stop: int | None = None) -> list[str]:
    with damage_named(files.name):
        return [term.decode("utf-8", "surrogatepass") for term in files.all_terms(field, start, stop)]
