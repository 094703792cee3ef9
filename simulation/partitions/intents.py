"""Document preferences, Type 1 of thesis Section 4.3: every client judges the same documents in its own way.

Intents differ in how many documents are relevant, so which of them a client has is drawn anew for every query:

    labels of client c for query q = label set pi_q(c),   pi_q a random permutation of the label sets

("re-balancing", Zhuang and Zuccon 2021). The published code draws pi_q from a generator seeded by query and repetition;
here it comes from the seed of the cell. Its IID condition is no partition: all clients have the data set's own grades,
the publishers' merged labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simulation.data.queries import QuerySet
from simulation.errors import PresetError
from simulation.partitions import PartitionSettings


class Intents(PartitionSettings, frozen=True, tag="intents"):
    """All queries to everybody, for each query with another label set."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """PresetError unless there are as many label sets as clients."""
        sets = np.empty((0, 0)) if queries.label_sets is None else queries.label_sets
        if len(sets) != n_clients:
            raise PresetError(f"wanted {n_clients} label sets, one for each client, got {len(sets)}")
        chosen = rng.permuted(np.tile(np.arange(n_clients), (queries.n_queries, 1)), axis=1)
        by_document = np.repeat(chosen, np.diff(queries.offsets), axis=0)
        rows = np.arange(len(queries.grades))
        return [replace(queries, grades=sets[by_document[:, client], rows]) for client in range(n_clients)]
