"""All partitions by name: {"kind": NAME, ...}, NAME being a key of PARTITIONS."""

from __future__ import annotations

from simulation.partitions.askers import ByAsker
from simulation.partitions.dealt import Dealt
from simulation.partitions.settings import PartitionSettings

PARTITIONS: dict[str, type[PartitionSettings]] = {
    "queries": Dealt,
    "users": ByAsker,
}
