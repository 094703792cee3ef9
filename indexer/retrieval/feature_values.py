"""The feature matrix of a query's candidates, in the order of the manifest, scaled per query to [0, 1].

What the user's own picks say about the candidates comes in as a record (`Usage`): the device fills it from its pick
memory, and a device that keeps none passes zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from msgspec import Struct

from indexer.codec.segments import Columns
from indexer.documents import TYPES
from indexer.postings import Floats, Ints, Mask, beginnings
from indexer.retrieval.adjacency import adjacent, among, union
from indexer.retrieval.candidates import K1, B, Candidates, idf
from indexer.retrieval.concepts import Concept
from indexer.retrieval.features import FEATURES, NAMES, USAGE_NAMES
from indexer.storage.snapshot import NOTHING, PLACE_BITS, Snapshot
from indexer.text.analysis import words_of

FAR = 64
"""words; a gap at least this wide does not count as near"""
MAX_CONCEPTS = 8
"""only the first concepts of a long query are looked at"""


class Nearness(Struct, frozen=True, eq=False):
    """Closeness of neighbouring query words in one field, each [n_docs] in [0, 1]."""

    phrase: Floats
    """1 if all words stand in a row in the query's order somewhere, else half the share of adjacent pairs that do"""
    ordered: Floats
    """mean over neighbouring pairs of 1 / smallest gap with the second after the first"""
    near: Floats
    """the same in either order"""
    early: Floats
    """1 / (1 + first position / 50): how near its beginning the field first holds any of the words"""


def nearness(snapshot: Snapshot, concepts: tuple[Concept, ...], fields: Sequence[str], docs: Ints) -> list[Nearness]:
    """Closeness in several fields, [n_fields], for the document numbers `docs` [n_docs] (any order).

    All fields are handled in one pass, each as a document of its own. Two words stand as in the query if they are as
    far apart as there: function words between them count.
    """
    ascending, concepts = np.sort(docs), concepts[:MAX_CONCEPTS]
    steps = [right.offset - left.offset for left, right in pairwise(concepts)]
    places = places_of(snapshot, concepts, fields, ascending)
    n_rows = len(fields) * docs.size
    forms = [{run[0] for run in concept.forms} for concept in concepts]
    made = [left != right and not left.isdisjoint(right) for left, right in pairwise(forms)]
    columns = np.array((*_gaps(places, steps, made, n_rows), _earliness(places, n_rows)))
    rows = ascending.searchsorted(docs)
    return [Nearness(*columns[:, i * docs.size + rows]) for i in range(len(fields))]


def _earliness(places: list[Ints], n_rows: int) -> Floats:
    early = np.zeros(n_rows)
    for own in places:
        if own.size:
            first = own[beginnings(own >> PLACE_BITS)]
            rows = first >> PLACE_BITS
            early[rows] = np.maximum(early[rows], 1 / (1 + (first & ((1 << PLACE_BITS) - 1)) / 50))
    return early


def _gaps(places: list[Ints], steps: list[int], made: list[bool], n_rows: int) -> tuple[Floats, Floats, Floats]:
    """`Nearness.phrase`, `ordered` and `near` of each row; one word may stand for two neighbours that make it: 5GB."""
    ordered, near, adjacent = np.zeros((3, n_rows))
    if not steps:
        return adjacent, ordered, near
    run = places[0]
    for (left, right), step, in_one in zip(pairwise(places), steps, made, strict=True):
        further = (run + step)[among(run + step, right)]
        run = union([further, run[among(run, right)]]) if in_one else further
        if not (left.size and right.size):
            continue
        next_to = among(left + step, right)
        exact = _rows_of(left[next_to | among(left, right) if in_one else next_to], n_rows)
        gaps = _smallest_gap(left, right, n_rows)
        extra = np.where(gaps < FAR, 1 + np.abs(gaps - step), gaps)  # 1 for words as far apart as asked
        after = np.where(exact, 1.0, extra)
        before = _smallest_gap(right, left, n_rows)
        ordered += _closeness(after)
        near += _closeness(np.minimum(after, before))
        adjacent += exact
    phrase = 0.5 * adjacent / len(steps)
    phrase[_rows_of(run, n_rows)] = 1.0
    return phrase, ordered / len(steps), near / len(steps)


