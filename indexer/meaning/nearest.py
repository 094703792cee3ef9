"""How close the documents of a commit are to a query in meaning: the closest passage of each counts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from indexer.codec.segments import Columns
from indexer.postings import Floats, Ints, Mask, Rows, Vectors
from indexer.query.nodes import And, Node, Query, Word, is_filter
from indexer.retrieval.adjacency import as_written
from indexer.retrieval.candidates import best
from indexer.storage.snapshot import Snapshot

DECIMALS = 5
"""of a similarity: sums that differ beyond them by the order of their terms are equal"""
BLOCK = 1024
"""vectors that are made floating point numbers at a time: in all, they would take four times the memory"""


class Closeness(Struct, frozen=True, eq=False):
    """The answer for one query."""

    similarity: Floats
    """[n_numbers] product of unit vectors in [-1, 1] by document number; nan for a document without vectors"""
    passages: Ints
    """[n_records, 2] [start, end) of every passage in its document's text"""
    of_passages: Floats
    """[n_records] the similarity of each"""
    first: Ints
    """[n_numbers] a document's first record"""
    after: Ints
    """[n_numbers] the record after its last"""
    documents: Columns
    """[n_numbers] of the snapshot"""

    def best(self, eligible: Mask, limit: int, least: float) -> Ints:
        """The `limit` eligible documents that are closest, if they are at least so close."""
        return best(self.similarity, eligible & (self.similarity >= least), limit, self.documents)

    def passage(self, number: int) -> tuple[int, int]:
        """Where the closest passage of a document with vectors stands in its text."""
        first = int(self.first[number])
        start, end = self.passages[first + int(np.argmax(self.of_passages[first : self.after[number]]))].tolist()
        return start, end


class Nearest:
    """The vectors of one commit; safe to share between threads."""

    def __init__(self, records: Rows, snapshot: Snapshot) -> None:
        """`records` as `indexer.meaning.vectors.read` gives them."""
        self._records, self._documents = records, snapshot.documents
        content = np.array(records["content"])
        starts = np.flatnonzero(np.concatenate(([True], content[1:] != content[:-1]))) if len(content) else content
        self._starts = starts
        ends = np.append(starts[1:], len(content))
        order = np.argsort(content[starts], kind="stable")
        keys, wanted = content[starts][order], snapshot.documents["content"]
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        self._has = keys[place] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        group = np.where(self._has, order[place] if len(keys) else 0, 0)
        self._group = group
        self._first = starts[group] if len(keys) else group
        self._after = ends[group] if len(keys) else group
        self._passages = np.column_stack((records["start"], records["end"])).astype(np.int64)

    def __bool__(self) -> bool:
        return bool(self._has.any())

    def to(self, vector: Vectors) -> Closeness:
        """How close each document is to a query's vector [n_numbers]."""
        products = self._products(vector)
        similarity = np.full(self._has.size, np.nan)
        if products.size:
            best = np.maximum.reduceat(products, self._starts)
            similarity[self._has] = best[self._group[self._has]]
        return Closeness(similarity, self._passages, products, self._first, self._after, self._documents)

    def _products(self, vector: Vectors) -> Floats:
        records = self._records
        steps, found = records["vector"], np.empty(len(records), dtype=np.float32)
        block = np.empty((BLOCK, len(vector)), dtype=np.float32)
        for start in range(0, len(records), BLOCK):
            part = steps[start : start + BLOCK]
            own = block[: len(part)]
            np.copyto(own, part)
            np.vecdot(own, vector, out=found[start : start + len(part)])  # `dot` would wake all cores for this
        products: Floats = np.round((found * records["scale"]).astype(np.float64), DECIMALS)
        return products


def asked_plainly(query: Query) -> str:
    """The words of a query that may be answered by meaning, "" for any other.

    Who quotes, joins by operators, names a field or asks for a very form or an identifier wants just that.
    """
    if query.root is None or not query.plain:
        return ""
    words = [child for child in _parts(query.root) if not is_filter(child)]
    plain = [child.text for child in words if isinstance(child, Word) and _is_plain(child, query.text)]
    if len(plain) == 1 and as_written(plain[0]):
        return ""
    return " ".join(plain) if len(plain) == len(words) else ""


def _is_plain(word: Word, text: str) -> bool:
    """A word that is still being typed is; one that ends in a star is a wish for its letters."""
    starred = word.prefix and text[word.position + len(word.text) :].startswith("*")
    return not (word.field or word.exact or starred)


def conditions(query: Query) -> Iterable[Node]:
    """The filters of a plain query."""
    return () if query.root is None else (child for child in _parts(query.root) if is_filter(child))


def _parts(root: Node) -> tuple[Node, ...]:
    return root.children if isinstance(root, And) else (root,)


def filled(similarity: Floats, text: Floats) -> Floats:
    """[n_docs] the feature: similarities in [0, 1], those below 0 as 0.

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
