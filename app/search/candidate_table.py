"""Everything known about the candidates of one query, from this machine and from others that were asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from msgspec import Struct, structs

from app.learning.learner import DECIMALS
from app.learning.picks import Picks
from app.search.meaning import languages_of, passages_without_words
from app.search.open_commit import Reading
from foltr.arrays import FloatMatrix, FloatVector
from indexer.meaning.nearest import Closeness, meaning_feature
from indexer.postings import Bytes, Ints, Mask
from indexer.retrieval.candidates import Candidates
from indexer.retrieval.feature_values import held_as_written, raw_features
from indexer.retrieval.named import TITLE
from indexer.retrieval.near_duplicates import evidence
from indexer.storage.catalogue import Catalogue, DocumentRow
from indexer.storage.mail_threads import Thread

ONCE = 0.1
"""`same_query` is below this after one pick and above it after two: one pick does not set a document apart"""
_name_of = lru_cache(maxsize=10_000)(os.path.basename)


class Aside(Struct, frozen=True):
    """What only a few candidates have."""

    machine: str = ""
    """the other machine of this person that holds it; "" for this one"""
    passage: tuple[int, int] | None = None
    """[start, end) in its text of what is close to the query, where it holds none of the words"""
    foreign: str = ""
    """the name of its language, where that is not the query's"""
    thread: Thread | None = None
    """of a mail, where the mails of a thread share a row"""
    day: float | None = None
    """the date at the beginning of its text; only for documents of other machines"""
    code: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """what `indexer.retrieval.code.code_counts` counts; only for documents of other machines"""


PLAIN = Aside()


class CandidateTable(Struct, frozen=True, eq=False):
    """Candidates with all that is known of each; every field has one entry per candidate [n_docs]."""

    rows: list[DocumentRow]
    names: list[str]
    """file names; of what lies in an archive, its name there"""
    docs: Ints
    """their numbers in the snapshot; -1 for those of other machines"""
    bm25f: FloatVector
    features: FloatMatrix
    """[n_docs, n_features]"""
    levels: Ints
    """[n_docs, n_concepts] as `near_duplicates.evidence` gives them"""
    missing_words: list[tuple[str, ...]]
    """words of a plain query that each does not hold"""
    as_typed: Mask
    """for a query of one word, whether it holds that word in the form typed; True for all where none does"""
    named: Ints
    """how well the query names it, as `indexer.retrieval.named` gives it"""
    chosen_before: Mask
    """a person has opened it for this query more than once"""
    marks: list[tuple[str, ...]]
    """its type, and its hashed folders"""
    sketches: Bytes
    """[n_docs, BUCKETS] of their texts"""
    asides: list[Aside]
    added: Mask
    """whether it is a candidate for another reason than its BM25F"""

    @property
    def foreign(self) -> Mask:
        """[n_docs] whether it is read in another language than the query's."""
        return np.array([bool(aside.foreign) for aside in self.asides], dtype=bool)

    def take(self, order: Sequence[int]) -> CandidateTable:
        """The candidates at these places, in this order."""

        def taken(column: Any) -> Any:
            return [column[i] for i in order] if isinstance(column, list) else column[order]

        return CandidateTable(**{name: taken(getattr(self, name)) for name in self.__struct_fields__})


def joined(tables: Sequence[CandidateTable], limit: int) -> CandidateTable:
    """Candidates of several machines as one machine would have them: the best `limit`, and those added to them."""

    def columns(name: str) -> Any:
        parts = [getattr(table, name) for table in tables]
        return list(chain(*parts)) if isinstance(parts[0], list) else np.concatenate(parts)

    every = CandidateTable(**{name: columns(name) for name in CandidateTable.__struct_fields__})
    table = every.take(by_bm25f(every.rows, every.bm25f))
    return table.take(np.flatnonzero(table.added | (np.cumsum(~table.added) <= limit)).tolist())