def _rows_of(places: Ints, n_rows: int) -> Mask:
    """Which rows hold any of the places."""
    rows = np.zeros(n_rows, dtype=bool)
    rows[places >> PLACE_BITS] = True
    return rows


def places_of(snapshot: Snapshot, concepts: Sequence[Concept], fields: Sequence[str], docs: Ints) -> list[Ints]:
    """Where each concept stands, ascending, `[n_concepts]`: place keys that begin with rows, one for each of the
    ascending `docs` in the first field, then one for each in the next."""
    whole = [(i, f) for i, own in enumerate(concepts) if not own.pieces for f, _ in enumerate(fields)
             if fields[f] in own.fields]  # fmt: skip
    asked = [(fields[f], tuple(run[0] for run in concepts[i].forms)) for i, f in whole]
    found = dict(zip(whole, snapshot.all_places(asked, docs, by_row=True), strict=True))
    for i, concept in enumerate(concepts):
        for f, field in enumerate(fields) if concept.pieces else ():
            if field in concept.fields:
                starts = union([adjacent(snapshot, field, row, docs) for row in concept.rows])
                rows = docs.searchsorted(starts >> PLACE_BITS)
                found[i, f] = starts + (rows - (starts >> PLACE_BITS) << PLACE_BITS)
    parts = ([found[i, f] + (f * docs.size << PLACE_BITS) for f, _ in enumerate(fields) if (i, f) in found]
             for i, _ in enumerate(concepts))  # fmt: skip
    return [np.concatenate(own) if own else NOTHING.docs for own in parts]


def _smallest_gap(left: Ints, right: Ints, n_rows: int) -> Floats:
    """[n_rows] the smallest distance from a place of `left` to a later place of `right` in the same row."""
    gaps = np.full(n_rows, float(FAR))
    after = right.searchsorted(left, side="right")
    n = int(after.searchsorted(right.size))  # places after the last of `right` have no later one
    distances = right[after[:n]] - left[:n]
    near = (distances < FAR).nonzero()[0]  # a place in another row is farther
    if near.size:
        own = left[near] >> PLACE_BITS
        starts = beginnings(own)
        gaps[own[starts]] = np.minimum.reduceat(distances[near], starts)
    return gaps


def _closeness(gaps: Floats) -> Floats:
    return np.where(gaps < FAR, 1 / np.maximum(gaps, 1), 0.0)


class Usage(Struct, frozen=True, eq=False):
    """Six numbers for each candidate, all `[n_docs]` in [0, 1]; 0 means "nothing known"."""

    opened: Floats
    """how often this document was opened for any query, decayed and saturating"""
    opened_recently: Floats
    """1 right after repeated opening, halved every two weeks"""
    same_query: Floats
    """how often it was picked for exactly this set of query words, saturating: one pick counts little"""
    similar_query: Floats
    """the same summed over other queries, each times the squared share of words that it shares with this one"""
    folder_share: Floats
    """share of the user's picks in its folder (and, at a quarter of the weight, beside that folder)"""
    type_share: Floats
    """share of the user's picks that are of its type"""

    @classmethod
    def zeros(cls, n_docs: int) -> Usage:
        """The record of a device that remembers nothing."""
        return cls(*(np.zeros(n_docs) for _ in cls.__struct_fields__))


MU = {"title": 10.0, "body": 300.0, "name": 5.0}
"""Dirichlet prior of the language model, in words: about the usual length of the field"""
DAY = 86_400.0
WEEK, HALF_YEAR = 7 * DAY, 182 * DAY
TYPE_GROUPS = {
    "is_text": ("text", "markdown"),
    "is_source": ("source", "data", "notebook"),
    "is_html": ("html",),
    "is_document": ("pdf", "ebook", "document", "presentation", "spreadsheet"),
    "is_mail": ("mail", "calendar"),
}
_TYPE_GROUPS = {name: np.isin(TYPES, group).astype(np.float64) for name, group in TYPE_GROUPS.items()}
"""[n_types] 1 for the types of the group"""


