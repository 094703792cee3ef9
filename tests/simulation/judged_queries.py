"""Small judged queries, by hand and at random."""

from __future__ import annotations

import numpy as np

from simulation.data.queries import QuerySet


def queries(features: list[list[float]] | np.ndarray, grades: list[int], *sizes: int) -> QuerySet:
    """Documents cut into queries of these sizes."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x = np.array(features, dtype=np.float32)
    return QuerySet(x, np.array(grades, dtype=np.int8), offsets, tuple(map(str, range(len(sizes)))))


def random_queries(seed: int = 0) -> QuerySet:
    """Twelve queries of 2 to 9 documents with four features, the first of which has much to do with the grade."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 10, 12).tolist()
    grades = rng.integers(0, 3, sum(sizes))
    features = rng.random((sum(sizes), 4))
    features[:, 0] += 0.4 * grades
    return queries(features, grades.tolist(), *sizes)
