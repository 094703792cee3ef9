"""Baselines that learn a linear ranker from relevance labels, which no online method sees, by name.

Least squares on grades is the baseline called MSE in FOLtR-ES, Section 5; `simulation.ranksvm` is its SVMRank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from foltr.arrays import FloatVector
from simulation.data.queries import QuerySet
from simulation.lambdarank import LambdaRank
from simulation.ranksvm import RankSVM


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """theta = argmin over theta, b of sum over all documents of (theta . x_d + b - grade_d)^2, without regularisation.

    b orders nothing and is forgotten, as in the published program (scikit-learn's Ridge with alpha 0 and an intercept).
    Where features are linearly dependent, theta is the shortest of the solutions. Those of MQ2008 are; there the
    published program's theta has a length of 10^14, made of rounding errors, and is no least-squares solution.
    """

    draws_nothing: ClassVar[bool] = True

    def fit(self, train: QuerySet, rng: np.random.Generator) -> FloatVector:
        """The theta `[n_features]`; draws nothing."""
        x = train.features.astype(np.float64)
        grades = train.grades.astype(np.float64)
        theta, *_ = np.linalg.lstsq(x - x.mean(axis=0), grades - grades.mean(), rcond=None)
        return np.asarray(theta, dtype=np.float64)


class LabelRanker(Protocol):
    """A frozen dataclass whose fields are its settings; `draws_nothing` says that all seeds give the same."""

    def fit(self, train: QuerySet, rng: np.random.Generator) -> FloatVector:
        """The theta `[n_features]` of foltr.ranking.rankers.Linear."""


LABEL_RANKERS: dict[str, Callable[..., LabelRanker]] = {
    "least-squares": LeastSquares,
    "ranksvm": RankSVM,
    "lambdarank": LambdaRank,
}


def draws_nothing(name: str) -> bool:
    """Whether a method of that name gives the same ranker for all seeds."""
    return getattr(LABEL_RANKERS.get(name), "draws_nothing", False)
