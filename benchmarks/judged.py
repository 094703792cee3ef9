"""Result pages with relevance judgements: what rankers are trained on and compared by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from benchmarks.devices import Library
from foltr.arrays import FloatArray, FloatVector
from foltr.ranking.metrics import average_precision, dcg_at_k, ndcg_at_k

CUTOFF = 10
"""the rank at which nDCG is cut"""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPage:
    """The candidates of one query in BM25F order."""

    query: str
    features: FloatArray
    """[n_docs, n_features]"""
    grades: FloatVector
    """[n_docs]"""
    judged: tuple[int, ...]
    """the grades of all relevant documents, retrieved or not"""


def graded(page: ResultPage, files: dict[str, str], grades: dict[str, int]) -> FloatVector:
    """The grade of each hit `[n_hits]`; a hit has the best grade of the copies that it stands for."""
    return np.array([
        max(grades.get(files[path], 0) for path in hit.paths) for hit in page.hits
    ], dtype=np.float64)  # fmt: skip


def ndcg(grades: FloatVector, judged: Iterable[int]) -> float:
    """nDCG@10 of grades in ranked order, against all judgements of the query."""
    return ndcg_at_k(grades, CUTOFF, judged=list(judged))


def precision(grades: FloatVector, judged: Iterable[int]) -> float:
    """Average precision over the 100 candidates."""
    n_relevant = max(len(list(judged)), int(np.count_nonzero(grades)))
    return average_precision(grades, n_relevant=n_relevant)


def judged_pages(search: Search, library: Library, queries: dict[str, str] | None = None) -> list[JudgedPage]:
    """One page for each query of the collection, as plain BM25F orders it."""
    found: list[JudgedPage] = []
    for query, text in (library.collection.queries if queries is None else queries).items():
        page = search.search(SearchRequest(text, order="bm25"))
        grades = library.collection.grades[query]
        found.append(JudgedPage(query, page.features, graded(page, library.files, grades), tuple(grades.values())))
    return found


def known_item_page(search: Search, library: Library, text: str, wanted: str) -> JudgedPage:
    """The page of a query to which one document is the answer."""
    page = search.search(SearchRequest(text, order="bm25"))
    return JudgedPage(text, page.features, graded(page, library.files, {wanted: 1}), (1,))


class Batch:
    """Many pages as one array, so that one theta is judged on all of them in a few milliseconds."""

    def __init__(self, pages: list[JudgedPage]) -> None:
        n_docs = max(len(page.grades) for page in pages)
        n_features = pages[0].features.shape[1]
        self._columns = np.zeros((n_features, len(pages), n_docs))
        self._gains = np.zeros((len(pages), n_docs))
        self._missing = np.zeros((len(pages), n_docs))
        for i, page in enumerate(pages):
            n = len(page.grades)
            self._columns[:, i, :n] = page.features.T
            self._gains[i, :n] = np.exp2(page.grades) - 1.0
            self._missing[i, n:] = -1e9
        self._ideal = np.array([dcg_at_k(sorted(page.judged, reverse=True), CUTOFF) for page in pages])
        self._discounts = 1.0 / np.log2(np.arange(2, CUTOFF + 2))

    def scores(self, theta: FloatVector) -> FloatArray:
        """theta . x `[n_pages, n_docs]`, far below all others where a page has fewer documents."""
        return np.asarray(np.tensordot(theta, self._columns, 1) + self._missing)

    def lead(self, theta: FloatVector) -> FloatVector:
        """By how many points the first result of each page leads the tenth, or the last `[n_pages]`."""
        scores = -np.sort(-self.scores(theta), axis=1)[:, :CUTOFF]
        return np.asarray(scores[:, 0] - np.where(scores > -1e8, scores, np.inf).min(axis=1))

    def listwise_gradient(self, theta: FloatVector, steepness: float) -> tuple[FloatVector, float]:
        """Of the mean ListNet loss (Cao et al. 2007, eq. 6 with gains for relevance) of softmax(steepness * theta . x):
        in theta [n_features], and in the logarithm of the steepness."""
        scores = self.scores(theta)
        chances = np.exp(steepness * (scores - scores.max(axis=1, keepdims=True)))
        chances /= chances.sum(axis=1, keepdims=True)
        relevant = self._gains.sum(axis=1, keepdims=True)
        away = np.where(relevant > 0, chances - self._gains / np.maximum(relevant, 1), 0) * steepness / len(scores)
        return np.tensordot(self._columns, away, 2), float((away * (scores - self._missing)).sum())

    def column(self, feature: int) -> FloatArray:
        """One feature `[n_pages, n_docs]`: what a point of its weight adds to the scores."""
        return np.asarray(self._columns[feature])

    def ndcg(self, theta: FloatVector) -> FloatVector:
        """nDCG@10 of each page `[n_pages]` when ranked by theta . x."""
        return self.ndcg_of(self.scores(theta))

    def ndcg_of(self, scores: FloatArray) -> FloatVector:
        """nDCG@10 of each page `[n_pages]` when ranked by `scores` `[n_pages, n_docs]`."""
        order = np.argsort(-scores, axis=1, kind="stable")[:, :CUTOFF]
        gains = np.take_along_axis(self._gains, order, axis=1)
        return np.asarray((gains * self._discounts[: gains.shape[1]]).sum(axis=1) / self._ideal)

    def reciprocal_rank(self, theta: FloatVector) -> FloatVector:
        """1 / rank of the best relevant document of each page, 0 below rank 10 `[n_pages]`."""
        return self.reciprocal_rank_of(self.scores(theta))

    def reciprocal_rank_of(self, scores: FloatArray) -> FloatVector:
        """The same by `scores` `[n_pages, n_docs]`."""
        best = np.where(self._gains > 0, scores, -1e9).max(axis=1)
        ranks = (scores > best[:, None]).sum(axis=1) + 1
        return np.where((best > -1e8) & (ranks <= CUTOFF), 1.0 / ranks, 0.0)
