"""An ordinary BM25, to compare quality with: bm25s, Lucene's variant, not tuned, with nothing of this program in it.

k1 1.2 and b .75 as in the textbooks, bm25s' own English stop words, and the title written twice in front of the text;
with English stems (Snowball) or with the words as they stand, whichever serves a collection better. It sees the
documents as the collection has them, not as this program extracted them.

bm25s is no dependency of the program: `pip install bm25s PyStemmer`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import numpy.typing as npt

from benchmarks.collections import Collection, Document
from foltr.ranking.metrics import ndcg_at_k

K1, B = 1.2, 0.75
CUTOFF = 10
HOW_TO_GET = "pip install bm25s PyStemmer"

Ranking = Callable[[str], list[str]]
"""a query's text to the ids of at most `limit` documents that hold one of its words, best first"""


def bm25s() -> ModuleType:
    """The package; ModuleNotFoundError that says how to get it."""
    try:
        importlib.import_module("Stemmer")
        return importlib.import_module("bm25s")
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"the ordinary BM25 needs the package bm25s: {HOW_TO_GET}") from missing


def required() -> None:
    """End the program with a line that says how to get the package, before anything long begins."""
    try:
        bm25s()
    except ModuleNotFoundError as missing:
        raise SystemExit(str(missing)) from missing


def title_twice(document: Document) -> str:
    """What is indexed of a document."""
    return f"{document.title} {document.title} {document.text}" if document.title else document.text


def ranking(documents: Sequence[Document], *, limit: int = CUTOFF, stemmed: bool = True) -> Ranking:
    """Index the documents in memory."""
    package, stem = bm25s(), _stem() if stemmed else None
    index = package.BM25(method="lucene", k1=K1, b=B)
    words = package.tokenize([title_twice(d) for d in documents], stopwords="en", stemmer=stem, show_progress=False)
    index.index(words, show_progress=False)
    names, n = [document.id for document in documents], min(limit, len(documents))

    def search(text: str) -> list[str]:
        asked = package.tokenize([text], stopwords="en", stemmer=stem, return_ids=False, show_progress=False)
        if not asked[0]:
            return []
        found, scores = index.retrieve(asked, k=n, show_progress=False)
        return [names[i] for i, score in zip(found[0].tolist(), scores[0].tolist(), strict=True) if score > 0]

    return search


def ndcg(collection: Collection) -> npt.NDArray[np.float64]:
    """nDCG@10 of each query, `[n_queries]`, in the collection's order: the better one of stemmed and plain words."""
    both = [_ndcg(collection, ranking(collection.documents, stemmed=stemmed)) for stemmed in (True, False)]
    return max(both, key=lambda values: float(values.mean()))


def _ndcg(collection: Collection, search: Ranking) -> npt.NDArray[np.float64]:
    values = []
    for query, text in collection.queries.items():
        grades = collection.grades[query]
        found = [grades.get(name, 0) for name in search(text)]
        values.append(ndcg_at_k(found, CUTOFF, judged=list(grades.values())) if found else 0.0)
    return np.array(values)


def _stem() -> object:
    return importlib.import_module("Stemmer").Stemmer("english")
