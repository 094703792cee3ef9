"""How close the documents of a commit are to a query in meaning: the closest passage of each counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct, structs

from indexer.meaning.vectors import MAX_PASSAGES, WORDS, no_records
from indexer.postings import Floats, Ints, Mask, Rows, Vectors, run_places
from indexer.query.nodes import And, Node, Query, Word, is_filter
from indexer.retrieval.adjacency import as_written
from indexer.retrieval.candidates import Candidates, best, idf
from indexer.storage.snapshot import PLACE_BITS, Snapshot

DECIMALS = 5
"""of a similarity: sums that differ beyond them by the order of their terms are equal"""
BLOCK = 1024
"""vectors that are made floating point numbers at a time: in all, they would take four times the memory"""


class Windows(Struct, frozen=True, eq=False):
    """The windows of long documents, those of each in their order."""

    rows: Ints
    """[n_windows] their records"""
    places: Ints
    """[n_windows] where each begins among the positions of its document"""
    first: Ints
    """[n_numbers] a document's first window"""
    after: Ints
    """[n_numbers] the window after its last; the same for a document without any"""


class Closeness(Struct, frozen=True, eq=False):
    """The answer for one query."""

    similarity: Floats
    """[n_numbers] product of unit vectors in [-1, 1] by document number; nan for a document without vectors"""
    of_passages: Floats
    """[n_passages] the similarity of each"""
    vector: Vectors
    """[n_numbers of a vector] of the query"""
    asked: Nearest
    across: Closeness | None = None
    """of the documents in another language than the query's, which are close by another encoder"""

    def best(self, eligible: Mask, limit: int, least: float) -> Ints:
        """The `limit` eligible documents that are closest, if they are at least so close."""
        return best(self.similarity, eligible & (self.similarity >= least), limit, self.asked.documents)

    def is_across(self, numbers: Ints) -> Mask:
        """[n] which documents are close by the encoder of other languages."""
        if self.across is None:
            return np.zeros(numbers.size, dtype=np.bool_)
        return ~np.isnan(self.across.similarity[numbers])

    def resemblance(self, docs: Ints) -> Floats:
        """[n_docs, n_docs] how close documents are to each other by the sums of their passages, as far as these are
        trusted; 0 for those without vectors, for those in other languages than the query's, for a number below 0, which
        is none, and of each to itself."""
        sums = self.asked.sums(docs)
        sums[(docs < 0) | self.is_across(docs)] = 0.0
        sums /= np.maximum(np.sqrt(np.vecdot(sums, sums)), np.finfo(np.float32).tiny)[:, None]
        sums *= _trusted(MAX_PASSAGES, self.asked.documents.take("n_body", np.maximum(docs, 0)))[:, None]
        found = np.round(np.vecdot(sums[:, None], sums[None]).astype(np.float64), DECIMALS)
        np.fill_diagonal(found, 0.0)
        return np.asarray(np.maximum(found, 0.0))

    def passage(self, number: int) -> tuple[int, int]:
        """Where the closest passage of a document with vectors stands in its text."""
        if self.across is not None and not np.isnan(self.across.similarity[number]):
            return self.across.passage(number)
        first, after = int(self.asked.first[number]), int(self.asked.after[number])
        start, end = self.asked.spans[first + int(np.argmax(self.of_passages[first:after]))].tolist()
        return start, end


def unknown(snapshot: Snapshot) -> Closeness:
    """Where no document has vectors."""
    return Nearest(no_records(), snapshot).to(np.zeros(1, dtype=np.float32))


def with_other_languages(
    own: Closeness, across: Closeness, documents: Mask, scaled: Callable[[Floats], Floats]
) -> Closeness:
    """`own`, but for `documents` [n_numbers] by `across`, whose similarities are `scaled`; nan where it has none."""
    similarity = np.where(documents, scaled(across.similarity), np.nan)
    across = structs.replace(across, similarity=similarity)
    return structs.replace(own, similarity=np.where(documents, similarity, own.similarity), across=across)


