"""From ranked candidates to the hits of a page: orders, collapsed copies, files that are gone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.results import FloatMatrix, Hit
from indexer.catalogue import DocumentRow

Order = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Candidates in BM25F order, with what is needed to show and to learn from them."""

    rows: Sequence[DocumentRow]
    """[n_docs]"""
    features: FloatMatrix
    """[n_docs, n_features]"""
    scores: npt.NDArray[np.float64]
    """[n_docs] the user's ranker"""


def without_copies(rows: Sequence[DocumentRow], order: Sequence[int]) -> dict[int, list[int]]:
    """The candidates to show, in order, each with the later ones that have the same content."""
    first: dict[bytes, int] = {}
    shown: dict[int, list[int]] = {}
    for i in order:
        leader = first.setdefault(rows[i].content_hash, i) if rows[i].n_words else i
        if leader == i:
            shown[i] = []
        else:
            shown[leader].append(i)
    return shown


def sort_rows(rows: Sequence[DocumentRow], order: str) -> list[int]:
    """Candidates by `modified` (newest first) or `name`."""
    indices = range(len(rows))
    if order == "modified":
        return sorted(indices, key=lambda i: -rows[i].modified)
    return sorted(indices, key=lambda i: (os.path.basename(rows[i].path).casefold(), rows[i].path, rows[i].part))


def make_hits(ranked: Ranked, shown: Mapping[int, Sequence[int]], bm25_rank: Mapping[int, int]) -> tuple[Hit, ...]:
    """One hit for each candidate that is shown; `bm25_rank` counts from 1."""
    return tuple(
        _hit(ranked, i, rank, bm25_rank[i], copies=tuple(ranked.rows[j].path for j in copies))
        for rank, (i, copies) in enumerate(shown.items(), start=1)
    )


def _hit(ranked: Ranked, i: int, rank: int, bm25_rank: int, *, copies: tuple[str, ...]) -> Hit:
    row = ranked.rows[i]
    return Hit(
        rank=rank, doc_id=row.doc_id, path=row.path, part=row.part, title=row.title, type=row.type, author=row.author,
        modified=row.modified, size=row.size, truncated=row.truncated, score=float(ranked.scores[i]),
        bm25_rank=bm25_rank, copies=copies, missing=not os.path.lexists(row.path),
    )  # fmt: skip
