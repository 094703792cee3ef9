"""Bringing features to one scale, query by query, before anything learns from them.

Published programs differ (HarrieO's PDGD, ielab's FPDGD): both scale with the minimum and maximum of the query's own
candidates, test queries with their own too; a query with one document becomes zeros in the first and stays raw in the
second, where it can then outweigh all others. We follow the first unless asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from foltr.arrays import FloatArray, Int64Vector
from simulation.errors import DatasetError
from simulation.queries import QuerySet

OneDocument = Literal["zero", "raw"]


def normalise_queries(data: QuerySet, how: str, *, one_document: OneDocument = "zero") -> QuerySet:
    """`data` with its features on another scale, computed in float64 and kept in float32.

    how           one of NORMALISATIONS; DatasetError for another
    one_document  what min-max makes of a query with a single document: "zero", or "raw" for the values as they are
                  (behind the logarithm where there is one)
    """
    if how not in NORMALISATIONS:
        raise DatasetError(f"normalisation must be one of {', '.join(NORMALISATIONS)}, not {how!r}")
    if one_document not in ("zero", "raw"):
        raise DatasetError(f"one_document must be 'zero' or 'raw', not {one_document!r}")
    transform = NORMALISATIONS[how]
    if transform is None:
        return data
    scaled = np.empty(data.features.shape, dtype=np.float32)
    for first in range(0, data.n_queries, _AT_ONCE):
        offsets = data.offsets[first : first + _AT_ONCE + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        values = transform(data.features[rows].astype(np.float64))
        scaled[rows] = min_max(values, offsets - offsets[0], one_document=one_document)
    return replace(data, features=scaled)


def min_max(features: FloatArray, offsets: Int64Vector, *, one_document: OneDocument = "zero") -> FloatArray:
    """Each feature from 0 to 1 within each query: x' = (x - min) / (max - min).

    features  [n_docs, n_features], finite
    offsets   [n_queries + 1] where queries begin
    A feature that is the same for all documents of a query becomes 0 in that query.
    """
    lowest = np.minimum.reduceat(features, offsets[:-1], axis=0)
    span = np.maximum.reduceat(features, offsets[:-1], axis=0) - lowest
    counts = np.diff(offsets)
    if one_document == "raw":
        lowest[counts == 1], span[counts == 1] = 0.0, 1.0
    moved = features - np.repeat(lowest, counts, axis=0)
    span = np.repeat(span, counts, axis=0)
    scaled: FloatArray = np.divide(moved, span, out=np.zeros_like(moved), where=span > 0)
    return scaled


def signed_log(features: FloatArray) -> FloatArray:
    """sign(x) log(1 + |x|): log(1 + x) for counts that span orders of magnitude, its mirror image below 0.

    Order, sign and 0 stay, so rankings by one feature stay; a value within [0, 1] hardly moves.
    """
    return np.copysign(np.log1p(np.abs(features)), features)


def _as_it_is(features: FloatArray) -> FloatArray:
    return features


NORMALISATIONS: dict[str, Callable[[FloatArray], FloatArray] | None] = {
    "none": None,
    "min-max": _as_it_is,
    "log-min-max": signed_log,
}
"""What happens to values before min-max; None where nothing happens at all."""

_AT_ONCE = 256
"""queries in one step: bounds the memory that the float64 values need"""
