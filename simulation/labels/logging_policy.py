"""The production ranker of FedIPS: linear, trained on the labels of one query in a hundred.

Li and Ouyang (2021, Section 4) "sample 1% queries to train a linear ranker in a full-information manner", and leave out
queries whose documents all have the same grade. Neither loss nor effort is given; we descend on the hinge between
documents of different grades,

    sum over pairs of one query with grade g_i > g_j of  max(0, 1 - (s_i - s_j)),  as a mean over the pairs
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import dots, weighted_sum
from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.errors import ValueRangeError
from simulation.data.queries import QuerySet, select

SHARE = 0.01
EPOCHS, LEARNING_RATE = 50, 0.1


def logging_policy(train: QuerySet, rng: np.random.Generator, *, share: float = SHARE) -> FloatVector:
    """theta_0 `[n_features]`, from `share` of the queries with differing grades and at least one of them.

    ValueRangeError for a share outside (0, 1], or when no query has documents of different grades.
    """
    if not 0.0 < share <= 1.0:
        raise ValueRangeError(f"share must lie in (0, 1], not {share}")
    useful = differing(train)
    if not len(useful):
        raise ValueRangeError("no query has documents of different grades")
    sampled = rng.choice(useful, max(1, round(share * len(useful))), replace=False)
    theta = np.zeros(train.n_features)
    for _ in range(EPOCHS):
        for query in rng.permutation(sampled):
            rows = train.rows(int(query))
            features = train.features[rows].astype(np.float64)
            theta -= LEARNING_RATE * pair_gradient(theta, features, train.grades[rows])
    return theta


def differing(data: QuerySet) -> IntVector:
    """The queries that have documents of different grades, `[n]`."""
    starts = data.offsets[:-1]
    return np.flatnonzero(np.maximum.reduceat(data.grades, starts) > np.minimum.reduceat(data.grades, starts))


def without_indifferent(data: QuerySet) -> QuerySet:
    """The queries that have documents of different grades, which are all that the paper keeps.

    ValueRangeError when none has.
    """
    kept = differing(data)
    if not len(kept):
        raise ValueRangeError("no query has documents of different grades")
    return data if len(kept) == data.n_queries else select(data, kept)


def pair_gradient(theta: FloatVector, features: FloatMatrix, grades: npt.NDArray[np.int8]) -> FloatVector:
    """The gradient of the mean hinge over the pairs of one query by theta, `[n_features]`."""
    scores = dots(features, theta)
    better = grades[:, None] > grades
    violated = better & (scores[:, None] - scores < 1.0)
    weights = violated.sum(axis=0) - violated.sum(axis=1)
    return weighted_sum(weights / max(int(better.sum()), 1), features)
