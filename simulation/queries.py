"""Judged queries in memory: one matrix of all documents, and where each query begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foltr.arrays import Int64Vector
from foltr.errors import ShapeError


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

    def __post_init__(self) -> None:
        n_docs = len(self.grades)
        if self.features.ndim != 2 or len(self.features) != n_docs:
            raise ShapeError(f"features must be [{n_docs}, n_features], not {list(self.features.shape)}")
        if len(self.offsets) != len(self.qids) + 1 or self.offsets[0] != 0 or self.offsets[-1] != n_docs:
            raise ShapeError(f"offsets must run from 0 to {n_docs} for {len(self.qids)} queries")
        if (np.diff(self.offsets) <= 0).any():
            raise ShapeError("every query needs at least one document")

    @property
    def n_queries(self) -> int:
        return len(self.qids)

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    def rows(self, query: int) -> slice:
        """The rows of one query."""
        return slice(int(self.offsets[query]), int(self.offsets[query + 1]))


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One split of a data set."""

    number: int
    """from 1"""
    train: QuerySet
    test: QuerySet
    validation: QuerySet | None = None
