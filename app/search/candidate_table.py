"""Candidates of one query with all that is known of each: of this machine, and of others where those were asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from msgspec import Struct

from app.learning.learner import DECIMALS
from foltr.arrays import FloatMatrix, FloatVector
from indexer.postings import Bytes, Ints, Mask
from indexer.storage.catalogue import DocumentRow
from indexer.storage.mail_threads import Thread


class Aside(Struct, frozen=True):
    """What is known of a few candidates."""

    machine: str = ""
    """the other machine of this person that holds it; "" for this one"""
    passage: tuple[int, int] | None = None
    """by which it was found, where it holds none of the words"""
    foreign: str = ""
    """the name of its language, where it is read in another one than the query's"""
    thread: Thread | None = None
    """of a mail, where threads share a row"""
    day: float | None = None
    """the day that its text tells; of other machines' alone"""
    code: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """what `indexer.retrieval.code.code_counts` counts; of other machines' alone"""


PLAIN = Aside()


class CandidateTable(Struct, frozen=True, eq=False):
    """Candidates with all that is known of each; every field has one entry a candidate [n_docs]."""

    rows: list[DocumentRow]
    names: list[str]
    """of their files; in an archive their own"""
    docs: Ints
    """their numbers in the snapshot; -1 for those of other machines"""
    bm25f: FloatVector
    features: FloatMatrix
    """[n_docs, n_features]"""
    levels: Ints
    """[n_docs, n_concepts] as `alike.evidence` gives them"""
    missing_words: list[tuple[str, ...]]
    """words of a plain query that each does not hold"""
    as_typed: Mask
    """whether it holds the word of a query of one word as that is typed; True for all where none or all do"""
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
    """a candidate for something else than its BM25F"""

    def take(self, order: Sequence[int]) -> CandidateTable:
        """The candidates of these places, in this order."""

        def taken(column: Any) -> Any:
            return [column[i] for i in order] if isinstance(column, list) else column[order]

        return CandidateTable(**{name: taken(getattr(self, name)) for name in self.__struct_fields__})


def joined(tables: Sequence[CandidateTable], limit: int) -> CandidateTable:
    """The candidates that one machine would have of what several hold: the best `limit`, and those that were added."""

    def columns(name: str) -> Any:
        parts = [getattr(table, name) for table in tables]
        return list(chain(*parts)) if isinstance(parts[0], list) else np.concatenate(parts)

    every = CandidateTable(**{name: columns(name) for name in CandidateTable.__struct_fields__})
    table = every.take(by_bm25f(every.rows, every.bm25f))
    return table.take(np.flatnonzero(table.added | (np.cumsum(~table.added) <= limit)).tolist())


def by_bm25f(rows: Sequence[DocumentRow], bm25f: FloatVector) -> list[int]:
    """Candidates of highest `bm25f` [n_docs] first; equal ones newest first, then by path: in any index."""
    scores = np.round(bm25f, DECIMALS).tolist()
    return sorted(range(len(rows)), key=lambda i: (-scores[i], -rows[i].modified, rows[i].path, rows[i].part))
