"""Judged queries in memory: one matrix of all documents, and where each query begins; scaled, joined, taken apart.

Features are brought to one scale query by query, before anything learns from them. Published programs differ
(HarrieO's PDGD, ielab's FPDGD): both scale with the minimum and maximum of the query's own candidates, test queries
with their own too; a query with one document becomes zeros in the first and stays raw in the second, where it can then
outweigh all others. We follow the first unless asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from foltr.arithmetic import log1p
from foltr.arrays import FloatArray, Int64Vector
from foltr.errors import ShapeError, ValueRangeError
from simulation.errors import DatasetError

_Number = TypeVar("_Number", bound=np.generic)


def locked(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """The same array for those who may read it but not write to it."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True, eq=False)
class QuerySet:
    """Queries with their candidate documents; ShapeError when the parts do not fit one another."""

    features: npt.NDArray[np.float32]
    """[n_docs, n_features], row by row in memory; may be memory-mapped and read-only"""
    grades: npt.NDArray[np.int8]
    """[n_docs] relevance, 0 is none"""
    offsets: Int64Vector
    """[n_queries + 1]: query q has the rows offsets[q] to offsets[q + 1] - 1"""
    qids: tuple[str, ...]
    """[n_queries] as the file names them"""
    docids: tuple[str, ...] = ()
    """[n_docs] where the comments name documents, else ()"""
    askers: tuple[str, ...] = ()
    """[n_queries] who asked each, where the data set is a log of searches, else ()"""
    label_sets: npt.NDArray[np.int8] | None = None
    """[n_label_sets, n_docs] what users with other intents would have as grades; None where nobody judged that"""

    def __post_init__(self) -> None:
        n_docs = len(self.grades)
        if self.features.ndim != 2 or len(self.features) != n_docs:
            raise ShapeError(f"features must be [{n_docs}, n_features], not {list(self.features.shape)}")
        if len(self.offsets) != len(self.qids) + 1 or self.offsets[0] != 0 or self.offsets[-1] != n_docs:
            raise ShapeError(f"offsets must run from 0 to {n_docs} for {len(self.qids)} queries")
        if (np.diff(self.offsets) <= 0).any():
            raise ShapeError("every query needs at least one document")
        if self.askers and len(self.askers) != len(self.qids):
            raise ShapeError(f"one who asked for each of {len(self.qids)} queries, not {len(self.askers)}")
        if self.label_sets is not None and (self.label_sets.ndim != 2 or self.label_sets.shape[1] != n_docs):
            raise ShapeError(f"label_sets must be [n_label_sets, {n_docs}], not {list(self.label_sets.shape)}")

    @property
    def n_queries(self) -> int:
        return len(self.qids)

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    def locked(self) -> QuerySet:
        """The same queries, every array `locked`."""
        sets = None if self.label_sets is None else locked(self.label_sets)
        arrays = locked(self.features), locked(self.grades), locked(self.offsets)
        return QuerySet(*arrays, self.qids, self.docids, self.askers, sets)

    def rows(self, query: int) -> slice:
        return slice(int(self.offsets[query]), int(self.offsets[query + 1]))


class Fold(Struct, frozen=True, eq=False):
    """One split of a data set."""

    number: int
    """from 1"""
    train: QuerySet
    test: QuerySet
    validation: QuerySet | None = None

    @property
    def parts(self) -> tuple[QuerySet, ...]:
        return (self.train, self.test, *([self.validation] if self.validation else []))


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
    mirrored: FloatArray = np.copysign(log1p(np.abs(features)), features)
    return mirrored


NORMALISATIONS: dict[str, Callable[[FloatArray], FloatArray] | None] = {
    "none": None,
    "min-max": lambda features: features,
    "log-min-max": signed_log,
}
"""What happens to values before min-max; None where nothing happens at all."""

_AT_ONCE = 8
"""queries in one step: bounds the memory that the float64 values need, and keeps the way to a logarithm in the cache"""


def widen(data: QuerySet, n_features: int) -> QuerySet:
    """`data` with columns of 0 up to `n_features`; the very same when it has as many."""
    missing = n_features - data.n_features
    if missing <= 0:
        return data
    return replace(data, features=np.pad(data.features, ((0, 0), (0, missing))))


def join(parts: Sequence[QuerySet]) -> QuerySet:
    """Sets of equally many features as one, queries in order; a qid that occurs in two sets is two queries.

    Label sets are kept where all parts have equally many.
    """
    if len(parts) == 1:
        return parts[0]
    named = any(part.docids for part in parts)
    labels = [part.label_sets for part in parts if part.label_sets is not None]
    labelled = len(labels) == len(parts) and len({len(sets) for sets in labels}) == 1
    return QuerySet(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.grades for part in parts]),
        _offsets(np.concatenate([np.diff(part.offsets) for part in parts])),
        tuple(qid for part in parts for qid in part.qids),
        tuple(docid for part in parts for docid in part.docids or ("",) * len(part.grades)) if named else (),
        tuple(asker for part in parts for asker in part.askers) if all(part.askers for part in parts) else (),
        np.concatenate(labels, axis=1) if labelled else None,
    )


def select(data: QuerySet, queries: Sequence[int] | npt.NDArray[np.integer]) -> QuerySet:
    """The queries with these numbers, from 0, in this order; ValueRangeError for none, and for other than numbers."""
    if not len(queries):
        raise ValueRangeError("wanted a query at least, got none")
    numbers = np.asarray(queries)
    if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= data.n_queries:
        wanted = f"wanted numbers of queries from 0 to {data.n_queries - 1}"
        raise ValueRangeError(f"{wanted}, got {np.array2string(numbers, threshold=9, edgeitems=3)}")
    rows = [np.arange(data.offsets[query], data.offsets[query + 1]) for query in queries]
    return _taken(data, np.concatenate(rows), numbers, np.array([len(part) for part in rows]))


def documents(data: QuerySet, rows: npt.NDArray[np.integer]) -> QuerySet:
    """The documents in these rising row numbers, at least one; queries left without documents are gone."""
    queries, sizes = np.unique(np.searchsorted(data.offsets, rows, side="right") - 1, return_counts=True)
    return _taken(data, rows, queries, sizes)


def _taken(
    data: QuerySet, rows: npt.NDArray[np.integer], queries: npt.NDArray[np.integer], sizes: npt.NDArray[np.integer]
) -> QuerySet:
    """Those rows: `sizes` of them for each of those queries in turn."""
    return QuerySet(
        data.features[rows],
        data.grades[rows],
        _offsets(sizes),
        tuple(data.qids[query] for query in queries),
        tuple(data.docids[row] for row in rows) if data.docids else (),
        tuple(data.askers[query] for query in queries) if data.askers else (),
        None if data.label_sets is None else data.label_sets[:, rows],
    )


def _offsets(sizes: npt.NDArray[np.integer]) -> Int64Vector:
    """Where queries of these sizes begin, and the end."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
