"""Queries dealt out, those of some clients with labels turned over: what they teach can be told from all else.

The relevancy reset of the study of 2025 (Tao et al., SIGIR), after its published program: the documents of a query, in
the order of their grades, get new ones, the best the lowest. With three grades the first fifth gets 0, what follows up
to the half 1, the rest 2; with others each grade gets as many, the last what is left. There it is done to the half of
these clients' queries on which the untrained ranker has the higher loss, but that loss is near ln 10 for all; here all
queries are reset. A ranker that has forgotten these clients ranks their queries badly by their labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simulation.data.queries import QuerySet
from simulation.errors import PresetError
from simulation.partitions import PartitionSettings
from simulation.partitions.dealt import Dealt


class RelevancyReset(PartitionSettings, frozen=True, tag="relevancy-reset"):
    """At random, each query to one client; turned over for the last `clients`."""

    clients: int = 3

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """Hands of Dealt."""
        if not 0 <= self.clients <= n_clients:
            raise PresetError(f"federation.partition.clients: wanted 0 to {n_clients}, got {self.clients}")
        top_grade = max(1, int(queries.grades.max()))
        hands = list(Dealt().split(queries, n_clients, rng))
        for client in range(n_clients - self.clients, n_clients):
            hands[client] = _reset(hands[client], top_grade)
        return hands


def _reset(queries: QuerySet, top_grade: int) -> QuerySet:
    """The same queries with the labels turned over."""
    grades = np.empty_like(queries.grades)
    for query in range(queries.n_queries):
        rows = queries.rows(query)
        best_first = np.argsort(-queries.grades[rows].astype(np.int64), kind="stable")
        grades[rows][best_first] = turned_over(len(best_first), top_grade)
    return replace(queries, grades=grades)


def turned_over(n_docs: int, top_grade: int) -> npt.NDArray[np.int8]:
    """New grades `[n_docs]` for documents from the best to the worst."""
    step = int(n_docs / (top_grade + 1))
    ends = [int(n_docs * 0.2), int(n_docs * 0.5)] if top_grade == 2 else [step * n for n in range(1, top_grade + 1)]
    return np.searchsorted(ends, np.arange(n_docs), side="right").astype(np.int8)
