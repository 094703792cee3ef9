"""What the user's own picks say about the candidates of one query: the record that becomes usage features.

The indexer only defines the record; the device fills it from its pick memory, and a device that keeps none
passes zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

FloatVector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Six numbers for each candidate, all `[n_docs]` in [0, 1]; 0 means "nothing known"."""

    opened: FloatVector
    """how often this document was opened for any query, decayed and saturating"""
    opened_recently: FloatVector
    """1 right after repeated opening, halved every two weeks"""
    same_query: FloatVector
    """how often it was picked for exactly this set of query words, saturating: one pick counts little"""
    similar_query: FloatVector
    """the same added up over other queries, each times the squared share of words it has in common with this one"""
    folder_share: FloatVector
    """share of the user's picks that lie in its folder (or, at a quarter of the weight, next to that folder)"""
    type_share: FloatVector
    """share of the user's picks that are of its type"""

    def __len__(self) -> int:
        return len(self.opened)

    @classmethod
    def zeros(cls, n_docs: int) -> Usage:
        """The record of a device that remembers nothing."""
        return cls(*(np.zeros(n_docs) for _ in fields(cls)))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the six numbers, in the order of the fields."""
        return tuple(f.name for f in fields(cls))

    def matrix(self) -> npt.NDArray[np.float64]:
        """All six as columns, `[n_docs, 6]`, in the order of `names()`."""
        return np.column_stack([getattr(self, name) for name in self.names()])
