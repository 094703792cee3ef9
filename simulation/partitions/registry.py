"""All partitions by name: {"kind": NAME, ...}, NAME being a key of PARTITIONS."""

from __future__ import annotations

from simulation.partitions import PartitionSettings
from simulation.partitions.dealt import Alike, ByAsker, Dealt
from simulation.partitions.grades import Grades
from simulation.partitions.intents import Intents
from simulation.partitions.relevancy_reset import RelevancyReset

PARTITIONS: dict[str, type[PartitionSettings]] = {
    "all": Alike,
    "queries": Dealt,
    "users": ByAsker,
    "intents": Intents,
    "grades": Grades,
    "relevancy-reset": RelevancyReset,
}
