"""The numbers kept for each document, column by column: nobody reads those that a question does not ask for.

On disk (.doc) the columns of `schema.DOCUMENT` stand one after the other, the widest numbers first, so that each is an
array that can be mapped. Columns of several segments are joined when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from indexer.postings import Column, Ints, Mask, Rows
from indexer.schema import DOCUMENT

NAMES: tuple[str, ...] = tuple(
    sorted(DOCUMENT.names or (), key=lambda name: (-DOCUMENT[name].base.itemsize, DOCUMENT[name].itemsize))
)
"""in the order in which they stand on disk"""


_BLOCK = 50_000
"""documents whose columns are copied at a time"""


class Columns:
    """The columns of one or of several segments, one after the other; safe to share between threads."""

    def __init__(self, parts: Sequence[Mapping[str, Column] | Columns], sizes: Sequence[int]) -> None:
        """`parts` [n_parts] of `sizes` [n_parts] documents."""
        self._parts, self._sizes = parts, sizes
        self.size = sum(sizes)
        self._joined: dict[str, Column] = {}

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, name: str) -> Column:
        found = self._joined.get(name)
        if found is None:
            columns = [part[name] for part in self._parts]
            empty = np.zeros(0, dtype=DOCUMENT[name])
            found = columns[0] if len(columns) == 1 else np.concatenate(columns) if columns else empty
            self._joined[name] = found
        return found

    def take(self, name: str, numbers: Ints) -> Column:
        """One column of the documents `numbers` [n]; the rest of it is not read."""
        if name in self._joined or len(self._parts) < 2:
            taken: Column = self[name][numbers]
            return taken
        found = np.empty((numbers.size, *DOCUMENT[name].shape), dtype=DOCUMENT[name].base)
        order, ends = numbers.argsort(), np.cumsum(self._sizes)
        ascending, start, first = numbers[order], 0, 0
        for part, end, bound in zip(self._parts, ends.tolist(), ascending.searchsorted(ends).tolist(), strict=True):
            if start < bound:
                found[order[start:bound]] = part[name][ascending[start:bound] - first]
            start, first = bound, end
        return found


class Chosen:
    """The columns of those documents of several segments that `kept` [n_segments][n_documents] names, in pieces."""

    def __init__(self, parts: Sequence[Columns], kept: Sequence[Mask]) -> None:
        self._parts, self._kept = parts, kept

    def pieces(self, name: str) -> Iterator[Column]:
        """One column, at most _BLOCK documents at a time."""
        for part, kept in zip(self._parts, self._kept, strict=True):
            for i in range(0, kept.size, _BLOCK):
                yield part[name][i : i + _BLOCK][kept[i : i + _BLOCK]]


def mapped_columns(data: Any) -> Columns:
    """The columns in the bytes of a .doc file; ValueError when these are no whole number of documents."""
    n, rest = divmod(len(data), DOCUMENT.itemsize)
    if rest:
        raise ValueError(f"{len(data)} bytes are no whole number of documents of {DOCUMENT.itemsize}")
    columns: dict[str, Column] = {}
    at = 0
    for name in NAMES:
        kind = DOCUMENT[name]
        column = np.frombuffer(data, dtype=kind.base, count=n * kind.itemsize // kind.base.itemsize, offset=at)
        columns[name] = column.reshape(n, *kind.shape)
        at += n * kind.itemsize
    return Columns([columns], [n])


def pieces_of(documents: Mapping[str, Column] | Rows | Columns | Chosen, name: str) -> Iterable[Column]:
    """One column, in one piece or in several."""
    return documents.pieces(name) if isinstance(documents, Chosen) else [documents[name]]


def write_columns(file: BinaryIO, documents: Mapping[str, Column] | Rows | Columns | Chosen) -> None:
    """Write a .doc file, one column at a time."""
    for name in NAMES:
        for piece in pieces_of(documents, name):
            file.write(np.ascontiguousarray(piece, dtype=DOCUMENT[name].base).data)
