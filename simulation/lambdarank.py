"""Linear LambdaRank (Burges, Ragno and Le, NIPS 2006; Burges, MSR-TR-2010-82, Section 4).

    lambda_ij = |change of nDCG@k if i and j changed places| / (1 + e^(s_i - s_j))    for i better than j, s = theta . x
    theta <- theta + eta * sum over the query's pairs of lambda_ij (x_i - x_j)

query by query in a new random order each epoch. The ranking that exchanges are measured in is that of the present
scores, equal ones in the order of the data. Features are divided by their standard deviation while learning, so that
one learning rate fits them all; theta is for the features as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from foltr.ranking.metrics import discounts, gains
from simulation.data.queries import QuerySet


@dataclass(frozen=True, slots=True)
class LambdaRank:
    """Linear LambdaRank; ValueRangeError for a setting that is not positive."""

    learning_rate: float = 0.001
    """eta"""
    epochs: int = 100
    k: int = 10
    """the cutoff of nDCG"""

    def __post_init__(self) -> None:
        if not (self.learning_rate > 0 and self.epochs > 0 and self.k > 0):
            raise ValueRangeError(
                f"learning_rate, epochs and k must be positive: {self.learning_rate}, {self.epochs}, {self.k}"
            )

    def fit(self, train: QuerySet, rng: np.random.Generator) -> FloatVector:
        """The theta `[n_features]`; one permutation of the queries from `rng` for each epoch."""
        x = train.features.astype(np.float64)
        spread = x.std(axis=0)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        x = (x - x.mean(axis=0)) * scale
        queries = [(x[rows], train.grades[rows]) for rows in map(train.rows, range(train.n_queries))]
        some = [(features, grades) for features, grades in queries if grades.min() < grades.max()]
        theta = np.zeros(train.n_features)
        for _ in range(self.epochs):
            for query in rng.permutation(len(some)):
                features, grades = some[query]
                theta += self.learning_rate * (lambdas(features @ theta, grades, k=self.k) @ features)
        weights: FloatVector = theta * scale
        return weights


def lambdas(scores: FloatVector, grades: npt.NDArray[np.int8], *, k: int) -> FloatVector:
    """By how much each document of a query should rise `[n_docs]`: sums of lambda_ij, adding up to 0.

    Zeros where no document is relevant.
    """
    worth = gains(grades)
    discount = np.zeros(len(grades))
    cut = min(k, len(grades))
    discount[:cut] = discounts(cut)
    best = np.sort(worth)[::-1] @ discount
    if best == 0.0:
        return np.zeros(len(grades))
    place = np.empty(len(grades), dtype=np.int64)
    place[np.argsort(-scores, kind="stable")] = np.arange(len(grades))
    return _pair_sums(scores, worth / best, discount[place])


@njit(cache=True)
def _pair_sums(scores: FloatVector, worth: FloatVector, discount: FloatVector) -> FloatVector:
    """Sums over pairs; `discount` is that of the place where each document now stands."""
    rise = np.zeros(len(scores))
    for i in range(len(scores)):
        for j in range(len(scores)):
            if worth[i] > worth[j]:
                change = abs((worth[i] - worth[j]) * (discount[i] - discount[j]))
                pull = change / (1.0 + np.exp(scores[i] - scores[j]))
                rise[i] += pull
                rise[j] -= pull
    return rise
