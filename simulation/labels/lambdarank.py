"""Linear LambdaRank (Burges, Ragno and Le, NIPS 2006; Burges, MSR-TR-2010-82, Section 4).

    w_ij      = |change of nDCG@k if i and j changed places|         for i better than j, s = theta . x
    lambda_ij = w_ij / (1 + e^(s_i - s_j)) / sum over the query's pairs of w
    theta <- theta + eta_t * sum over the query's pairs of lambda_ij (x_i - x_j),    eta_t = eta (1 - t / epochs)

query by query in a new random order each epoch t. The ranking that exchanges are measured in is that of the present
scores, equal ones in the order of the data.

One learning rate fits all data sets, because a step does not depend on how much of anything there is. It is a mean over
pairs; the sum as printed grows with the length of the list (LightGBM's lambdarank_norm is there for the same reason).
While learning, features are centred and have standard deviation 1 / sqrt(n_features), so that a document has a mean
squared length of 1, however many features it has; theta is for the features as they are. The rate falls to 0, else
theta would go on wandering by as much as one query moves it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import LARGEST, dots, weighted_sum
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.ranking.metrics import discounts, gains
from simulation.batched import compiled
from simulation.batched.simd_sums import exp
from simulation.data.queries import QuerySet


@dataclass(frozen=True, slots=True)
class LambdaRank:
    """Linear LambdaRank; ValueRangeError for a setting that is not positive."""

    learning_rate: float = 0.1
    """eta, of the first epoch"""
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
        scale = _scale(x)
        x = (x - x.mean(axis=0)) * scale
        queries = [(x[rows], train.grades[rows]) for rows in map(train.rows, range(train.n_queries))]
        some = [(features, grades) for features, grades in queries if grades.min() < grades.max()]
        theta = np.zeros(train.n_features)
        for epoch in range(self.epochs):
            rate = self.learning_rate * (1.0 - epoch / self.epochs)
            for query in rng.permutation(len(some)):
                features, grades = some[query]
                theta += rate * (weighted_sum(lambdas(dots(features, theta), grades, k=self.k), features))
        weights: FloatVector = theta * scale
        return weights


def _scale(x: FloatMatrix) -> FloatVector:
    """What makes documents `[n_docs, n_features]` have a mean squared length of 1: by feature, 0 for constants."""
    spread = x.std(axis=0)
    varying = spread > 0
    scale: FloatVector = np.divide(1.0, spread * np.sqrt(varying.sum()), out=np.zeros_like(spread), where=varying)
    return scale


def lambdas(scores: FloatVector, grades: npt.NDArray[np.int8], *, k: int) -> FloatVector:
    """By how much each document of a query should rise `[n_docs]`: sums of lambda_ij, adding up to 0.

    No document rises or falls by more than 1. Zeros where no exchange would change anything.
    """
    worth = gains(grades)
    discount = np.zeros(len(grades))
    cut = min(k, len(grades))
    discount[:cut] = discounts(cut)
    best = dots(np.sort(worth)[::-1], discount)
    if best == 0.0:
        return np.zeros(len(grades))
    place = np.empty(len(grades), dtype=np.int64)
    place[np.argsort(-scores, kind="stable")] = np.arange(len(grades))
    means: FloatVector = _pair_means(scores, worth / best, discount[place])
    return means


@compiled()
def _pair_means(scores: FloatVector, worth: FloatVector, discount: FloatVector) -> FloatVector:
    """Means over pairs; `discount` is that of the place where each document now stands."""
    rise, total = np.zeros(len(scores)), 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if worth[i] > worth[j]:
                change = abs((worth[i] - worth[j]) * (discount[i] - discount[j]))
                total += change
                pull = change / (1.0 + exp(min(scores[i] - scores[j], LARGEST)))
                rise[i] += pull
                rise[j] -= pull
    return rise / total if total > 0.0 else rise
