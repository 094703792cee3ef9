"""What is measured without an online method: a measurement stands in [method] where a method stands.

A measurement is a frozen record of settings, the keys of [method] that are not `name`, `ranker`, `hidden` and `label`;
simulation.studies.registry has them by name. It gets what every cell has, and gives rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from msgspec import Struct

from foltr.ranking.rankers import Ranker
from simulation.data.queries import Fold
from simulation.rounds.federation import Population

if TYPE_CHECKING:
    from simulation.cells.evaluation import Judged  # which loads the compiler, and `--list` does not


class Ground(Struct, frozen=True, eq=False):
    """What a cell has, whatever is done with it."""

    fold: Fold
    """`train` holds the queries that users ask"""
    ranker: Ranker
    population: Population
    judged: Judged
    """the held-out queries"""
    rng: np.random.Generator
    """of the cell's seed and fold"""
    n_rounds: int = 1
    """[federation] rounds, for what is measured over several"""


class Measured(Struct, frozen=True):
    """One row of results."""

    metrics: Mapping[str, float]
    """by their names in simulation.run_folder.METRICS"""
    step: int = 0
    """stands where a round stands"""
    interactions: int = 0


class Measurement(Protocol):
    """A record of settings."""

    def measure(self, ground: Ground) -> Iterator[Measured]:
        """The rows, as they come."""
