"""Pairs of documents of one query with different grades."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulation.queries import QuerySet

Rows = npt.NDArray[np.int64]


def label_pairs(data: QuerySet) -> tuple[Rows, Rows]:
    """The rows `[n_pairs]` of the better and of the worse document of every such pair, query by query."""
    better, worse = [], []
    for query in range(data.n_queries):
        first, grades = int(data.offsets[query]), data.grades[data.rows(query)]
        above, below = np.nonzero(grades[:, None] > grades[None, :])
        better.append(first + above)
        worse.append(first + below)
    return np.concatenate(better).astype(np.int64), np.concatenate(worse).astype(np.int64)
