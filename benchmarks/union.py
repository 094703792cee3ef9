"""All collections in one index: the queries of each are asked there, and in an index of that collection alone.

    python -m benchmarks union [--queries 100]

nDCG@10 of the shipped ranker with a collection indexed by itself and with all of them in one index, and the share of
the first ten that comes from other collections; beside it the same of an ordinary BM25 (benchmarks/ordinary_bm25.py,
stemmed). Documents of the other collections count as not relevant, which some of them are: adi asks the questions of
cisi, so that it is left out of the mean. Needs bm25s.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections, ordinary_bm25
from benchmarks.collections import Collection, Document
from benchmarks.devices import device, indexed
from benchmarks.judged import CUTOFF, ndcg
from benchmarks.running import arguments
from benchmarks.tables import Table, change, machine

SAME_QUESTIONS = "adi"

Ranking = Callable[[str], Sequence[str]]
"""a query to the names of the documents found, best first; a name is "collection/id" """


def name_of(collection: Collection, document: str) -> str:
    """What a document is called among those of all collections."""
    return f"{collection.name}/{document}"


@contextmanager
def ours(chosen: Sequence[Collection], settings: Settings) -> Iterator[Ranking]:
    """This program over the files of the collections, with the shipped ranker."""
    with tempfile.TemporaryDirectory(prefix="foltr-union-") as folder:
        names: dict[str, str] = {}
        for i, own in enumerate(chosen):  # folders without a name: no path says which collection it is
            files = collections.write_files(own, Path(folder) / "files" / f"{i:02d}")
            names |= {path: name_of(own, document) for path, document in files.items()}
        with device(indexed(Path(folder) / "files", Path(folder), settings), settings) as search:
            yield lambda text: _found(search, names, text)


def _found(search: Search, names: dict[str, str], text: str) -> list[str]:
    page = search.search(SearchRequest(text, explore=False, limit=CUTOFF))
    return [names[hit.path] for hit in page.hits]


@contextmanager
def ordinary(chosen: Sequence[Collection]) -> Iterator[Ranking]:
    """The ordinary BM25 over the same documents."""
    yield ordinary_bm25.ranking([
        Document(name_of(own, each.id), each.title, each.text) for own in chosen for each in own.documents
    ])  # fmt: skip


def judge(ranking: Ranking, collection: Collection) -> tuple[float, float]:
    """nDCG@10, and the share of the first ten that belongs to other collections: means over the queries."""
    values, strangers = [], []
    for query, text in collection.queries.items():
        grades = {name_of(collection, document): grade for document, grade in collection.grades[query].items()}
        found = ranking(text)[:CUTOFF]
        values.append(ndcg(np.array([float(grades.get(name, 0)) for name in found]), grades.values()) if found else 0.0)
        strangers += [not name.startswith(f"{collection.name}/") for name in found]
    return float(np.mean(values)), float(np.mean(strangers)) if strangers else 0.0


def measure(chosen: Sequence[Collection], settings: Settings) -> Table:
    """A line for each collection, then the mean."""
    kinds = ("alone", "in the union", "change", "others in ten")
    heading = (f"{who}, {kind}" for who in ("ordinary BM25", "shipped ranker") for kind in kinds)
    table = Table(("collection", *heading))
    columns = []
    for opened in (ordinary, lambda some: ours(some, settings)):
        alone = []
        for own in chosen:
            with opened([own]) as ranking:
                alone.append(judge(ranking, own)[0])
        with opened(chosen) as ranking:
            together = [judge(ranking, own) for own in chosen]
        columns.append([(one, *both) for one, both in zip(alone, together, strict=True)])
    for i, own in enumerate(chosen):
        table.add(own.name, *_cells(columns[0][i]), *_cells(columns[1][i]))
    counted = [i for i, own in enumerate(chosen) if own.name != SAME_QUESTIONS]
    means = [np.mean([column[i] for i in counted], axis=0).tolist() for column in columns]
    table.add("mean", *_cells(means[0]), *_cells(means[1]))
    return table


def _cells(values: Sequence[float]) -> tuple[object, ...]:
    alone, together, strangers = values
    return alone, together, change(together, alone), f"{100 * strangers:.0f} %"


def main() -> None:
    """Print the table."""
    wanted = arguments(__doc__, queries=100)
    ordinary_bm25.required()
    chosen = [collections.sampled(collections.read(name), wanted.queries) for name in collections.ALL]
    print(machine(), measure(chosen, Settings()), sep="\n\n")
