"""The feature matrix of a query's candidates, in the order of the manifest, scaled per query to [0, 1]."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from indexer.analysis import sequence
from indexer.candidates import K1, B, Candidates, idf
from indexer.concepts import Concept, Counts, field_counts
from indexer.documents import TYPES
from indexer.features import FEATURES, NAMES
from indexer.proximity import nearness
from indexer.snapshot import Snapshot
from indexer.usage import Usage

Matrix = npt.NDArray[np.float64]

MU = {"title": 10.0, "body": 300.0, "name": 5.0}
"""Dirichlet prior of the language model, in words: about the length of a usual field"""
WEEK, HALF_YEAR = 7 * 86_400.0, 182 * 86_400.0
TYPE_GROUPS = {
    "is_text": ("text", "markdown"),
    "is_source": ("source", "data", "notebook"),
    "is_html": ("html",),
    "is_document": ("pdf", "ebook", "document", "presentation", "spreadsheet"),
    "is_mail": ("mail", "calendar"),
}


def feature_matrix(
    snapshot: Snapshot, candidates: Candidates, usage: Usage, *, titles: list[str], names: list[str], now: float
) -> Matrix:
    """[n_docs, n_features] in [0, 1]; `titles` and `names` (file names) are in the order of the candidates.

    `now` is in seconds since the epoch. A query without words (conditions only) has zeros for all text features.
    """
    raw: dict[str, Counts] = {"bm25f": candidates.bm25f}
    rows = snapshot.documents[candidates.docs]
    if candidates.concepts:
        weights = idf(snapshot.n_documents, candidates.any_df)
        for field in ("title", "body", "name"):
            raw.update(_field_values(snapshot, candidates, field, rows, weights))
        raw.update(_coverages(candidates, weights))
        raw["surface_share"] = _surface_share(snapshot, candidates)
        raw.update(_nearness(snapshot, candidates))
        raw.update(_exactness(candidates, titles, "title"))
        raw.update(_exactness(candidates, [_stem_of(name) for name in names], "name"))
    raw.update(_document_values(rows, now))
    raw.update({name: getattr(usage, name) for name in Usage.names()})
    n = candidates.docs.size
    columns = [raw.get(name, np.zeros(n)) for name in NAMES]
    return scaled(np.column_stack(columns) if n else np.zeros((0, len(NAMES))))


def scaled(raw: Matrix) -> Matrix:
    """Scale raw values [n_docs, n_features] as the manifest says."""
    values = raw.copy()
    if not len(raw):
        return values
    low, high = raw.min(axis=0), raw.max(axis=0)
    for i, feature in enumerate(FEATURES):
        if feature.scale == "share":
            values[:, i] = raw[:, i] / high[i] if high[i] > 0 else 0.0
        elif feature.scale == "range":
            span = high[i] - low[i]
            values[:, i] = (raw[:, i] - low[i]) / span if span > 1e-9 else 0.0
    return np.clip(values, 0.0, 1.0)


def _field_values(
    snapshot: Snapshot, candidates: Candidates, field: str, rows: npt.NDArray[np.void], weights: Counts
) -> dict[str, Counts]:
    n_docs, n_concepts = candidates.docs.size, len(candidates.concepts)
    lengths = rows[f"n_{field}"].astype(np.float64)
    tf = candidates.tf.get(field, np.zeros((n_docs, n_concepts)))
    mean = snapshot.average_length[field]
    norm = K1 * (1 - B[field] + B[field] * lengths / mean)
    own_idf = idf(snapshot.n_documents, candidates.df.get(field, np.zeros(n_concepts)))
    tf_idf = np.log1p(tf) * own_idf
    return {
        f"{field}_bm25": ((K1 + 1) * tf / (tf + norm[:, None]) * own_idf).sum(axis=1),
        f"{field}_tf_idf_sum": tf_idf.sum(axis=1),
        f"{field}_tf_idf_max": tf_idf.max(axis=1),
        f"{field}_tf_idf_mean": (tf / np.maximum(lengths, 1)[:, None] * own_idf).mean(axis=1),
        f"{field}_coverage": ((tf > 0) * weights).sum(axis=1) / weights.sum(),
        f"{field}_language_model": _dirichlet(snapshot, candidates, field, tf, lengths),
        f"{field}_tf": np.log1p(tf.sum(axis=1)),
        f"{field}_length": np.log1p(lengths),
    }


def _dirichlet(snapshot: Snapshot, candidates: Candidates, field: str, tf: Matrix, lengths: Counts) -> Counts:
    """sum_t ln(1 + tf / (mu p(t))) + n_t ln(mu / (mu + len)) (Zhai and Lafferty 2001, Eq. 6)."""
    total = max(snapshot.average_length[field] * snapshot.n_documents, 1.0)
    frequency = np.maximum(candidates.df.get(field, np.zeros(len(candidates.concepts))), 0.5)
    mu = MU[field]
    return np.asarray(np.log1p(tf / (mu * frequency / total)).sum(axis=1) + tf.shape[1] * np.log(mu / (mu + lengths)))


def _coverages(candidates: Candidates, weights: Counts) -> dict[str, Counts]:
    shape = (candidates.docs.size, len(candidates.concepts))
    empty = np.zeros(shape)
    total = weights.sum()

    def share(*fields: str) -> Counts:
        held = np.any([candidates.tf.get(field, empty) > 0 for field in fields], axis=0)
        return np.asarray((held * weights).sum(axis=1) / total)

    over_all = sum(candidates.tf.values(), start=empty)
    return {
        "path_coverage": share("path"),
        "author_coverage": share("author", "recipients"),
        "any_coverage": share(*candidates.tf) if candidates.tf else np.zeros(shape[0]),
        "least_tf": np.log1p(over_all.min(axis=1)),
    }


def _surface_share(snapshot: Snapshot, candidates: Candidates) -> Counts:
    """Share of the occurrences in title and text that have the form that was typed."""
    typed = np.zeros(candidates.docs.size)
    total = np.zeros(candidates.docs.size)
    for i, concept in enumerate(candidates.concepts):
        surface = Concept(concept.node, ((concept.surface[0],),), concept.surface, concept.fields)
        for field in ("title", "body"):
            if field not in candidates.tf or field not in concept.fields:
                continue
            total += candidates.tf[field][:, i]
            docs, tf = field_counts(snapshot, surface, field)
            if docs.size:
                rows = np.minimum(np.searchsorted(docs, candidates.docs), docs.size - 1)
                typed += np.where(docs[rows] == candidates.docs, tf[rows], 0.0)
    return np.minimum(typed / np.maximum(total, 1.0), 1.0)


def _nearness(snapshot: Snapshot, candidates: Candidates) -> dict[str, Counts]:
    found: dict[str, Counts] = {}
    body = nearness(snapshot, candidates.concepts, "body", candidates.docs)
    title = nearness(snapshot, candidates.concepts, "title", candidates.docs)
    found["body_phrase"], found["body_ordered"] = body.phrase, body.ordered
    found["body_near"], found["body_early"] = body.near, body.early
    found["title_phrase"], found["title_ordered"] = title.phrase, title.ordered
    return found


def _exactness(candidates: Candidates, texts: list[str], kind: str) -> dict[str, Counts]:
    asked = list(candidates.words)
    asked_set = set(asked)
    forms = {run[0] for concept in candidates.concepts for run in concept.forms if len(run) == 1} | asked_set
    exact = np.zeros(len(texts))
    share = np.zeros(len(texts))
    for i, text in enumerate(texts):
        words = sequence(text)
        if not words:
            continue
        exact[i] = 1.0 if words == asked else 0.8 if set(words) == asked_set else 0.0
        share[i] = _dice(words, forms, len(asked))
    return {f"{kind}_exact": exact, f"{kind}_share": share}


def _dice(words: list[str], forms: set[str], n_asked: int) -> float:
    common = min(sum(word in forms for word in words), n_asked)
    return 2 * common / (len(words) + n_asked)


def _stem_of(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def _document_values(rows: npt.NDArray[np.void], now: float) -> dict[str, Counts]:
    age = np.maximum(now - rows["modified"], 0.0)
    values = {
        "recent_week": np.exp2(-age / WEEK),
        "recent_year": np.exp2(-age / HALF_YEAR),
        "newer": -np.log1p(age / 86_400.0),
        "size": np.log1p(np.maximum(rows["size"], 0).astype(np.float64)),
        "depth": rows["depth"].astype(np.float64),
    }
    for name, group in TYPE_GROUPS.items():
        codes = [TYPES.index(t) for t in group]
        values[name] = np.isin(rows["type"], codes).astype(np.float64)
    return values
