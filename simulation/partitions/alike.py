"""No difference: every client asks any query. IID, by a name that a study can sweep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulation.data.queries import QuerySet
from simulation.partitions.settings import PartitionSettings


class Alike(PartitionSettings, frozen=True, tag="all"):
    """Everything to everybody."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """No shares: all clients have the whole."""
        return ()
