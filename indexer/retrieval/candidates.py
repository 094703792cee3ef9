"""The best documents for a query by BM25F, with the counts that features are made of.

BM25F (Robertson, Zaragoza and Taylor 2004): the occurrences of a word in each field are weighted and normalised
by the field's length, added, and then saturated once:

    score(d) = sum_t idf(t) (k1 + 1) w_t / (k1 + w_t),   w_t = sum_f weight_f tf_tf / (1 - b_f + b_f len_f / mean_f)
    idf(t) = ln(1 + (N - df + 1/2) / (df + 1/2))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indexer.postings import Floats, Ints, Mask, Rows
from indexer.query.nodes import Query, positive_words
from indexer.retrieval.concepts import Concept, ConceptLookup, concepts_of, field_counts
from indexer.retrieval.matching import FolderIds, Matcher, phrase_starts
from indexer.schema import TEXT_FIELDS
from indexer.storage.snapshot import PLACE_BITS, Snapshot
from indexer.text.analysis import sequence

K1 = 2.0
WEIGHTS = {"title": 2.5, "body": 1.0, "name": 1.5, "path": 0.4, "author": 0.8, "recipients": 0.4}
"""how much an occurrence counts in each field"""
B = {"title": 0.5, "body": 0.8, "name": 0.4, "path": 0.2, "author": 0.3, "recipients": 0.3}
"""how far each field's occurrences are divided by its length"""
MAX_TITLES = 20
"""candidates that are added because their title holds the query as a phrase"""
COVERAGE_POWER = 1.0
"""a score is multiplied by (share of the words that occur) to this power divided by the number of words

so that a word missing of two costs much, and one of twenty next to nothing"""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The admitted documents, the best `n` of them with their counts."""

    docs: Ints
    """[n] document numbers, best BM25F first"""
    bm25f: Floats
    """[n] scores"""
    concepts: tuple[Concept, ...]
    """[n_concepts] what was asked for, function words left out where there are others"""
    words: tuple[str, ...]
    """the positive words of the query in order, one for each position, folded"""
    tf: dict[str, Floats]
    """field -> [n, n_concepts] occurrences; only fields in which anything occurs"""
    df: dict[str, Floats]
    """field -> [n_concepts] documents of the whole index that hold the concept in the field"""
    any_df: Floats
    """[n_concepts] documents that hold the concept in any field"""
    admitted: Mask
    n_matches: int
    relaxed: bool


def find(
    snapshot: Snapshot,
    query: Query,
    *,
    limit: int,
    min_matches: int,
    languages: tuple[str, ...],
    folder_ids: FolderIds,
    narrow: Mask | None = None,
    by_date: bool = False,
    near: Ints | None = None,
) -> Candidates:
    """The best `limit` documents for `query`; with `by_date`, or for a query without words, the newest.

    A plain query that all words find in fewer than `min_matches` documents is answered by those with some of
    the words. `narrow` [n_numbers] restricts the answer without touching the words. The documents `near`, close to the
    query in meaning, are candidates whatever words they hold; they count as matches only if they match.
    """
    lookup = ConceptLookup(snapshot, languages)
    matcher = Matcher(lookup, folder_ids)
    admitted = matcher.admitted(query.root)
    if narrow is not None:
        admitted = admitted & narrow
    relaxed = query.root is not None and query.plain and int(admitted.sum()) < min_matches
    if relaxed and query.root is not None:
        wider = matcher.relaxed(query.root)
        wider = wider if narrow is None else wider & narrow
        relaxed = bool((wider & ~admitted).any())
        admitted = wider
    concepts = _asked_for(concepts_of(query, lookup))
    scores, dense, any_df, covered = _bm25f(snapshot, concepts)
    if concepts:
        scores *= np.power(np.maximum(covered, 1) / len(concepts), COVERAGE_POWER / len(concepts))
    by_date = by_date or not concepts
    words = tuple(word for node in positive_words(query) for word in sequence(node.text))
    documents = snapshot.documents
    docs = best(documents["modified"] if by_date else scores, admitted, limit, documents)
    if not by_date:
        docs = _with_titles(snapshot, docs, scores, admitted, list(words))
        if near is not None:
            extra = np.setdiff1d(near, docs)
            docs = np.concatenate((docs, extra[np.lexsort((extra, -scores[extra]))]))
    return Candidates(
        docs,
        scores[docs],
        concepts,
        words,
        *_counts(dense, docs, len(concepts)),
        any_df,
        admitted,
        int(admitted.sum()),
        relaxed,
    )


def _asked_for(concepts: tuple[Concept, ...]) -> tuple[Concept, ...]:
    return tuple(c for c in concepts if not c.function_word) or concepts


Dense = list[dict[str, tuple[Ints, Floats]]]


def _bm25f(snapshot: Snapshot, concepts: tuple[Concept, ...]) -> tuple[Floats, Dense, Floats, Floats]:
    n = snapshot.alive.size
    scores, covered = np.zeros(n), np.zeros(n)
    any_df = np.zeros(len(concepts))
    dense: Dense = []
    for i, concept in enumerate(concepts):
        weight = np.zeros(n)
        dense.append({})
        for field in concept.fields:
            docs, tf = field_counts(snapshot, concept, field)
            if docs.size:
                dense[i][field] = (docs, tf)
                lengths = snapshot.documents[f"n_{field}"][docs] / snapshot.average_length[field]
                weight[docs] += WEIGHTS[field] * tf / (1 - B[field] + B[field] * lengths)
        holders = np.flatnonzero(weight)
        any_df[i] = holders.size
        own = weight[holders]
        scores[holders] += idf(snapshot.n_documents, any_df[i]) * (K1 + 1) * own / (K1 + own)
        covered[holders] += 1
    return scores, dense, any_df, covered


def idf(n_documents: float, df: Floats | float) -> Floats:
    """ln(1 + (N - df + 1/2) / (df + 1/2)), never negative."""
    df = np.minimum(df, n_documents)
    return np.asarray(np.log1p((n_documents - df + 0.5) / (np.asarray(df) + 0.5)))


def best(scores: Floats, admitted: Mask, limit: int, documents: Rows) -> Ints:
    """The `limit` admitted numbers of highest score.

    Of equal ones the newest, then by what is in them and where they lie: the same in whatever order they were indexed.
    """
    numbers = np.flatnonzero(admitted)
    own = scores[numbers]
    if numbers.size > limit:
        threshold = np.partition(own, numbers.size - limit)[numbers.size - limit]
        kept = own >= threshold
        numbers, own = numbers[kept], own[kept]
    rows = documents[numbers]
    return numbers[np.lexsort((numbers, rows["folder"], rows["content"], -rows["modified"], -own))][:limit]


def _with_titles(snapshot: Snapshot, docs: Ints, scores: Floats, admitted: Mask, words: list[str]) -> Ints:
    """Also the shortest of the titles that hold all words next to each other, wherever BM25F puts them."""
    titled = np.unique(phrase_starts(snapshot, "title", words) >> PLACE_BITS) if words else docs
    titled = np.setdiff1d(titled[admitted[titled]], docs)
    lengths = snapshot.documents["n_title"][titled]
    rows = snapshot.documents[titled]
    extra = titled[np.lexsort((titled, rows["folder"], rows["content"], -rows["modified"], lengths))][:MAX_TITLES]
    return np.concatenate((docs, extra[np.lexsort((extra, -scores[extra]))])) if extra.size else docs


def _counts(dense: Dense, docs: Ints, n_concepts: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
    tf: dict[str, Floats] = {}
    df: dict[str, Floats] = {}
    for field in TEXT_FIELDS:
        if not any(field in own for own in dense):
            continue
        tf[field] = np.zeros((docs.size, n_concepts))
        df[field] = np.zeros(n_concepts)
        for i, own in enumerate(dense):
            if field in own:
                holders, counts = own[field]
                rows = np.minimum(np.searchsorted(holders, docs), holders.size - 1)
                tf[field][:, i] = np.where(holders[rows] == docs, counts[rows], 0.0)
                df[field][i] = holders.size
    return tf, df
