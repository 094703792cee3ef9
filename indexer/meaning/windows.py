"""What meaning says of the candidates of a query: how close each is, seen against the others.

Of hundreds of windows one is always near to anything by chance. So of a long document the words of the query are asked
first: each window has the score

    sum_t idf(t) tf / (tf + 1)

and the closest of the best three counts. The feature is the distance from the mean of the candidates in standard
deviations, four above it at most:

    MIDDLE + STEP trust (similarity - mean) / max(deviation, LEAST_DEVIATION)

What stands for a long document says less about it than a passage about a short one, and is trusted less: by
sqrt(TRUSTED / its windows), or where it has only its eight passages, by sqrt(8 / its windows).
"""

from __future__ import annotations

import numpy as np

from indexer.meaning.nearest import Closeness, filled
from indexer.meaning.passages import MAX_PASSAGES, WORDS
from indexer.postings import Floats, Ints, run_places
from indexer.retrieval.candidates import Candidates, idf
from indexer.storage.snapshot import PLACE_BITS, Snapshot

CHOSEN = 3
"""windows of a document that its words choose"""
TRUSTED = 32
"""windows of a text up to which they are trusted as the passages of a short one are"""
MIDDLE, STEP = 0.2, 0.2
"""chosen on six collections (manpages, time, cisi, cranfield, medline, scifact)"""
LEAST_DEVIATION = 0.06
"""of the similarities of a page; where they differ less, it is by chance"""


def meaning_feature(closeness: Closeness, candidates: Candidates, snapshot: Snapshot) -> Floats:
    """[n_docs] in [0, 1]; MIDDLE for all where nothing is known of any."""
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
    n_words = np.maximum(snapshot.documents.take("n_body", candidates.docs).astype(np.float64), 1.0)
    trusted = np.where(n_windows > 0, TRUSTED, MAX_PASSAGES)
    return similarity, np.sqrt(np.minimum(trusted * WORDS / n_words, 1.0))


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
