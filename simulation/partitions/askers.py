"""Clients who are real people: each holds what it asked itself, in order of time (AOL4FOLTR)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulation.data.queries import QuerySet, select
from simulation.errors import PresetError
from simulation.partitions import PartitionSettings


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
