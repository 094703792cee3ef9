"""Documents like this one: of those found for a relevant document, how many are relevant to its question, too?

    python -m benchmarks likeness [--documents 80] [--names NAME ...]

For each query with at least LEAST relevant documents, one of these is drawn and documents like it are searched for;
the others are wanted. For comparison: its title as a query, and the question itself, which the program does not know
when it searches for documents like one. The weight of a word and the number of words (app/likeness.py) were chosen on
cranfield, cisi, medline and time.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from app.likeness import query_like
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections
from benchmarks.devices import Library, device, lay_out
from benchmarks.judged import CUTOFF
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine
from indexer.storage.catalogue import DocumentRow

LEAST = 4
SEED = 3
COLUMNS = ("like it", "its title", "the question itself")


def drawn(library: Library, n: int) -> list[tuple[str, str]]:
    """At most `n` queries, each with one of its relevant documents, by a lot that is always the same."""
    lot, grades = np.random.default_rng(SEED), library.collection.grades
    queries = [query for query, judged in grades.items() if len(judged) >= LEAST]
    chosen = [queries[i] for i in lot.permutation(len(queries))[:n].tolist()]
    return [(query, str(lot.choice(sorted(grades[query])))) for query in chosen]


def precision(search: Search, library: Library, text: str, given: str, wanted: set[str]) -> float:
    """Of the first ten for `text` without the `given` document, the share that is wanted."""
    hits = search.search(SearchRequest(text, explore=False, as_typed=True)).hits if text else ()
    found = [own for hit in hits if given not in (own := {library.files[path] for path in hit.paths})]
    return sum(bool(own & wanted) for own in found[:CUTOFF]) / CUTOFF


def measure(library: Library, n: int) -> tuple[list[list[float]], float]:
    """For each of the documents drawn, the share of what is wanted by COLUMNS; and CPU ms to tell its words."""
    rows, seconds = [], []
    with device(library.paths, Settings()) as search:
        catalogue = search.catalogue
        stored: dict[str, DocumentRow] = {
            library.files[row.path]: row for row in catalogue.documents(catalogue.doc_ids()).values()
        }
        for query, given in drawn(library, n):
            row, wanted = stored[given], set(library.collection.grades[query]) - {given}
            began = os.times()
            like = query_like(search, row)
            ended = os.times()
            seconds.append(ended.user + ended.system - began.user - began.system)
            texts = (like, collections.plain(row.title), library.collection.queries[query])
            rows.append([precision(search, library, text, given, wanted) for text in texts])
    return rows, 1e3 * float(np.mean(seconds))


def main() -> None:
    """Print the table."""
    wanted = arguments(__doc__, documents=80, names=Option(collections.NAMES[:4]))
    table = Table(("collection", "documents", *COLUMNS, "CPU ms"))
    for name in wanted.names:
        with tempfile.TemporaryDirectory(prefix="foltr-likeness-") as folder:
            rows, cost = measure(lay_out(collections.read(name), Path(folder), Settings()), wanted.documents)
        table.add(name, len(rows), *np.mean(rows, axis=0).tolist(), f"{cost:.1f}")
    print(machine(), table, sep="\n\n")