class Nearest:
    """The vectors of one commit; safe to share between threads."""

    def __init__(self, records: Rows, snapshot: Snapshot) -> None:
        """`records` as `indexer.meaning.vectors.read` gives them."""
        self._records, self.documents = records, snapshot.documents
        is_window = np.array(records["place"]) >= 0
        self._passages, windows = np.flatnonzero(~is_window), np.flatnonzero(is_window)
        content = np.array(records["content"])
        own = content[self._passages]
        self._starts = np.flatnonzero(np.diff(own, prepend=~own[:1]))
        order = np.argsort(own[self._starts], kind="stable")
        group, self._has = _places(own[self._starts][order], snapshot.documents["content"])
        self._group = np.where(self._has, order[group] if order.size else 0, 0)
        self.first = self._starts[self._group] if order.size else self._group
        self.after = np.append(self._starts[1:], own.size)[self._group] if order.size else self._group
        """[n_numbers] a document's first passage, and the passage after its last"""
        self.spans = np.column_stack((records["start"], records["end"])).astype(np.int64)[self._passages]
        """[n_passages, 2] [start, end) of each in its document's text"""
        self.windows = self._windows_of(windows, content[windows])

    def _windows_of(self, rows: Ints, content: Ints) -> Windows:
        rows = rows[np.lexsort((self._records["place"][rows], content))]
        content = np.sort(content)
        wanted = self.documents["content"]
        first, after = content.searchsorted(wanted), content.searchsorted(wanted, side="right")
        return Windows(rows, self._records["place"][rows].astype(np.int64), first, after)

    def __bool__(self) -> bool:
        return bool(self._has.any())

    def to(self, vector: Vectors) -> Closeness:
        """How close each document is to a query's vector [n_numbers]."""
        products = self.products(vector, self._passages)
        similarity = np.full(self._has.size, np.nan)
        if products.size:
            best = np.maximum.reduceat(products, self._starts)
            similarity[self._has] = best[self._group[self._has]]
        return Closeness(similarity, products, vector, self)

    def sums(self, docs: Ints) -> Vectors:
        """[n_docs, n_numbers] of the passages of each, 0 without any; not of length 1."""
        found = np.zeros((docs.size, self._records["vector"].shape[1]), dtype=np.float32)
        known = np.flatnonzero(self._has[docs])
        if known.size:
            first, after = self.first[docs[known]], self.after[docs[known]]
            rows = self._passages[run_places(first, after - first)]
            passages = self._records["vector"][rows] * self._records["scale"][rows][:, None]
            found[known] = np.add.reduceat(passages, np.cumsum(after - first) - (after - first))
        return found

    def products(self, vector: Vectors, rows: Ints) -> Floats:
        """[n] of a query's vector and the records `rows`, ascending where they are many."""
        steps, found = self._records["vector"], np.empty(rows.size, dtype=np.float32)
        block = np.empty((BLOCK, len(vector)), dtype=np.float32)
        for start in range(0, rows.size, BLOCK):
            part = rows[start : start + BLOCK]
            own = block[: part.size]
            is_run = part[-1] - part[0] == part.size - 1
            np.copyto(own, steps[part[0] : part[-1] + 1] if is_run else steps[part])
            np.vecdot(own, vector, out=found[start : start + part.size])  # `dot` would wake all cores for this
        products: Floats = np.round((found * self._records["scale"][rows]).astype(np.float64), DECIMALS)
        return products


def _places(keys: Ints, wanted: Ints) -> tuple[Ints, Mask]:
    """Where each wanted key stands among the ascending `keys`, and whether it is there."""
    place = np.minimum(keys.searchsorted(wanted), max(keys.size - 1, 0))
    return place, keys[place] == wanted if keys.size else np.zeros(len(wanted), dtype=bool)


def asked_plainly(query: Query) -> str:
    """The words of a query that may be answered by meaning, "" for any other.

    Who quotes, joins by operators, names a field or asks for a very form, an identifier or numbers wants just that.
    """
    if query.root is None or not query.plain:
        return ""
    words = [child for child in _parts(query.root) if not is_filter(child)]
    plain = [child.text for child in words if isinstance(child, Word) and child.is_plain]
    if (len(plain) == 1 and as_written(plain[0])) or all(any(sign.isdecimal() for sign in word) for word in plain):
        return ""
    return " ".join(plain) if len(plain) == len(words) else ""


def conditions(query: Query) -> Iterable[Node]:
    """The filters of a plain query."""
    return () if query.root is None else (child for child in _parts(query.root) if is_filter(child))


def _parts(root: Node) -> tuple[Node, ...]:
    return root.children if isinstance(root, And) else (root,)


def filled(similarity: Floats, text: Floats) -> Floats:
    """[n_docs] similarities, those below 0 as 0.

    A document without vectors (nan) gets what one of its text score (`text`, any scale) has by the line of least
    squares through the others, so that it stands where its words put it.
    """
    known = ~np.isnan(similarity)
    if not known.any():
        return np.zeros(similarity.size)
    x, y = text[known], similarity[known]
    spread = float(np.var(x))
    slope = max(float(np.mean((x - x.mean()) * (y - y.mean()))) / spread, 0.0) if spread > 0 else 0.0
    expected = np.clip(y.mean() + slope * (text - x.mean()), y.min(), y.max())
    return np.clip(np.where(known, similarity, expected), 0.0, 1.0)


