"""Pairs of documents of one query with different grades."""

from __future__ import annotations

import numpy as np

from foltr.arrays import Int64Vector
from simulation.queries import QuerySet


def label_pairs(data: QuerySet) -> tuple[Int64Vector, Int64Vector]:
    """The rows `[n_pairs]` of the better and of the worse document of every such pair, query by query."""
    better, worse = [], []
    for query in range(data.n_queries):
        first, grades = int(data.offsets[query]), data.grades[data.rows(query)]
        above, below = np.nonzero(grades[:, None] > grades[None, :])
        better.append(first + above)
        worse.append(first + below)
    return np.concatenate(better).astype(np.int64), np.concatenate(worse).astype(np.int64)