def raw_features(
    snapshot: Snapshot, candidates: Candidates, usage: Usage, *, titles: list[str], names: list[str], now: float,
    meaning: Floats | None = None,
) -> Floats:  # fmt: skip
    """[n_docs, n_features] not yet scaled over the page; `titles` and file `names` [n_docs] are the candidates'.

    `meaning` [n_docs] in [0, 1] says how close each is to the query in meaning; None where nobody
    knows. `now` is in seconds since the epoch. A query without words (conditions only) has zeros for all text features.
    """
    raw: dict[str, Floats] = {"bm25f": candidates.bm25f}
    if candidates.concepts:
        weights = idf(snapshot.n_documents, candidates.any_df)
        raw.update(_field_values(snapshot, candidates, weights))
        raw.update(_coverages(candidates, weights))
        raw["surface_share"] = _surface_share(snapshot, candidates)
        raw.update(_nearness(snapshot, candidates))
        raw.update(_exactness(candidates, title=map(words_of, titles), name=map(_words_of_name, names)))
    raw.update(_document_values(snapshot.documents, candidates.docs, now))
    raw.update({name: getattr(usage, name) for name in USAGE_NAMES})
    if meaning is not None:
        raw["meaning"] = meaning
    values = np.zeros((candidates.docs.size, len(NAMES)))
    for i, name in enumerate(NAMES):
        if name in raw:
            values[:, i] = raw[name]
    return values


_IS_SHARE, _IS_RANGE = (np.array([feature.scale == scale for feature in FEATURES]) for scale in ("share", "range"))


def scaled(raw: Floats) -> Floats:
    """Scale raw values [n_docs, n_features] as the manifest says."""
    if not len(raw):
        return raw.copy()
    low, high = raw.min(axis=0), raw.max(axis=0)
    low, span = np.where(_IS_RANGE, low, 0.0), np.where(_IS_RANGE, high - low, np.where(_IS_SHARE, high, 1.0))
    used = span > np.where(_IS_RANGE, 1e-9, 0.0)
    values: Floats = (raw - low) / np.where(used, span, 1.0)
    values[:, ~used] = 0.0
    return np.clip(values, 0.0, 1.0, out=values)


_SEVERAL = ("title", "body", "name")
"""fields whose occurrences have features of their own"""
_MU, _B = (np.array([values[field] for field in _SEVERAL])[:, None] for values in (MU, B))


def _field_values(snapshot: Snapshot, candidates: Candidates, weights: Floats) -> dict[str, Floats]:
    """The features of the `_SEVERAL` fields, computed together: arrays `[n_fields, n_docs, n_concepts]`."""
    n_concepts, documents = len(candidates.concepts), snapshot.documents
    none, rare = np.zeros((candidates.docs.size, n_concepts)), np.zeros(n_concepts)
    lengths = np.array([documents[f"n_{field}"][candidates.docs] for field in _SEVERAL], dtype=np.float64)
    tf = np.array([candidates.tf.get(field, none) for field in _SEVERAL])
    df = np.array([candidates.df.get(field, rare) for field in _SEVERAL])[:, None]
    mean = np.array([snapshot.average_length[field] for field in _SEVERAL])[:, None]
    norm = K1 * (1 - _B + _B * lengths / mean)
    own_idf = idf(snapshot.n_documents, df)
    tf_idf = np.log1p(tf) * own_idf
    values = {
        "bm25": ((K1 + 1) * tf / (tf + norm[..., None]) * own_idf).sum(axis=-1),
        "tf_idf_sum": tf_idf.sum(axis=-1),
        "tf_idf_max": tf_idf.max(axis=-1),
        "tf_idf_mean": (tf / np.maximum(lengths, 1)[..., None] * own_idf).mean(axis=-1),
        "coverage": ((tf > 0) * weights).sum(axis=-1) / weights.sum(),
        "language_model": _dirichlet(tf, np.maximum(df, 0.5), lengths, np.maximum(mean * snapshot.n_documents, 1.0)),
        "tf": np.log1p(tf.sum(axis=-1)),
        "length": np.log1p(lengths),
    }
    return {f"{field}_{name}": own[i] for name, own in values.items() for i, field in enumerate(_SEVERAL)}


