"""Judged queries taken apart and put together: more columns, several sets as one, some queries of a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from foltr.arrays import Int64Vector
from simulation.queries import QuerySet


def widened(data: QuerySet, n_features: int) -> QuerySet:
    """`data` with columns of 0 up to `n_features`; the very same when it has as many."""
    missing = n_features - data.n_features
    if missing <= 0:
        return data
    return replace(data, features=np.pad(data.features, ((0, 0), (0, missing))))


def joined(parts: Sequence[QuerySet]) -> QuerySet:
    """Sets of equally many features as one, queries in order; a qid that occurs in two sets is two queries."""
    if len(parts) == 1:
        return parts[0]
    named = any(part.docids for part in parts)
    return QuerySet(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.grades for part in parts]),
        _offsets(np.concatenate([np.diff(part.offsets) for part in parts])),
        tuple(qid for part in parts for qid in part.qids),
        tuple(docid for part in parts for docid in part.docids or ("",) * len(part.grades)) if named else (),
    )


def selected(data: QuerySet, queries: Sequence[int] | npt.NDArray[np.integer]) -> QuerySet:
    """The queries with these numbers, at least one, in this order."""
    rows = [np.arange(data.offsets[query], data.offsets[query + 1]) for query in queries]
    chosen = np.concatenate(rows)
    return QuerySet(
        data.features[chosen],
        data.grades[chosen],
        _offsets(np.array([len(part) for part in rows])),
        tuple(data.qids[query] for query in queries),
        tuple(data.docids[row] for row in chosen) if data.docids else (),
    )


def _offsets(sizes: npt.NDArray[np.integer]) -> Int64Vector:
    """Where queries of these sizes begin, and the end."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
