"""What every partition is: settings, and how it shares out queries among clients.

IID, every client draws from all queries: that needs no partition, or "all". A share is a set of queries of its own:
some of the queries, some documents of each, or all of them with other labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from simulation.data.queries import QuerySet


class PartitionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """What the settings of all partitions are: strict records that name themselves in the field `kind`."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """The share of every client, in their order, the same for the same state of `rng`; () where all have the whole.

        PresetError says what was wanted and what came where the queries or clients are not enough; the caller adds
        the key of the preset and the data set.
        """
        raise NotImplementedError
