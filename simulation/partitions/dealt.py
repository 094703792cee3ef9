"""Whole queries, each with one client: dealt out like cards, or by their asker (AOL4FOLTR); or all with all clients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulation.data.queries import QuerySet, select
from simulation.errors import PresetError
from simulation.partitions import PartitionSettings


class Dealt(PartitionSettings, frozen=True, tag="queries"):
    """At random, each query to one client."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """As many queries to each as they go; the first clients have the one more."""
        if queries.n_queries < n_clients:
            raise PresetError(f"wanted a query for each of {n_clients} clients, got {queries.n_queries}")
        hands = np.array_split(rng.permutation(queries.n_queries), n_clients)
        return [select(queries, np.sort(hand)) for hand in hands]


class Alike(PartitionSettings, frozen=True, tag="all"):
    """Everything to everybody."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """No shares: all clients have the whole."""
        return ()


class ByAsker(PartitionSettings, frozen=True, tag="users"):
    """Every user's own queries; of a data set that says who asked."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """The users in the order of their first query; draws nothing."""
        if not queries.askers:
            raise PresetError('federation.partition: kind = "users" needs a data set that says who asked, as aol4foltr')
        asked: dict[str, list[int]] = {}
        for query, asker in enumerate(queries.askers):
            asked.setdefault(asker, []).append(query)
        if len(asked) != n_clients:
            raise PresetError(
                f"federation.clients: {len(asked)} users asked, one client each is wanted, got {n_clients}"
            )
        return [select(queries, own) for own in asked.values()]
