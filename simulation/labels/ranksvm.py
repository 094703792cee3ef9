"""Linear ranking SVM (Joachims, KDD 2002 and 2006): the baseline SVMRank of FOLtR-ES, Section 5.

    minimise  1/2 ||theta||^2 + C / n_queries * sum over pairs (i better than j) of hinge(theta . (x_i - x_j))

    hinge(z) = max(0, 1 - z),      smoothed: (1 + h - z)^2 / (4 h) where |1 - z| <= h

over all pairs of documents of one query with different grades. C has the meaning it has in SVM^rank with its default
loss, the number of swapped pairs: that of SVM^light times the number of queries.

The paper used SVM^rank, a cutting-plane method. Here Newton's method minimises the smoothed objective (Chapelle, Neural
Computation 2007, Section 2 and Eq. 2.11; Chapelle and Keerthi 2010 for pairs), with ever smaller h, each time from
where the last one ended. At the final h the minimum is that of SVM^rank but for C / n_queries * h / 4 for each pair on
the edge of the margin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from foltr.arithmetic import dots, weighted_sum
from foltr.arrays import FloatMatrix, FloatVector, Int64Vector
from foltr.errors import ValueRangeError
from simulation.batched import compiled
from simulation.data.queries import QuerySet
from simulation.labels.linear_systems import positive_solution


def label_pairs(data: QuerySet) -> tuple[Int64Vector, Int64Vector]:
    """The rows `[n_pairs]` of the better and of the worse document of every such pair, query by query."""
    better, worse = [], []
    for query in range(data.n_queries):
        first, grades = int(data.offsets[query]), data.grades[data.rows(query)]
        above, below = np.nonzero(grades[:, None] > grades[None, :])
        better.append(first + above)
        worse.append(first + below)
    return np.concatenate(better).astype(np.int64), np.concatenate(worse).astype(np.int64)


_SMOOTHINGS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""the values of h"""
_NEWTON_STEPS = 100
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class RankSVM:
    """A ranking SVM; ValueRangeError for a setting that is not positive."""

    c: float = 1000.0
    """C of SVM^rank; with the paper's 10^3 it may overfit, as is wanted there (Section 5)"""
    tolerance: float = 1e-8
    """how much of the objective one Newton step must still gain"""

    def __post_init__(self) -> None:
        if not (self.c > 0 and self.tolerance > 0):
            raise ValueRangeError(f"c and tolerance must be positive, not {self.c} and {self.tolerance}")

    def fit(self, train: QuerySet, rng: np.random.Generator) -> FloatVector:
        """The theta `[n_features]`, zeros without a pair; draws nothing."""
        problem = RankingProblem.of(train, c=self.c)
        theta = np.zeros(train.n_features)
        for h in _SMOOTHINGS:
            for _ in range(_NEWTON_STEPS):
                before = problem.objective(theta, h)
                theta, after = _newton_step(problem, theta, h, before)
                if before - after <= self.tolerance * before:
                    break
        return theta


class RankingProblem(Struct, frozen=True, eq=False):
    """What a ranking SVM minimises."""

    features: FloatMatrix
    """[n_docs, n_features]"""
    better: Int64Vector
    """[n_pairs]"""
    worse: Int64Vector
    """[n_pairs]"""
    weight: float
    """C / n_queries"""

    @classmethod
    def of(cls, train: QuerySet, *, c: float) -> RankingProblem:
        return cls(train.features.astype(np.float64), *label_pairs(train), c / train.n_queries)

    def objective(self, theta: FloatVector, h: float = 0.0) -> float:
        """The objective at theta `[n_features]`, smoothed by h; 0 is the hinge itself."""
        scores = dots(self.features, theta)
        z = scores[self.better] - scores[self.worse]
        loss = np.maximum(0.0, 1.0 - z)
        if h > 0.0:
            edge = np.abs(1.0 - z) <= h
            loss[edge] = (1.0 + h - z[edge]) ** 2 / (4.0 * h)
        return float(0.5 * dots(theta, theta) + self.weight * loss.sum())

    def slope_and_curvature(self, theta: FloatVector, h: float) -> tuple[FloatVector, FloatMatrix]:
        """Gradient `[n_features]` and Hessian `[n_features, n_features]` of the objective smoothed by h > 0."""
        rise, curvature = _pair_terms(self.features, self.better, self.worse, dots(self.features, theta), h)
        slope = theta - self.weight * weighted_sum(rise, self.features)
        return slope, np.eye(len(theta)) + self.weight * curvature


def _newton_step(problem: RankingProblem, theta: FloatVector, h: float, before: float) -> tuple[FloatVector, float]:
    """Theta and objective after a Newton step, halved until the objective falls; the same ones where it never does."""
    slope, curvature = problem.slope_and_curvature(theta, h)
    step = positive_solution(curvature, slope)
    for _ in range(_HALVINGS):
        after = problem.objective(theta - step, h)
        if after < before:
            return theta - step, after
        step = step / 2.0
    return theta, before


@compiled()
def _pair_terms(
    features: FloatMatrix, better: Int64Vector, worse: Int64Vector, scores: FloatVector, h: float
) -> tuple[FloatVector, FloatMatrix]:
    """By how much the loss falls with each document's score `[n_docs]`, and the loss's Hessian by theta."""
    n_features = features.shape[1]
    rise = np.zeros(len(features))
    curvature = np.zeros((n_features, n_features))
    for pair in range(len(better)):
        i, j = better[pair], worse[pair]
        z = scores[i] - scores[j]
        if z > 1.0 + h:
            continue
        pull = min(1.0, (1.0 + h - z) / (2.0 * h))
        rise[i] += pull
        rise[j] -= pull
        if z >= 1.0 - h:
            for a in range(n_features):
                along = (features[i, a] - features[j, a]) / (2.0 * h)
                for b in range(n_features):
                    curvature[a, b] += along * (features[i, b] - features[j, b])
    return rise, curvature
