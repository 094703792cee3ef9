"""The documents of a review: all that the conditions of its query admit, each content once.

Words only say what to read first, so nothing that lacks them is left out; conditions (`type:`, -word) do that.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from app.search.page import highlight_words, query_terms
from app.search.search import Search
from indexer.postings import Floats, Ints
from indexer.query.nodes import And, Filter, Node, Not, is_filter, positive_words
from indexer.query.parse import parse
from indexer.retrieval.candidates import asked_for, bm25f, find
from indexer.storage.catalogue import Catalogue, DocumentRow
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import sequence


class AllDocuments(Struct, frozen=True, eq=False):
    """What is to be read, and what the query says about it."""

    snapshot: Snapshot
    docs: Ints
    """[n_docs] their numbers in it, ascending; of those with one content the first"""
    doc_ids: Sequence[int]
    """[n_docs]"""
    contents: Ints
    """[n_docs] what each holds, as a number (`content_number`)"""
    answers: Floats
    """[n_docs] how well each answers the words of the query by BM25F, the best one 1"""
    words: tuple[str, ...]
    """of the query"""
    marked: tuple[str, ...]
    """what matches are lit by, see `ResultPage.words`"""
    terms: list[str]
    """what the pick memory names the query by"""

    def places_of(self, contents: Ints) -> Ints:
        """[n] where these contents stand among `docs`, -1 for those that are not there."""
        order = np.argsort(self.contents)
        at = np.minimum(self.contents[order].searchsorted(contents), max(self.contents.size - 1, 0))
        return np.where(self.contents[order][at] == contents, order[at], -1) if self.contents.size else contents * 0 - 1


def population(search: Search, query: str) -> AllDocuments:
    """All that a query is about, by the newest commit that the search has opened."""
    reading, parsed = search.reading, parse(search.written_out(query))
    snapshot, matcher = reading.snapshot, reading.matcher()
    admitted = matcher.admitted(conditions(parsed.root))
    best = find(matcher, parsed, limit=1)
    scores, _ = bm25f(snapshot, [matcher.lookup.counts(own) for own in asked_for(parsed, matcher.lookup)])
    docs = np.flatnonzero(admitted)
    contents = _contents(snapshot, search.catalogue, docs)
    first = np.sort(np.unique(contents, return_index=True)[1])
    docs, contents = docs[first], contents[first]
    answers = scores[docs] / max(float(scores[docs].max(initial=0.0)), 1e-9)
    words = tuple(word for node in positive_words(parsed) for word in sequence(node.text))
    terms, _ = query_terms(best, reading.languages)
    doc_ids = snapshot.documents["doc_id"][docs].tolist()
    return AllDocuments(snapshot, docs, doc_ids, contents, answers, words, highlight_words(best), terms)


def conditions(node: Node | None) -> Node | None:
    """What is left of a query without the words that a document may be found by; None for nothing."""
    children = node.children if isinstance(node, And) else () if node is None else (node,)
    kept = tuple(child for child in children if isinstance(child, Filter | Not) or is_filter(child))
    return And(kept) if len(kept) > 1 else kept[0] if kept else None


def identity(row: DocumentRow) -> bytes:
    """What a document is known by: a hash of what was read of it, or of its path where it has no text."""
    if row.n_words:
        return row.content_hash
    return hashlib.blake2b(os.fsencode(row.path) + b"\0" + row.part.encode("utf-8", "replace"), digest_size=16).digest()


def content_number(identity: bytes) -> int:
    """An identity as the index keeps it (indexer.schema.DOCUMENT)."""
    return int.from_bytes(identity[:8], "little") >> 1


def _contents(snapshot: Snapshot, catalogue: Catalogue, docs: Ints) -> Ints:
    """[n_docs] the content of each."""
    documents = snapshot.documents
    contents = documents["content"][docs].copy()
    textless = np.flatnonzero(documents["n_body"][docs] == 0)
    ids = documents["doc_id"][docs[textless]].tolist()
    rows = catalogue.documents(ids)
    for place, doc_id in zip(textless.tolist(), ids, strict=True):
        if doc_id in rows:
            contents[place] = content_number(identity(rows[doc_id]))
    return contents
