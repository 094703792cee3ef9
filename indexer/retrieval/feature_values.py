"""The feature matrix of a query's candidates, in the order of the manifest, scaled per query to [0, 1].

What the user's own picks say about the candidates comes in as a record (`Usage`): the device fills it from its pick
memory, and a device that keeps none passes zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import accumulate, pairwise

import numpy as np

from indexer.documents import TYPES
from indexer.postings import Floats, Ints, Mask, Rows
from indexer.retrieval.adjacency import adjacent
from indexer.retrieval.candidates import K1, B, Candidates, idf
from indexer.retrieval.concepts import Concept
from indexer.retrieval.features import FEATURES, NAMES, USAGE_NAMES
from indexer.storage.snapshot import PLACE_BITS, Snapshot
from indexer.text.analysis import sequence

FAR = 64
"""words; a gap at least this wide counts as not near at all"""
MAX_CONCEPTS = 8
"""only the first concepts of a long query are looked at"""


@dataclass(frozen=True, slots=True, eq=False)
class Nearness:
    """Closeness of neighbouring query words in one field, each [n_docs] in [0, 1]."""

    phrase: Floats
    """1 when all words stand next to each other in the query's order somewhere, else half the share of pairs that do"""
    ordered: Floats
    """mean over neighbouring pairs of 1 / smallest gap with the second after the first"""
    near: Floats
    """the same in either order"""
    early: Floats
    """1 / (1 + first position / 50): how near the beginning the field first speaks of any word"""


def nearness(snapshot: Snapshot, concepts: tuple[Concept, ...], field: str, docs: Ints) -> Nearness:
    """Closeness in `field` for the document numbers `docs` [n_docs] (any order).

    Two words stand as in the query when they are as far apart as there: function words between them count.
    """
    n = docs.size
    ascending = np.sort(docs)
    concepts = concepts[:MAX_CONCEPTS]
    places = [_places(snapshot, concept, field, ascending) for concept in concepts]
    early = np.zeros(n)
    for own in places:
        first = own[_firsts(own >> PLACE_BITS)]
        position = first & ((1 << PLACE_BITS) - 1)
        rows = np.searchsorted(ascending, first >> PLACE_BITS)
        early[rows] = np.maximum(early[rows], 1 / (1 + position / 50))
    ordered, near, adjacent = np.zeros(n), np.zeros(n), np.zeros(n)
    steps = [right.offset - left.offset for left, right in pairwise(concepts)]
    for (left, right), step in zip(pairwise(places), steps, strict=True):
        as_asked = left[_among(left + step, right)]
        exact = _among(ascending, as_asked >> PLACE_BITS)
        after = np.where(exact, 1.0, _extra(_smallest_gap(left, right, ascending), step))
        before = _smallest_gap(right, left, ascending)
        ordered += _closeness(after)
        near += _closeness(np.minimum(after, before))
        adjacent += exact
    if not steps:
        return Nearness(*_in_order(docs, ascending, (np.zeros(n), np.zeros(n), np.zeros(n), early)))
    phrase = 0.5 * adjacent / len(steps)
    phrase[_whole_phrase(places, steps, ascending)] = 1.0
    return Nearness(*_in_order(docs, ascending, (phrase, ordered / len(steps), near / len(steps), early)))


def _extra(gaps: Floats, step: int) -> Floats:
    """1 for words as far apart as asked, one more for each word that they are nearer or farther; FAR stays FAR."""
    return np.where(gaps < FAR, 1 + np.abs(gaps - step), gaps)


def _in_order(docs: Ints, ascending: Ints, columns: tuple[Floats, ...]) -> list[Floats]:
    rows = np.searchsorted(ascending, docs)
    return [column[rows] for column in columns]


def _places(snapshot: Snapshot, concept: Concept, field: str, docs: Ints) -> Ints:
    if field not in concept.fields:
        return np.zeros(0, dtype=np.int64)
    if concept.pieces:
        starts = adjacent(snapshot, field, concept.pieces)
        return starts[_among(starts >> PLACE_BITS, docs)]
    runs = [snapshot.places(field, run[0], docs) for run in concept.forms]
    return runs[0] if len(runs) == 1 else np.sort(np.concatenate(runs), kind="stable")


def _firsts(values: Ints) -> Ints:
    """Where in the ascending `values` [n] each value stands first."""
    return np.flatnonzero(np.diff(values, prepend=-1))


def _among(values: Ints, known: Ints) -> Mask:
    """Which of `values` [n] are in the ascending `known`: np.isin, without its sorting."""
    if not known.size:
        return np.zeros(values.size, dtype=bool)
    return np.asarray(known[np.minimum(np.searchsorted(known, values), known.size - 1)] == values)


def _smallest_gap(left: Ints, right: Ints, docs: Ints) -> Floats:
    """[n_docs] the smallest distance from a place of `left` to a later place of `right` in the same document."""
    gaps = np.full(docs.size, float(FAR))
    if not left.size or not right.size:
        return gaps
    after = np.searchsorted(right, left, side="right")
    has = after < right.size
    left, following = left[has], right[np.minimum(after[has], right.size - 1)]
    same = (following >> PLACE_BITS) == (left >> PLACE_BITS)
    own, distances = left[same] >> PLACE_BITS, (following - left)[same]
    if own.size:
        firsts = _firsts(own)
        smallest = np.minimum.reduceat(distances, firsts)
        gaps[np.searchsorted(docs, own[firsts])] = np.minimum(smallest, FAR)
    return gaps


def _closeness(gaps: Floats) -> Floats:
    return np.where(gaps < FAR, 1 / np.maximum(gaps, 1), 0.0)


