"""From ranked candidates to the hits of a page: orders, collapsed copies, files that are gone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.results import Hit
from foltr.arrays import FloatMatrix, FloatVector
from foltr.online.interleaving import FIRST, team_draft
from indexer.storage.catalogue import DocumentRow


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Candidates in BM25F order, with what is needed to show and to learn from them."""

    rows: Sequence[DocumentRow]
    """[n_docs]"""
    features: FloatMatrix
    """[n_docs, n_features]"""
    scores: FloatVector
    """[n_docs] the user's ranker"""
    has_words: bool = True
    """False for a query of conditions only: its documents stand newest first, and there is nothing to learn"""


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


def bm25_ranks(rows: Sequence[DocumentRow], scores: FloatVector) -> dict[int, int]:
    """Candidate -> its rank by BM25F `scores` [n_docs], copies collapsed, from 1."""
    ranks: dict[int, int] = {}
    order = np.argsort(-scores, kind="stable").tolist()
    for rank, (leader, copies) in enumerate(without_copies(rows, order).items(), start=1):
        ranks.update(dict.fromkeys((leader, *copies), rank))
    return ranks


def interleaved(
    shown: Mapping[int, list[int]], *, k: int, seed: int
) -> tuple[dict[int, list[int]], tuple[int, ...]]:
    """The first k places drafted in turns by the learned order and plain BM25F; and which of them placed each."""
    learned = list(shown)
    page = team_draft(learned, sorted(learned), k=k, rng=np.random.default_rng(seed))
    drafted = page.ranking.tolist()
    placed = set(drafted)
    rest = [i for i in learned if i not in placed]
    owners = (*page.owner.tolist(), *([FIRST] * len(rest)))
    return {i: shown[i] for i in (*drafted, *rest)}, owners


def make_hits(ranked: Ranked, shown: Mapping[int, Sequence[int]], bm25_rank: Mapping[int, int]) -> tuple[Hit, ...]:
    """One hit for each candidate that is shown; `bm25_rank` counts from 1."""
    return tuple(
        make_hit(
            ranked.rows[i], rank, score=float(ranked.scores[i]), bm25_rank=bm25_rank[i],
            copies=tuple(ranked.rows[j].path for j in copies),
        )
        for rank, (i, copies) in enumerate(shown.items(), start=1)
    )  # fmt: skip


def make_hit(row: DocumentRow, rank: int, *, score: float, bm25_rank: int, copies: tuple[str, ...] = ()) -> Hit:
    """One result; looks whether its file is still there."""
    return Hit(
        rank=rank, doc_id=row.doc_id, path=row.path, part=row.part, title=row.title, type=row.type, author=row.author,
        modified=row.modified, size=row.size, truncated=row.truncated, score=score, bm25_rank=bm25_rank,
        copies=copies, missing=not os.path.lexists(row.path),
    )  # fmt: skip
