"""BM25F's constants, chosen on all collections but one and tested on that one.

    python -m benchmarks bm25f_constants [--queries 100]

nDCG@10 of plain BM25F with the program's constants, and with those of GRID that have the highest mean over the other
collections. Every document with a word of the query is scored; files with the same content are not collapsed.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from app.search.open_commit import Reader
from app.settings import Settings
from benchmarks import collections
from benchmarks.devices import Library, lay_out
from benchmarks.judged import CUTOFF, ndcg
from benchmarks.running import arguments
from benchmarks.tables import Table, change, machine
from foltr.arrays import FloatVector
from indexer.query.parse import parse
from indexer.retrieval.candidates import K1, WEIGHTS, B, Occurrences, asked_for, best, bm25f
from indexer.retrieval.concepts import ConceptLookup
from indexer.storage.catalogue import Catalogue
from indexer.storage.snapshot import Snapshot


class Constants(NamedTuple):
    """Those that matter; the others stay as they are."""

    k1: float
    b_body: float
    title: float
    """the title's weight"""


SHIPPED = Constants(K1, B["body"], WEIGHTS["title"])
GRID = tuple(itertools.starmap(Constants, itertools.product((1.2, 1.6, 2.0, 2.5), (0.7, 0.8, 0.9), (1.5, 2.5, 4.0))))


def measure(library: Library) -> dict[Constants, float]:
    """Mean nDCG@10 of a collection for each of the constants."""
    rows = np.array([list(values) for values in _by_query(library)])
    return dict(zip(GRID, rows.mean(axis=0).tolist(), strict=True))


def _by_query(library: Library) -> Iterator[Iterator[float]]:
    catalogue = Catalogue.open(library.paths.catalogue)
    reading = Reader(library.paths.index, catalogue).reading
    snapshot = reading.snapshot
    living = np.flatnonzero(snapshot.alive)
    numbers = dict(zip(snapshot.documents["doc_id"][living].tolist(), living.tolist(), strict=True))
    number_of = {library.files[row.path]: numbers[i] for i, row in catalogue.documents(sorted(numbers)).items()}
    catalogue.close()
    for name, text in library.collection.queries.items():
        grades: FloatVector = np.zeros(reading.snapshot.alive.size)
        for document, grade in library.collection.grades[name].items():
            if document in number_of:
                grades[number_of[document]] = grade
        query, lookup = parse(text), ConceptLookup(reading.snapshot, reading.languages)
        found = [lookup.counts(concept) for concept in asked_for(query, lookup)]
        judged = library.collection.grades[name].values()
        yield (_value(reading.snapshot, found, each, grades, judged) for each in GRID)


def _value(
    snapshot: Snapshot, found: Occurrences, constants: Constants, grades: FloatVector, judged: Iterable[int]
) -> float:
    scores, _ = bm25f(
        snapshot, found, k1=constants.k1, b=B | {"body": constants.b_body}, weights=WEIGHTS | {"title": constants.title}
    )
    first = best(scores, scores > 0, CUTOFF, snapshot.documents)
    return ndcg(grades[first], judged) if first.size else 0.0


def report(values: dict[str, dict[Constants, float]]) -> Table:
    """The constants that the others choose, and what they are worth, collection by collection."""
    table = Table(("collection", "k1, b of the text, weight of the title", "left out", "as shipped", "change"))
    rows = []
    for name, own in values.items():
        others = [other for key, other in values.items() if key != name]
        chosen = max(GRID, key=lambda each: sum(other[each] for other in others))
        rows.append((own[chosen], own[SHIPPED]))
        table.add(name, ", ".join(f"{x:g}" for x in chosen), *rows[-1], change(*rows[-1]))
    chosen = max(GRID, key=lambda each: sum(own[each] for own in values.values()))
    means = np.mean(rows, axis=0).tolist()
    table.add("mean; all choose", ", ".join(f"{x:g}" for x in chosen), *means, change(*means))
    return table


def main() -> None:
    """Print the table."""
    wanted = arguments(__doc__, queries=100)
    values = {}
    for name in collections.ALL:
        with tempfile.TemporaryDirectory(prefix="foltr-constants-") as folder:
            library = lay_out(collections.sampled(collections.read(name), wanted.queries), Path(folder), Settings())
            values[name] = measure(library)
    print(machine(), report(values), sep="\n\n")