def by_bm25f(rows: Sequence[DocumentRow], bm25f: FloatVector) -> list[int]:
    """Places of candidates by falling `bm25f` [n_docs], ties newest first, then by path: the same in every index."""
    scores = np.round(bm25f, DECIMALS).tolist()
    return sorted(range(len(rows)), key=lambda i: (-scores[i], -rows[i].modified, rows[i].path, rows[i].part))


def table_of(
    reading: Reading, catalogue: Catalogue, candidates: Candidates, closeness: Closeness | None,
    picks: Picks, terms: list[str], completions: list[str], *, now: float,
) -> CandidateTable:  # fmt: skip
    """All that this machine knows of the candidates that are still there, in BM25F order.

    `terms` and `completions` name the query to the pick memory.
    """
    rows = _rows(reading, catalogue, candidates)
    documents = [(row.path, row.part, row.type) for row in rows]
    usage = picks.usage(terms, documents, now=now, completions=completions)
    names = [_name_of(row.part or row.path) for row in rows]
    features = raw_features(
        reading.snapshot, candidates, usage, titles=[row.title for row in rows], names=names, now=now,
        meaning=meaning_feature(closeness, candidates, reading.snapshot) if closeness else None,
    )  # fmt: skip
    is_called = candidates.named > TITLE
    return CandidateTable(
        rows=rows, names=names, docs=candidates.docs, bm25f=candidates.bm25f, features=features,
        levels=evidence(candidates), named=candidates.named,
        missing_words=[() if i else words for words, i in zip(candidates.missing_words, is_called, strict=True)],
        as_typed=held_as_typed(candidates), chosen_before=usage.same_query > ONCE, marks=list(picks.marks(documents)),
        sketches=reading.snapshot.documents.take("sketch", candidates.docs),
        asides=_asides(reading, candidates, closeness) if closeness else [PLAIN] * len(rows),
        added=np.arange(len(rows)) >= candidates.n_best,
    ).take([i for i in by_bm25f(rows, candidates.bm25f) if rows[i].path])  # fmt: skip


def _rows(reading: Reading, catalogue: Catalogue, candidates: Candidates) -> list[DocumentRow]:
    """The catalogue's rows; a document removed since the commit was opened gets one without a path."""
    ids = reading.snapshot.documents["doc_id"][candidates.docs].tolist()
    known = catalogue.documents(ids)
    return [
        known.get(i) or DocumentRow(i, "", "", "(removed)", "text", "", "", (), 0.0, 0, "", "", 0, b"", ()) for i in ids
    ]


def held_as_typed(candidates: Candidates) -> Mask:
    """[n_docs] False for what holds only another form of the word, or only the pieces of an identifier.

    All True for a query of several words, where the form of one matters little.
    """
    held = np.ones(candidates.docs.size, dtype=bool)
    if len(candidates.concepts) == 1:
        held = held_as_written(candidates) & candidates.held[:, 0] & candidates.as_typed
    return held


def _asides(reading: Reading, candidates: Candidates, closeness: Closeness) -> list[Aside]:
    """[n_docs] what only meaning knows of the candidates: their passages and languages."""
    passages = passages_without_words(closeness, candidates, candidates.docs)
    foreign = languages_of(reading, closeness, candidates.docs)
    rare = passages.keys() | foreign.keys()
    return [
        Aside(passage=passages.get(i), foreign=foreign.get(i, "")) if i in rare else PLAIN
        for i in range(candidates.docs.size)
    ]


def with_threads(table: CandidateTable, catalogue: Catalogue) -> CandidateTable:
    """The table with the threads of its mails, so that the mails of a thread share a row."""
    mails = {row.doc_id: i for i, row in enumerate(table.rows) if row.type == "mail"}
    asides = list(table.asides)
    for doc_id, thread in catalogue.threads_of(mails).items() if mails else ():
        asides[mails[doc_id]] = structs.replace(asides[mails[doc_id]], thread=thread)
    return structs.replace(table, asides=asides)
