"""Baselines that learn a linear ranker from relevance labels, which no online method sees, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from foltr.arrays import FloatVector
from simulation.lambdarank import LambdaRank
from simulation.least_squares import LeastSquares
from simulation.queries import QuerySet
from simulation.ranksvm import RankSVM


class LabelRanker(Protocol):
    """A frozen dataclass whose fields are its settings."""

    def fit(self, train: QuerySet, rng: np.random.Generator) -> FloatVector:
        """The theta `[n_features]` of foltr.ranking.rankers.Linear."""


LABEL_RANKERS: dict[str, Callable[..., LabelRanker]] = {
    "least-squares": LeastSquares,
    "ranksvm": RankSVM,
    "lambdarank": LambdaRank,
}
