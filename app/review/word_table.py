"""The words of many documents as one sparse table, made from the posting lists of an index.

A row is a document, a column a word that two documents hold or more; beside the words each row has one more number, how
well the document answers the query. Row d holds (1 + ln tf) ln(N / df) of its words, divided by the length of that
vector, of its `MOST_WORDS` heaviest alone: so a hundred thousand long documents fit into memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from indexer.postings import Floats, Ints, Mask, run_places
from indexer.storage.snapshot import Snapshot

FIELDS = ("title", "body", "name", "author")
MOST_WORDS = 500
"""of one document"""
BLOCK = 1 << 20
"""cells that are worked on at once"""
Cells = npt.NDArray[np.float32]


class WordTable(Struct, frozen=True, eq=False):
    """The rows one after the other; `columns` and `values` [n_cells], `ends` [n_rows]: where each row ends."""

    columns: npt.NDArray[np.int32]
    values: Cells
    ends: Ints
    n_columns: int

    @property
    def sizes(self) -> Ints:
        """[n_rows] cells of each."""
        return np.diff(self.ends, prepend=0)

    def times(self, weights: Floats) -> Floats:
        """[n_rows] the sum of each row's values times the weights [n_columns] of their columns."""
        narrow, sizes = weights.astype(np.float32), self.sizes
        held = np.flatnonzero(sizes)
        starts, found = self.ends[held] - sizes[held], np.zeros(sizes.size)
        cuts = [*starts.searchsorted(np.arange(0, self.values.size, BLOCK)).tolist(), held.size]
        for first, last in pairwise(dict.fromkeys(cuts)):
            start, end = int(starts[first]), int(self.ends[held[last - 1]])
            cells = self.values[start:end] * narrow[self.columns[start:end]]
            found[held[first:last]] = np.add.reduceat(cells, starts[first:last] - start)
        return found

    def transposed_times(self, amounts: Floats) -> Floats:
        """[n_columns] the sum of each column's values times the amounts [n_rows] of their rows."""
        cells = self.values * amounts.repeat(self.sizes)
        return np.asarray(np.bincount(self.columns, weights=cells, minlength=self.n_columns), dtype=np.float64)

    def take(self, rows: Ints) -> WordTable:
        """These rows alone."""
        sizes = self.sizes[rows]
        cells = run_places(self.ends[rows] - sizes, sizes)
        return WordTable(self.columns[cells], self.values[cells], sizes.cumsum(), self.n_columns)

    def narrowed(self) -> tuple[WordTable, Ints]:
        """The same with the columns alone in which there is anything, and which these are."""
        used, columns = np.unique(self.columns, return_inverse=True)
        return WordTable(columns.astype(np.int32), self.values, self.ends, used.size), used

    def with_row(self, columns: Ints, values: Floats) -> WordTable:
        """And one more row."""
        ends = np.append(self.ends, self.values.size + columns.size)
        joined = np.append(self.columns, columns.astype(np.int32)), np.append(self.values, values.astype(np.float32))
        return WordTable(*joined, ends, self.n_columns)


class Vocabulary(Struct, frozen=True, eq=False):
    """The columns of words, and what an occurrence in them weighs; the column after the last is the answer's."""

    columns: dict[bytes, int]
    idf: Floats
    """[n_words]"""

    def row_of(self, words: Sequence[str]) -> tuple[Ints, Floats]:
        """The columns of a text's words, and their values; words that are in no document are passed over."""
        columns = [
            self.columns[code] for word in words if (code := word.encode("utf-8", "surrogatepass")) in self.columns
        ]
        own, counts = np.unique(np.array(columns, dtype=np.int64), return_counts=True)
        values = (1 + np.log(counts)) * self.idf[own]
        return own, values / max(float(np.sqrt(values @ values)), 1e-9)


def read_table(snapshot: Snapshot, docs: Ints, answers: Floats) -> tuple[WordTable, Vocabulary]:
    """The table of the documents `docs` [n_rows] (ascending numbers), which answer the query so well [n_rows]."""
    place = np.full(snapshot.alive.size, -1, dtype=np.int32)
    place[docs] = np.arange(docs.size)
    known: dict[bytes, int] = {}
    parts: list[list[Ints]] = [[place[:0]], [place[:0]], [place[:0]]]
    for field in FIELDS:
        for terms, df, numbers, tf in snapshot.all_postings(field):
            own = np.array([known.setdefault(term, len(known)) for term in terms], dtype=np.int32).repeat(df)
            wanted = place[numbers] >= 0
            for part, cells in zip(parts, (place[numbers[wanted]], own[wanted], tf[wanted]), strict=True):
                part.append(cells.astype(np.int32))
    row, column, count = (np.concatenate(part) for part in parts)
    n_holders = np.bincount(column, minlength=len(known))
    idf = np.where(n_holders > 1, np.log(max(docs.size, 1) / np.clip(n_holders, 1, max(docs.size, 1))), 0.0)
    order = np.argsort(row, kind="stable")
    order = order[idf[column[order]] > 0]
    values = (1 + np.log(count[order])) * idf[column[order]]
    return _finished(row[order], column[order], values, answers, len(known)), Vocabulary(known, idf)


def _finished(row: Ints, column: Ints, values: Floats, answers: Floats, n_words: int) -> WordTable:
    """The table of cells in the order of their rows: the heaviest, scaled, and behind each row's its answer."""
    heaviest = _heaviest(row, values, answers.size)
    row, column, values = row[heaviest], column[heaviest], values[heaviest]
    length = np.sqrt(np.bincount(row, weights=values**2, minlength=answers.size))
    ends = np.bincount(row, minlength=answers.size).cumsum()
    whole = np.insert(column, ends, n_words), np.insert((values / length[row]).astype(np.float32), ends, answers)
    return WordTable(whole[0].astype(np.int32), whole[1], ends + np.arange(1, answers.size + 1), n_words + 1)


def _heaviest(row: Ints, values: Floats, n_rows: int) -> Mask:
    """[n_cells] which are among the `MOST_WORDS` heaviest of their row, the first where they weigh the same."""
    sizes = np.bincount(row, minlength=n_rows)
    kept = np.ones(row.size, dtype=np.bool_)
    for long in np.flatnonzero(sizes > MOST_WORDS).tolist():
        end = int(sizes[: long + 1].sum())
        own = slice(end - int(sizes[long]), end)
        kept[own] = False
        kept[own.start + np.argsort(-values[own], kind="stable")[:MOST_WORDS]] = True
    return kept
