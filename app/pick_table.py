"""The picks of one device in memory, arranged for the questions that every query asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.pick_keys import QueryKey, folder_of, packed, unpacked
from app.store import Store
from foltr.arrays import FloatVector

HALF_LIFE = 60 * 86400.0
"""seconds after which half of a pick is left"""


class Cell(NamedTuple):
    """A number of picks that fades: `n` is what was left at time `last`, the time of the newest one."""

    n: float
    last: float


class PickedDocument(NamedTuple):
    """One row of picked_documents; every name is a keyed hash."""

    document: bytes
    path: bytes
    part: bytes
    type: bytes
    n_opened: float
    last: float


class Pick(NamedTuple):
    """One row of picks."""

    document: bytes
    query: bytes
    n_picks: float
    last: float


def decayed(cell: Cell | None, now: float) -> float:
    """What is left of it now; 0 of nothing. A clock that was set back does not make it grow."""
    return 0.0 if cell is None else cell.n * float(2.0 ** (-max(now - cell.last, 0.0) / HALF_LIFE))


def strength(n: npt.ArrayLike, *, half: float) -> FloatVector:
    """n^4 / (n^4 + half^4): next to nothing for one pick, one half at `half`, below 1 always."""
    steep = np.asarray(n, dtype=np.float64) ** 4
    return np.asarray(steep / (steep + half**4))


def merged(one: Cell | None, other: Cell) -> Cell:
    """Two faded numbers as one, at the later of their times."""
    if one is None:
        return other
    last = max(one.last, other.last)
    return Cell(decayed(one, last) + decayed(other, last), last)


class PickTable:
    """All picks by document, query, term, folder and type."""

    def __init__(self, rows: Iterable[PickedDocument], picks: Iterable[Pick] = ()) -> None:
        self.rows = {row.document: row for row in rows}
        self.documents: dict[bytes, Cell] = {}
        self.by_folder: dict[bytes, Cell] = {}
        self.by_parent: dict[bytes, Cell] = {}
        """by the folder that holds the picked document's folder"""
        self.by_type: dict[bytes, Cell] = {}
        self.total: Cell | None = None
        self.by_query: dict[bytes, dict[bytes, Cell]] = {}
        self._by_term: dict[bytes, set[bytes]] = {}
        for row in self.rows.values():
            self._add_document(row)
        for pick in picks:
            self._add_pick(pick)

    @classmethod
    def read(cls, store: Store) -> PickTable:
        documents = store.rows("SELECT document, path, part, type, n_opened, last FROM picked_documents")
        picks = store.rows("SELECT document, query, n_picks, last FROM picks")
        return cls(map(PickedDocument._make, documents), map(Pick._make, picks))

    def strength_for_similar(
        self, query: QueryKey, documents: Sequence[bytes], now: float, *, half: float
    ) -> dict[bytes, float]:
        """Of each document, the strength of its picks for each other query times the squared share of common terms.

        The share is Jaccard's; the sum may exceed 1. Each query counts by strength, not by number of picks, so that
        one that is asked every day does not spread to all that share a word with it.
        """
        found: dict[bytes, float] = {}
        shared = Counter(other for term in query for other in self._by_term.get(term, ()))
        shared.pop(packed(query), None)
        wanted = set(documents)
        for other, n_shared in shared.items():
            likeness = n_shared / (len(query) + len(unpacked(other)) - n_shared)
            cells = self.by_query[other]
            for document in cells.keys() & wanted:
                own = strength(decayed(cells[document], now), half=half)
                found[document] = found.get(document, 0.0) + likeness**2 * float(own)
        return found

    def _add_document(self, row: PickedDocument) -> None:
        cell, folder = Cell(row.n_opened, row.last), folder_of(row.path)
        self.documents[row.document] = cell
        self.total = merged(self.total, cell)
        for table, name in ((self.by_folder, folder), (self.by_parent, folder_of(folder)), (self.by_type, row.type)):
            table[name] = merged(table.get(name), cell)

    def _add_pick(self, pick: Pick) -> None:
        self.by_query.setdefault(pick.query, {})[pick.document] = Cell(pick.n_picks, pick.last)
        for term in unpacked(pick.query):
            self._by_term.setdefault(term, set()).add(pick.query)