def _whole_phrase(places: list[Ints], steps: list[int], docs: Ints) -> Ints:
    starts = places[0]
    for offset, own in zip(accumulate(steps), places[1:], strict=True):
        starts = starts[_among(starts + offset, own)]
    return np.searchsorted(docs, starts >> PLACE_BITS)


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Six numbers for each candidate, all `[n_docs]` in [0, 1]; 0 means "nothing known"."""

    opened: Floats
    """how often this document was opened for any query, decayed and saturating"""
    opened_recently: Floats
    """1 right after repeated opening, halved every two weeks"""
    same_query: Floats
    """how often it was picked for exactly this set of query words, saturating: one pick counts little"""
    similar_query: Floats
    """the same added up over other queries, each times the squared share of words it has in common with this one"""
    folder_share: Floats
    """share of the user's picks that lie in its folder (or, at a quarter of the weight, next to that folder)"""
    type_share: Floats
    """share of the user's picks that are of its type"""

    @classmethod
    def zeros(cls, n_docs: int) -> Usage:
        """The record of a device that remembers nothing."""
        return cls(*(np.zeros(n_docs) for _ in fields(cls)))


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
    snapshot: Snapshot, candidates: Candidates, usage: Usage, *, titles: list[str], names: list[str], now: float,
    meaning: Floats | None = None,
) -> Floats:  # fmt: skip
    """[n_docs, n_features] in [0, 1]; `titles` and `names` (file names) are in the order of the candidates.

    `meaning` [n_docs] in [0, 1] says how close each is to the query in meaning; None where nobody
    knows. `now` is in seconds since the epoch. A query without words (conditions only) has zeros for all text features.
    """
    raw: dict[str, Floats] = {"bm25f": candidates.bm25f}
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
    raw.update({name: getattr(usage, name) for name in USAGE_NAMES})
    if meaning is not None:
        raw["meaning"] = meaning
    n = candidates.docs.size
    columns = [raw.get(name, np.zeros(n)) for name in NAMES]
    return scaled(np.column_stack(columns) if n else np.zeros((0, len(NAMES))))


def scaled(raw: Floats) -> Floats:
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
    snapshot: Snapshot, candidates: Candidates, field: str, rows: Rows, weights: Floats
) -> dict[str, Floats]:
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


def _dirichlet(snapshot: Snapshot, candidates: Candidates, field: str, tf: Floats, lengths: Floats) -> Floats:
    """sum_t ln(1 + tf / (mu p(t))) + n_t ln(mu / (mu + len)) (Zhai and Lafferty 2001, Eq. 6)."""
    total = max(snapshot.average_length[field] * snapshot.n_documents, 1.0)
    frequency = np.maximum(candidates.df.get(field, np.zeros(len(candidates.concepts))), 0.5)
    mu = MU[field]
    return np.asarray(np.log1p(tf / (mu * frequency / total)).sum(axis=1) + tf.shape[1] * np.log(mu / (mu + lengths)))


def _coverages(candidates: Candidates, weights: Floats) -> dict[str, Floats]:
    shape = (candidates.docs.size, len(candidates.concepts))
    empty = np.zeros(shape)
    total = weights.sum()

    def share(*fields: str) -> Floats:
        held = np.any([candidates.tf.get(field, empty) > 0 for field in fields], axis=0)
        return np.asarray((held * weights).sum(axis=1) / total)

    over_all = sum(candidates.tf.values(), start=empty)
    return {
        "path_coverage": share("path"),
        "author_coverage": share("author", "recipients"),
        "any_coverage": share(*candidates.tf) if candidates.tf else np.zeros(shape[0]),
        "least_tf": np.log1p(over_all.min(axis=1)),
    }


def _surface_share(snapshot: Snapshot, candidates: Candidates) -> Floats:
    """Share of the occurrences in title and text that have the form that was typed."""
    typed = np.zeros(candidates.docs.size)
    total = np.zeros(candidates.docs.size)
    for i, concept in enumerate(candidates.concepts):
        for field in ("title", "body"):
            if field not in candidates.tf or field not in concept.fields:
                continue
            total += candidates.tf[field][:, i]
            form = snapshot.postings(field, concept.surface[0])
            if form.docs.size:
                rows = np.minimum(np.searchsorted(form.docs, candidates.docs), form.docs.size - 1)
                typed += np.where(form.docs[rows] == candidates.docs, form.tf[rows], 0.0)
    return np.minimum(typed / np.maximum(total, 1.0), 1.0)


def _nearness(snapshot: Snapshot, candidates: Candidates) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    body = nearness(snapshot, candidates.concepts, "body", candidates.docs)
    title = nearness(snapshot, candidates.concepts, "title", candidates.docs)
    found["body_phrase"], found["body_ordered"] = body.phrase, body.ordered
    found["body_near"], found["body_early"] = body.near, body.early
    found["title_phrase"], found["title_ordered"] = title.phrase, title.ordered
    return found


def _exactness(candidates: Candidates, texts: list[str], kind: str) -> dict[str, Floats]:
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
    meant = held_as_written(candidates)
    return {f"{kind}_exact": exact * meant, f"{kind}_share": share * meant}


def held_as_written(candidates: Candidates) -> Mask:
    """[n_docs] False for those that hold only the pieces of a word that is meant as it is written."""
    meant = np.ones(candidates.docs.size, dtype=bool)
    for i, concept in enumerate(candidates.concepts):
        if concept.written:
            tf = np.array([own[:, i] for own in candidates.tf.values()])
            meant &= (tf == 0).all(axis=0) | (tf >= 1).any(axis=0)
    return meant


def _dice(words: list[str], forms: set[str], n_asked: int) -> float:
    common = min(sum(word in forms for word in words), n_asked)
    return 2 * common / (len(words) + n_asked)


def _stem_of(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def _document_values(rows: Rows, now: float) -> dict[str, Floats]:
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
