"""A partition: neighbours in the file go to the same client, as where a collection was gathered from several.

foltr-search --simulate sample --with examples/in_order.py --set federation.partition.kind=in-order --clients 5

A share is a set of queries of its own: some queries, some documents of each, or other labels.
"""

import numpy as np

from simulation import PartitionSettings, PresetError, select


class InOrder(PartitionSettings, frozen=True, tag="in-order"):
    """The first queries to the first client, and so on."""

    def split(self, queries, n_clients, rng):
        if queries.n_queries < n_clients:
            raise PresetError(f"wanted a query for each of {n_clients} clients, got {queries.n_queries}")
        return [select(queries, part) for part in np.array_split(np.arange(queries.n_queries), n_clients)]


PARTITIONS = {"in-order": InOrder}