CHOSEN = 3
"""windows of a document that its words choose"""
TRUSTED = 32
"""windows of a text up to which they are trusted as the passages of a short one are"""
MIDDLE, STEP = 0.2, 0.2
"""chosen on six collections (manpages, time, cisi, cranfield, medline, scifact)"""
LEAST_DEVIATION = 0.06
"""of the similarities of a page; where they differ less, it is by chance"""


def meaning_feature(closeness: Closeness, candidates: Candidates, snapshot: Snapshot) -> Floats:
    """What meaning says of the candidates, [n_docs] in [0, 1]; MIDDLE for all where nothing is known of any.

    Of hundreds of windows one is always near to anything by chance. So of a long document the words of the query are
    asked first: each window has the score

        sum_t idf(t) tf / (tf + 1)

    and the closest of the best three counts. The feature is the distance from the mean of the candidates in standard
    deviations, four above it at most:

        MIDDLE + STEP trust (similarity - mean) / max(deviation, LEAST_DEVIATION)

    What stands for a long document says less about it than a passage about a short one, and is trusted less: by
    sqrt(TRUSTED / its windows), or where it has only its eight passages, by sqrt(8 / its windows).
    """
    similarity, trust = _similarity(closeness, candidates, snapshot)
    if not similarity.size:
        return similarity
    across = closeness.is_across(candidates.docs)
    own = filled(np.where(across, np.nan, similarity), candidates.bm25f)  # as if nothing were known of the others
    of_page = own[~across | (candidates.bm25f > 0)] if not across.all() else similarity
    similarity = np.where(across, np.clip(similarity, 0.0, 1.0), own)
    away = trust * (similarity - of_page.mean()) / max(float(of_page.std()), LEAST_DEVIATION)
    return np.asarray(np.clip(MIDDLE + STEP * away, 0.0, 1.0))


def _similarity(closeness: Closeness, candidates: Candidates, snapshot: Snapshot) -> tuple[Floats, Floats]:
    """How close each candidate is [n_docs], nan where nothing is known, and how far that is trusted [n_docs]."""
    similarity = closeness.similarity[candidates.docs]
    windows = closeness.asked.windows
    n_windows = windows.after[candidates.docs] - windows.first[candidates.docs]
    long = np.flatnonzero(n_windows)
    long = long[np.argsort(candidates.docs[long])]
    if long.size:
        similarity[long] = _closest_chosen(closeness, candidates, snapshot, candidates.docs[long])
    n_words = snapshot.documents.take("n_body", candidates.docs)
    return similarity, _trusted(np.where(n_windows > 0, TRUSTED, MAX_PASSAGES), n_words)


def _trusted(n_passages: Ints | int, n_words: Ints) -> Floats:
    """How far so many passages are trusted to say what a text of so many words does, [n_docs] in (0, 1]."""
    return np.asarray(np.sqrt(np.minimum(n_passages * WORDS / np.maximum(n_words.astype(np.float64), 1.0), 1.0)))


def _closest_chosen(closeness: Closeness, candidates: Candidates, snapshot: Snapshot, docs: Ints) -> Floats:
    """[n_docs] the similarity of the closest of the chosen windows; `docs` ascending, each with windows."""
    windows = closeness.asked.windows
    sizes = windows.after[docs] - windows.first[docs]
    own = run_places(windows.first[docs], sizes)
    row_of = np.arange(docs.size).repeat(sizes)
    scores = _word_scores(candidates, snapshot, docs, (row_of << PLACE_BITS) + windows.places[own])
    order = np.lexsort((-scores, row_of))
    chosen = order[np.arange(order.size) - (sizes.cumsum() - sizes).repeat(sizes) < CHOSEN]
    products = closeness.asked.products(closeness.vector, windows.rows[own[chosen]])
    return np.asarray(np.maximum.reduceat(products, np.flatnonzero(np.diff(row_of[chosen], prepend=-1))))


def _word_scores(candidates: Candidates, snapshot: Snapshot, docs: Ints, begins: Ints) -> Floats:
    """[n_windows] by the words of the query; `begins` are ascending place keys that begin with rows of `docs`."""
    asked = [i for i, concept in enumerate(candidates.concepts) if "body" in concept.fields and not concept.pieces]
    forms = [("body", tuple(run[0] for run in candidates.concepts[i].forms)) for i in asked]
    weights = idf(snapshot.n_documents, candidates.any_df[asked])
    scores = np.zeros(begins.size)
    for keys, weight in zip(snapshot.all_places(forms, docs, by_row=True), weights.tolist(), strict=True):
        tf = np.bincount(begins.searchsorted(keys, side="right") - 1, minlength=begins.size)
        scores += weight * tf / (tf + 1)
    return scores