def _dirichlet(tf: Floats, frequency: Floats, lengths: Floats, total: Floats) -> Floats:
    """sum_t ln(1 + tf / (mu p(t))) + n_t ln(mu / (mu + len)) (Zhai and Lafferty 2001, Eq. 6)."""
    expected = _MU[..., None] * frequency / total[..., None]
    return np.asarray(np.log1p(tf / expected).sum(axis=-1) + tf.shape[-1] * np.log(_MU / (_MU + lengths)))


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
    """Share of the occurrences in title and text that have the form typed."""
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
    body, title = nearness(snapshot, candidates.concepts, ("body", "title"), candidates.docs)
    return {
        "body_phrase": body.phrase, "body_ordered": body.ordered, "body_near": body.near, "body_early": body.early,
        "title_phrase": title.phrase, "title_ordered": title.ordered,
    }  # fmt: skip


def _exactness(candidates: Candidates, **kinds: Iterable[tuple[str, ...]]) -> dict[str, Floats]:
    """How far the words of each text [n_docs] of each kind are those of the query."""
    asked, asked_set = candidates.words, set(candidates.words)
    forms = {run[0] for concept in candidates.concepts for run in concept.forms if len(run) == 1} | asked_set
    meant = held_as_written(candidates)
    found: dict[str, Floats] = {}
    for kind, texts in kinds.items():
        exact, share = np.zeros((2, meant.size))
        for i, words in enumerate(texts):
            if not forms.isdisjoint(words):
                n_held = sum(map(forms.__contains__, words))
                if n_held == len(words):
                    exact[i] = 1.0 if words == asked else 0.8 if set(words) == asked_set else 0.0
                share[i] = 2 * min(n_held, len(asked)) / (len(words) + len(asked))
        found |= {f"{kind}_exact": exact * meant, f"{kind}_share": share * meant}
    return found


def held_as_written(candidates: Candidates) -> Mask:
    """[n_docs] False for those that hold only the pieces of a word that is meant as written."""
    meant = np.ones(candidates.docs.size, dtype=bool)
    for i, concept in enumerate(candidates.concepts):
        if concept.written:
            tf = np.array([own[:, i] for own in candidates.tf.values()])
            meant &= (tf == 0).all(axis=0) | (tf >= 1).any(axis=0)
    return meant


@lru_cache(maxsize=10_000)
def _words_of_name(name: str) -> tuple[str, ...]:
    stem, dot, _ = name.rpartition(".")
    return words_of(stem if dot and stem else name)


def age(modified: Floats, tonight: float) -> Floats:
    """Seconds from dates to `tonight`, the next midnight; a later date (mostly a wrong clock) counts as past."""
    past = tonight - modified
    return np.where(past < 0.0, DAY - past, past)


def _document_values(documents: Columns, docs: Ints, now: float) -> dict[str, Floats]:
    ages = age(documents["modified"][docs], now)
    values = {
        "recent_week": np.exp2(-ages / WEEK),
        "recent_year": np.exp2(-ages / HALF_YEAR),
        "newer": -np.log1p(ages / DAY),
        "size": np.log1p(np.maximum(documents["size"][docs], 0).astype(np.float64)),
        "depth": documents["depth"][docs].astype(np.float64),
    }
    types = documents["type"][docs]
    for name in TYPE_GROUPS:
        values[name] = _TYPE_GROUPS[name][types]
    return values
