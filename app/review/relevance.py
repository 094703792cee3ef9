"""What the judged documents have in common: logistic regression over their words, which orders all the others.

As in AutoTAR (Cormack and Grossman 2015, "Autonomy and reliability of continuous active learning"): the query is the
first document that matters, and `N_PRESUMED` documents drawn from the rest are presumed not to. Both sides weigh equal:

    f(w) = 1/2 mean_{i matters} ln(1 + exp(-w.x_i)) + 1/2 mean_{i does not} ln(1 + exp(w.x_i)) + PENALTY / 2 |w|^2

x_i is row i of a sparse table, made from the posting lists of an index: a column for each word that two documents or
more hold, and one for how well a document answers the query. A row holds (1 + ln tf) ln(N / df), scaled to length 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from indexer.postings import Floats, Ints, Mask, run_places
from indexer.storage.snapshot import Snapshot

FIELDS = ("title", "body", "name", "author")
BLOCK = 1 << 20
"""cells that are worked on at once"""
PENALTY = 0.03
N_PRESUMED = 300
STEPS = 25
"""of the descent: what is left of its distance is about a ten-thousandth"""


class WordTable(Struct, frozen=True, eq=False):
    """The rows one after the other; `columns` and `values` [n_cells], `ends` [n_rows]: where each row ends."""

    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
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

    def take(self, rows: Ints) -> WordTable:
        sizes = self.sizes[rows]
        cells = run_places(self.ends[rows] - sizes, sizes)
        return WordTable(self.columns[cells], self.values[cells], sizes.cumsum(), self.n_columns)

    def narrowed(self) -> tuple[WordTable, Ints]:
        """The same with the columns alone in which there is anything, and which these are."""
        used, columns = np.unique(self.columns, return_inverse=True)
        return WordTable(columns.astype(np.int32), self.values, self.ends, used.size), used

    def with_row(self, columns: Ints, values: Floats) -> WordTable:
        ends = np.append(self.ends, self.values.size + columns.size)
        joined = np.append(self.columns, columns.astype(np.int32)), np.append(self.values, values.astype(np.float32))
        return WordTable(*joined, ends, self.n_columns)


class WordColumns(Struct, frozen=True, eq=False):
    """The columns of words, and what an occurrence in them weighs; the column after the last is the answer's."""

    columns: dict[bytes, int]
    idf: Floats
    """[n_words]"""

    def row_of(self, words: Sequence[str]) -> tuple[Ints, Floats]:
        """The columns of a text's words, and their values; words that are in no document are passed over."""
        codes = (word.encode("utf-8", "surrogatepass") for word in words)
        columns = [self.columns[code] for code in codes if code in self.columns]
        own, counts = np.unique(np.array(columns, dtype=np.int64), return_counts=True)
        values = (1 + np.log(counts)) * self.idf[own]
        return own, values / max(float(np.sqrt(values @ values)), 1e-9)


def read_table(snapshot: Snapshot, docs: Ints, answers: Floats) -> tuple[WordTable, WordColumns]:
    """The table of the documents `docs` [n_rows] (ascending numbers), which answer the query so well [n_rows].

    The postings are read twice, once to know how many there are, so that nothing is held beside the table itself.
    """
    place = np.full(snapshot.alive.size, -1, dtype=np.int64)
    place[docs] = np.arange(docs.size)
    known: dict[bytes, int] = {}
    sizes, n_holders = np.ones(docs.size, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for row, column, _ in _cells(snapshot, place, known):
        sizes += np.bincount(row, minlength=docs.size)
        more = np.bincount(column, minlength=len(known))
        more[: n_holders.size] += n_holders
        n_holders = more
    n = max(docs.size, 1)
    words = WordColumns(known, np.where(n_holders > 1, np.log(n / np.clip(n_holders, 1, n)), 0.0))
    ends = sizes.cumsum()
    table = WordTable(np.zeros(sizes.sum(), np.int32), np.zeros(sizes.sum(), np.float32), ends, len(known) + 1)
    free = ends - sizes
    for row, column, tf in _cells(snapshot, place, known):
        order = np.argsort(row, kind="stable")
        first = np.flatnonzero(np.diff(row[order], prepend=-1))
        counts = np.diff(first, append=row.size)
        at = free[row[order]] + np.arange(row.size) - first.repeat(counts)
        table.columns[at], table.values[at] = column[order], ((1 + np.log(tf)) * words.idf[column])[order]
        free[row[order[first]]] += counts
    if docs.size:
        length = np.sqrt(np.add.reduceat(table.values**2, ends - sizes))
        np.divide(table.values, np.maximum(length, 1e-9).repeat(sizes), out=table.values)
        table.columns[ends - 1], table.values[ends - 1] = len(known), answers
    return table, words


def _cells(snapshot: Snapshot, place: Ints, known: dict[bytes, int]) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Row, column and occurrences of all words of the documents that have a `place` [n_numbers], in runs; new words are
    added to those that are `known`."""
    for field in FIELDS:
        for terms, df, numbers, tf in snapshot.all_postings(field):
            columns = np.array([known.setdefault(term, len(known)) for term in terms], dtype=np.int64).repeat(df)
            wanted = place[numbers] >= 0
            yield place[numbers[wanted]], columns[wanted], tf[wanted]


def fit(table: WordTable, matters: Mask) -> Floats:
    """The weights [n_columns] that minimise f for rows of which `matters` [n_rows] says which do.

    Nesterov's descent (Lectures on Convex Optimization, 2004, 2.2.11) for a curvature between PENALTY and `steepest`.
    """
    side = np.where(matters, 1.0, -1.0)
    share = np.where(matters, 0.5 / max(matters.sum(), 1), 0.5 / max((~matters).sum(), 1))
    columns, values, rows = table.columns, table.values.astype(np.float64), np.arange(side.size).repeat(table.sizes)
    steepest = 0.25 * float(share @ np.bincount(rows, values**2, side.size)) + PENALTY
    momentum = (1 - (PENALTY / steepest) ** 0.5) / (1 + (PENALTY / steepest) ** 0.5)
    weights = ahead = np.zeros(table.n_columns)
    for _ in range(STEPS):
        lead = side * np.bincount(rows, values * ahead[columns], side.size)
        pull = np.bincount(columns, values * (share * side / (1 + np.exp(lead)))[rows], table.n_columns)
        before, weights = weights, ahead + (pull - PENALTY * ahead) / steepest
        ahead = weights + momentum * (weights - before)
    return weights
