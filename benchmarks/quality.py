"""Quality on all judged collections: an ordinary BM25, our BM25F and the shipped ranker on the same queries.

    python -m benchmarks.quality [--collections cranfield ...] [--no-whoosh]

nDCG@10, means over all queries that have a relevant document. Ours is the whole program: the collection laid out as
Markdown, HTML and plain text files, indexed, and asked through `app.search` on a device that has never seen a click,
without exploration. The shipped ranker was trained on these collections: `benchmarks.train_prior` has its figures with
the tested collection left out.
Needs bm25s (`pip install bm25s PyStemmer`). Whoosh's own BM25F, the former reference, is the last column.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from app.settings import Settings
from benchmarks import collections, ordinary_bm25
from benchmarks.devices import Library, device, lay_out
from benchmarks.held_out import judge
from benchmarks.tables import Table, machine
from benchmarks.whoosh_baseline import stemmed
from foltr.ranking.metrics import ndcg_at_k
from indexer.storage.catalogue import Catalogue


class Quality(NamedTuple):
    """One line of the table: means over queries."""

    name: str
    n_documents: int
    n_queries: int
    ordinary: float
    ours: float
    shipped: float
    whoosh: float
    """nan where it was not asked for"""


def measure(library: Library, *, settings: Settings, whoosh: bool = True) -> Quality:
    """Ask all queries of a collection four times."""
    collection = library.collection
    ordinary = float(ordinary_bm25.ndcg(collection).mean())
    queries = list(collection.queries)
    with device(library.paths, settings) as search:
        ours, shipped = (judge(search, library, queries, order=order)[:, 0] for order in ("bm25", "learned"))
    return Quality(
        collection.name,
        len(collection.documents),
        len(queries),
        ordinary,
        float(ours.mean()),
        float(shipped.mean()),
        whoosh_ndcg(library) if whoosh else float("nan"),
    )


def whoosh_ndcg(library: Library) -> float:
    """nDCG@10 of Whoosh's BM25F, stemmed, over the titles and texts that this program extracted."""
    catalogue = Catalogue.open(library.paths.catalogue)
    ids = sorted(catalogue.doc_ids())
    rows = catalogue.documents(ids)
    search = stemmed(((i, rows[i].title, catalogue.text(i)) for i in ids), limit=10)
    values = []
    for query, text in library.collection.queries.items():
        grades = library.collection.grades[query]
        found = [grades.get(library.files[rows[i].path], 0) for i in search(text)]
        values.append(ndcg_at_k(found, 10, judged=list(grades.values())) if found else 0.0)
    catalogue.close()
    return float(np.mean(values))


def report(rows: Sequence[Quality]) -> Table:
    """A line for each collection, then the means of those trained on and of the others."""
    heading = ("collection", "documents", "queries", "ordinary BM25", "our BM25F", "shipped ranker")
    table = Table((*heading, "BM25F / ordinary", "shipped / ordinary", "Whoosh BM25F"))
    for row in rows:
        _line(table, row.name, f"{row.n_documents:,}", f"{row.n_queries:,}", [row])
    for name, names in (("mean of the five", collections.NAMES), ("mean of the newer", collections.NEWER)):
        chosen = [row for row in rows if row.name in names]
        if len(chosen) > 1:
            _line(table, name, "", "", chosen)
    return table


def _line(table: Table, name: str, documents: str, queries: str, rows: Sequence[Quality]) -> None:
    ordinary, ours, shipped, whoosh = np.array([row[3:] for row in rows]).mean(axis=0).tolist()
    last = "-" if np.isnan(whoosh) else whoosh
    table.add(name, documents, queries, ordinary, ours, shipped, ours / ordinary, shipped / ordinary, last)


def measured(names: Iterable[str], *, whoosh: bool = True) -> list[Quality]:
    """Each collection by itself, in a temporary folder that is gone before the next."""
    settings, rows = Settings(), []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="foltr-quality-") as folder:
            library = lay_out(collections.read(name), Path(folder), settings)
            rows.append(measure(library, settings=settings, whoosh=whoosh))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collections", nargs="+", choices=collections.ALL, default=list(collections.ALL))
    parser.add_argument("--no-whoosh", action="store_true", help="leave out the last column")
    wanted = parser.parse_args()
    ordinary_bm25.required()
    print(machine(), report(measured(wanted.collections, whoosh=not wanted.no_whoosh)), sep="\n\n")


if __name__ == "__main__":
    main()
