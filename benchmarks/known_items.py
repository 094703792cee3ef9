"""Known items: a page's title as the query, the page as the only answer, on a device that has never seen a click.

    python -m benchmarks known_items CORPUS [--items known_items.json] [--index FOLDER]

Each title is asked as it is, again with its dots typed as blanks, and by three random neighbouring words of it. A copy
of the page counts as the page. An ordinary BM25 (benchmarks/ordinary_bm25.py) is asked the same, over the titles and
texts that this program extracted. `--index` keeps the index in FOLDER, so that the next run need not make it again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from app.following.indexing import update_index
from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import ordinary_bm25
from benchmarks.collections import Document, shared_folder
from benchmarks.devices import device
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict
from indexer.storage.catalogue import Catalogue

AIMS = {"as typed": 0.96, "dots as blanks": 0.87, "three words": 0.92}

Items = list[tuple[str, str]]
"""(query, path of the answer below the corpus)"""


def read_items(path: Path | None) -> Items:
    """The list of known items, by default the shared one."""
    file = path or shared_folder() / "corpus" / "known_items.json"
    return [(title, answer) for title, answer in json.loads(file.read_text())]


def ranks(search: Search, items: Items, corpus: Path, *, order: str) -> list[int]:
    """The rank of each answer from 1; 0 when it is not among the first ten."""
    found: list[int] = []
    for text, answer in items:
        page = search.search(SearchRequest(text, order=order))
        wanted = str(corpus / answer)
        found.append(next((hit.rank for hit in page.hits[:10] if wanted in hit.paths), 0))
    return found


def ordinary_ranks(paths: Paths, corpus: Path) -> Callable[[Items], list[int]]:
    """The same by an ordinary BM25; equal texts are one document, as copies are."""
    catalogue = Catalogue.open(paths.catalogue)
    ids = sorted(catalogue.doc_ids())
    rows = catalogue.documents(ids)
    texts = {rows[i].path: (rows[i].title, catalogue.text(i)) for i in ids}
    first = {text: path for path, text in texts.items()}
    alike = {path: first[text] for path, text in texts.items()}
    catalogue.close()
    search = ordinary_bm25.ranking([Document(path, *key) for key, path in first.items()])

    def found(asked: Items) -> list[int]:
        pages = ((search(text), alike.get(str(corpus / answer))) for text, answer in asked)
        return [page.index(wanted) + 1 if wanted in page else 0 for page, wanted in pages]

    return found


def typed(text: str, kind: str, rng: np.random.Generator) -> str:
    """A title as it is asked for: `kind` is one of AIMS."""
    if kind == "as typed":
        return text
    if kind == "dots as blanks":
        return text.replace(".", " ")
    words = text.split()
    start = int(rng.integers(0, max(len(words) - 3, 0) + 1))
    return " ".join(words[start : start + 3])


def mrr(found: list[int]) -> float:
    """Mean reciprocal rank within the first ten."""
    return float(np.mean([1 / rank if rank else 0.0 for rank in found]))


def report(
    search: Search, items: Items, corpus: Path, ordinary: Callable[[Items], list[int]]
) -> tuple[Table, list[str]]:
    """MRR@10 and what did not come first."""
    table = Table(("typed", "ordinary BM25", "our BM25F", "shipped ranker", "at rank 1", "not in ten", "aim"))
    failures: list[str] = []
    for kind, aim in AIMS.items():
        rng = np.random.default_rng(0)
        asked = [(typed(text, kind, rng), answer) for text, answer in items]
        plain, shipped = (ranks(search, asked, corpus, order=order) for order in ("bm25", "learned"))
        met = verdict(mrr(shipped) >= aim)
        values = (mrr(each) for each in (ordinary(asked), plain, shipped))
        table.add(kind, *values, shipped.count(1) / len(shipped), shipped.count(0), f">= {aim} {met}")
        failures += [f"{rank or '-':>2} {kind}: {item}" for item, rank in zip(asked, shipped, strict=True) if rank != 1]
    return table, failures


def main() -> None:
    """Index the corpus, print the table and every item that did not come first."""
    wanted = arguments(
        __doc__, corpus=Path, items=None, index=None, quiet=Option(False, "do not list what did not come first")
    )
    settings = Settings()
    ordinary_bm25.required()
    corpus = wanted.corpus.resolve()
    with tempfile.TemporaryDirectory(prefix="foltr-benchmark-") as folder:
        own = (wanted.index or Path(folder)).resolve()
        paths = Paths(own / "config", own / "data")
        update_index(settings, paths, roots=(str(corpus),), holder="benchmark")
        with device(paths, settings) as search:
            items = read_items(wanted.items)
            table, failures = report(search, items, corpus, ordinary_ranks(paths, corpus))
    print(machine(), f"{len(items)} titles, MRR@10", sep="; ")
    print(f"\n{table}")
    if not wanted.quiet:
        print("", *failures, sep="\n")
