"""The counts of a collection that a query needs, added up so that several collections rank as one.

BM25F and the features depend on how many documents there are, how many hold each word, and how long they are on
average. With the sums over all collections each gives its documents the values that a single index would give them.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct

from indexer.retrieval.concepts import Concept, ConceptLookup, Count, Frequency
from indexer.schema import TEXT_FIELDS
from indexer.storage.snapshot import Snapshot


class CollectionStatistics(Struct, frozen=True):
    """The counts of one collection, or of several together."""

    n_documents: Count = 0
    n_words: dict[str, Count] = {}
    """field -> words in it"""
    n_having: dict[str, Count] = {}
    """field -> documents that have it"""
    frequencies: dict[str, Frequency] = {}
    """`Concept.key` -> how many hold it"""


def sum_of_statistics(parts: Iterable[CollectionStatistics]) -> CollectionStatistics:
    n_documents, n_words, n_having = 0, Counter[str](), Counter[str]()
    frequencies: dict[str, Frequency] = {}
    for part in parts:
        n_documents += part.n_documents
        n_words.update(part.n_words)
        n_having.update(part.n_having)
        for key, own in part.frequencies.items():
            known = frequencies.get(key)
            frequencies[key] = known.plus(own) if known else own
    return CollectionStatistics(n_documents, dict(n_words), dict(n_having), frequencies)


def statistics_of(snapshot: Snapshot, lookup: ConceptLookup, concepts: Iterable[Concept]) -> CollectionStatistics:
    """The counts of one index for the concepts of a query."""
    lengths = _lengths(snapshot)
    return CollectionStatistics(
        snapshot.n_documents, {field: own[0] for field, own in lengths.items()},
        {field: own[1] for field, own in lengths.items()}, {own.key: lookup.frequency(own) for own in concepts},
    )  # fmt: skip


def _lengths(snapshot: Snapshot) -> Mapping[str, tuple[int, int]]:
    """Field -> its words, and the documents that have it."""

    def count() -> Mapping[str, tuple[int, int]]:
        columns = {field: snapshot.documents[f"n_{field}"][snapshot.alive] for field in TEXT_FIELDS}
        return {field: (int(own.sum(dtype=np.int64)), int(np.count_nonzero(own))) for field, own in columns.items()}

    return snapshot.remember("lengths", count)


def among_others(snapshot: Snapshot, others: CollectionStatistics) -> Snapshot:
    """The same documents as a part of one collection with those of `others`."""
    lengths = _lengths(snapshot)
    wide = copy.copy(snapshot)
    wide.forget()
    wide.n_documents += others.n_documents
    wide.average_length = {}
    for field, (n_words, n_having) in lengths.items():
        n = n_having + others.n_having.get(field, 0)
        wide.average_length[field] = max(n_words + others.n_words.get(field, 0), 1) / n if n else 1.0
    return wide
