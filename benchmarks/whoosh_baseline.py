"""Whoosh's own BM25F with the title counting twice: an older reference, about 10 % below an ordinary BM25.

Two variants over the very same documents: `stemmed` is a fresh Whoosh index made with Whoosh's StemmingAnalyzer
(stop words removed), `surface` asks Whoosh to search this program's index, which holds unstemmed words. The words
of a query are joined by OR over title and body.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from indexer.codec.whoosh_codec import whoosh_schema
from indexer.storage.index import INDEX_NAME
from indexer.text.analysis import sequence

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import whoosh.index
    from whoosh import fields, query, scoring
    from whoosh.analysis import StemmingAnalyzer
    from whoosh.filedb.filestore import RamStorage

TITLE_BOOST = 2.0

Ranking = Callable[[str], list[int]]
"""A query's text to document ids, best first."""


def either(words: Iterable[str], *, encode: bool = False) -> Any:
    """OR over the words in title (twice the weight) and body."""
    terms = [word.encode() if encode else word for word in words]
    return query.Or(
        [query.Term("title", term, boost=TITLE_BOOST) for term in terms] + [query.Term("body", term) for term in terms]
    )


def stemmed(documents: Iterable[tuple[int, str, str]], *, limit: int = 1000) -> Ranking:
    """Whoosh over its own index of (id, title, body), in memory."""
    analyzer = StemmingAnalyzer()
    schema = fields.Schema(id=fields.STORED, title=fields.TEXT(analyzer=analyzer), body=fields.TEXT(analyzer=analyzer))
    index = RamStorage().create_index(schema)
    with index.writer(limitmb=256) as writer:
        for number, title, body in documents:
            writer.add_document(id=number, title=title, body=body)
    searcher = index.searcher(weighting=scoring.BM25F())

    def search(text: str) -> list[int]:
        words = [token.text for token in analyzer(text, mode="query")]
        return [int(hit["id"]) for hit in searcher.search(either(words), limit=limit)]

    return search


def surface(folder: Path, *, limit: int = 1000) -> Ranking:
    """Whoosh over the index in `folder` as this program made it; ids are those of the catalogue."""
    from indexer.storage.index import Index

    ids = Index.open(folder).snapshot().documents["doc_id"].tolist()
    searcher = whoosh.index.open_dir(str(folder), indexname=INDEX_NAME, schema=whoosh_schema()).searcher(
        weighting=scoring.BM25F()
    )

    def search(text: str) -> list[int]:
        found = searcher.search(either(sequence(text), encode=True), limit=limit)
        return [ids[hit.docnum] for hit in found]

    return search
