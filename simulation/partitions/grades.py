"""Label distribution, Type 2 of thesis Section 4.4: a client holds documents of some grades alone ("#R" of them).

The combinations of `each` grades go to the clients in turn; a client's queries are those of which a document is left.
How the documents of a grade are divided among the clients that hold it, the thesis and its code say differently:

    pairs     at random and equally, without overlap (the thesis)
    overlap   all of them to every such client (the code as it is published)
    queries   queries are dealt out first, then each client keeps its grades (the code's other version)

With `each` = 1 a page has one grade. Then its nDCG is 1, or 0 for grade 0, whatever the ranker: the printed 1589.23 of
Table 4.3 is 4/5 of the largest possible sum, (1 - .9995^10000) / .0005, for five grades, and nothing is learned of it.

Data-sharing (Zhao et al. 2018; Section 4.4.3) gives some queries to everybody, whole. As in the code they are drawn
with replacement, taken from the clients' own documents, and no model is trained on them beforehand.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np

from foltr.arrays import BoolVector, Int64Vector
from simulation.data.queries import QuerySet, documents
from simulation.errors import PresetError
from simulation.partitions import PartitionSettings

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Grades(PartitionSettings, frozen=True, tag="grades"):
    """By grade, and a part of the queries to everybody."""

    each: Annotated[int, msgspec.Meta(ge=1)] = 1
    """grades of a client, #R"""
    divide: Literal["pairs", "overlap", "queries"] = "pairs"
    """how clients with a grade in common divide its documents"""
    shared_share: Share = 0.0
    """draws of shared queries, as a share of all queries; fewer are distinct, as the same one may be drawn again"""
    alpha: Share = 1.0
    """the share of the shared queries that the clients get, all the same ones"""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """PresetError unless each combination of grades has equally many clients, and every client a document."""
        grades_of = self._grades_of(int(queries.grades.max()) + 1, n_clients)
        owner = self._owner(queries, grades_of, rng)
        shared, received = self._shared(queries, rng)
        shares = []
        for client, grades in enumerate(grades_of):
            own = np.isin(queries.grades, grades) & ((owner == client) | (owner == _ALL)) & ~shared
            rows = np.flatnonzero(own | received)
            if not len(rows):
                held = " and ".join(map(str, grades))
                raise PresetError(f"wanted queries for each client, got none with grade {held} for client {client}")
            shares.append(documents(queries, rows))
        return shares

    def _grades_of(self, n_grades: int, n_clients: int) -> list[tuple[int, ...]]:
        combinations = list(itertools.combinations(range(n_grades), self.each))
        if not combinations or n_clients % len(combinations):
            wanted = f"{len(combinations)} clients or a multiple, one for every {self.each} of {n_grades} grades"
            raise PresetError(f"wanted {wanted}, got {n_clients}")
        return combinations * (n_clients // len(combinations))

    def _owner(self, queries: QuerySet, grades_of: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Int64Vector:
        """The only client that may hold a document, or _ALL, `[n_docs]`."""
        owner = np.full(len(queries.grades), _ALL, dtype=np.int64)
        if self.divide == "queries":
            dealt = rng.permutation(np.arange(queries.n_queries) % len(grades_of))
            return np.repeat(dealt, np.diff(queries.offsets))
        if self.divide == "pairs":
            for grade in range(int(queries.grades.max()) + 1):
                rows = rng.permutation(np.flatnonzero(queries.grades == grade))
                owners = [client for client, grades in enumerate(grades_of) if grade in grades]
                owner[rows] = np.resize(owners, len(rows))
        return owner

    def _shared(self, queries: QuerySet, rng: np.random.Generator) -> tuple[BoolVector, BoolVector]:
        """Which documents are taken out for all, and which of them the clients get, `[n_docs]` each."""
        drawn = np.unique(rng.integers(queries.n_queries, size=round(self.shared_share * queries.n_queries)))
        sent = rng.permutation(drawn)[: round(self.alpha * len(drawn))]
        every, sizes = np.arange(queries.n_queries), np.diff(queries.offsets)
        return np.repeat(np.isin(every, drawn), sizes), np.repeat(np.isin(every, sent), sizes)


_ALL = -1
