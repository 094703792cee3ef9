"""What search by meaning is worth: the whole program with and without it, on samples of the judged collections.

    python -m benchmarks meaning [--collections cranfield ...] [--queries 100] [--documents 450] [--folder FOLDER]

Each collection is sampled at random: the given number of queries, their relevant documents, and others up to the given
number of documents; then indexed and read for meaning (about 20 ms CPU a passage; --folder keeps that for the next
run). Then: nDCG@10 of the pages as shown and recall@100 of the ranker, without and with meaning; the change by the
ranker alone at the weight chosen on the other collections (the one of the best mean gain that costs known items next to
nothing); pages with half of the vectors missing; known items by three words of their titles; CPU time of a query, and
of the nearest of 100,000 passages.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any
from unittest import mock

import msgspec
import numpy as np

from app.data_folder import create_data_folder
from app.following.indexing import make_vectors
from app.learning.learner import DECIMALS
from app.learning.prior import theta_prior
from app.paths import Paths
from app.search.page import without_copies
from app.search.page_order import Ranked, rank
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import MeaningSettings, Settings
from benchmarks import collections
from benchmarks.collections import Collection
from benchmarks.devices import Library, lay_out
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, change, machine, verdict
from benchmarks.train_prior import known_items
from foltr.arrays import FloatMatrix, FloatVector
from foltr.ranking.metrics import ndcg_at_k, reciprocal_rank
from indexer.codec.segments import Columns
from indexer.meaning import vectors
from indexer.meaning.encoder import SHIPPED
from indexer.meaning.nearest import Nearest
from indexer.meaning.vectors import VectorWriter
from indexer.retrieval.features import NAMES
from indexer.schema import DOCUMENT
from indexer.storage.index import Index

ALL = (*collections.NAMES, *collections.NEWER)
WEIGHTS = (0.0, 2.0, 3.0, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 10.0, 12.0)
MOST_LOST = 0.005
"""share of the reciprocal rank of known items that meaning may cost"""
COLUMN = NAMES.index("meaning")
SEED = 7


class Recording(Search):
    """Keeps what was ranked, so that other weights can be tried on it."""

    ranked: Ranked

    def search(self, request: SearchRequest) -> ResultPage:
        def noted(*given: Any) -> Ranked:
            self.ranked = rank(*given)
            return self.ranked

        with mock.patch("app.search.search.rank", noted):
            return super().search(request)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One query: all its candidates, and what they are worth."""

    features: FloatMatrix
    grades: FloatVector
    judged: tuple[int, ...]
    seconds: float
    """CPU"""
    shown: FloatVector
    """[n_docs] the grades in the order of the page, which is by the ranker and all rules"""

    def page_ndcg(self) -> float:
        return ndcg_at_k(self.shown, 10, judged=list(self.judged))

    def page_reciprocal_rank(self) -> float:
        return reciprocal_rank(self.shown > 0, k=10)

    def order(self, theta: FloatVector) -> FloatVector:
        return self.grades[np.argsort(-(self.features @ theta), kind="stable")]

    def ndcg(self, theta: FloatVector) -> float:
        return ndcg_at_k(self.order(theta), 10, judged=list(self.judged))

    def recall(self, theta: FloatVector) -> float:
        return float(np.count_nonzero(self.order(theta)[:100])) / len(self.judged)

    def reciprocal_rank(self, theta: FloatVector) -> float:
        return reciprocal_rank(self.order(theta) > 0, k=10)


def weighted(weight: float) -> FloatVector:
    """The shipped ranker with another weight of meaning."""
    theta = theta_prior()
    theta[COLUMN] = weight
    return theta


def sampled(collection: Collection, *, n_queries: int, n_documents: int) -> Collection:
    """Some random queries, their relevant documents, and other random documents."""
    rng = np.random.default_rng(SEED)
    names = list(collection.queries)
    chosen = [names[i] for i in sorted(rng.permutation(len(names))[:n_queries])]
    wanted = {document for query in chosen for document in collection.grades[query]}
    others = [document.id for document in collection.documents if document.id not in wanted]
    n_others = max(n_documents - len(wanted), 0)
    kept = wanted | {others[i] for i in rng.permutation(len(others))[:n_others]}
    return Collection(
        collection.name,
        tuple(document for document in collection.documents if document.id in kept),
        {query: collection.queries[query] for query in chosen},
        {query: collection.grades[query] for query in chosen},
    )


def library(name: str, folder: Path, settings: Settings, *, n_queries: int, n_documents: int) -> Library:
    """A sampled collection, indexed and read for meaning; found again in `folder` by the next run."""
    kept = folder / f"{name}-{n_queries}-{n_documents}"
    paths, listed = Paths(kept / "config", kept / "data"), kept / "files.pickle"
    collection = sampled(collections.read(name), n_queries=n_queries, n_documents=n_documents)
    if not listed.exists():
        laid = lay_out(collection, kept, settings)
        listed.write_bytes(pickle.dumps(laid.files))
    make_vectors(settings, paths, on_progress=lambda progress: None, stop=Event(), most_long=None)
    return Library(collection, pickle.loads(listed.read_bytes()), paths)


def ask(library: Library, queries: dict[str, tuple[str, dict[str, int]]], settings: Settings) -> list[Asked]:
    """Ask each (text, grades) of a device that knows nothing yet."""
    with tempfile.TemporaryDirectory(prefix="foltr-device-") as folder:
        own = Paths(library.paths.config_dir, Path(folder) / "data")
        create_data_folder(own)
        own.index.symlink_to(library.paths.index)
        shutil.copyfile(library.paths.catalogue, own.catalogue)
        search = Recording(settings, own)
        search.search(SearchRequest("warm up"))
        found = [_asked(search, library, text, grades) for text, grades in queries.values()]
        search.close()
    return found


def _asked(search: Recording, library: Library, text: str, grades: dict[str, int]) -> Asked:
    began = time.process_time()
    search.search(SearchRequest(text))
    seconds = time.process_time() - began
    rows, features = search.ranked.table.rows, search.ranked.table.features
    shown = without_copies(search.ranked.contents, range(len(rows)))
    worth = [max(grades.get(library.files[rows[j].path], 0) for j in (i, *copies)) for i, copies in shown.items()]
    values = np.array(worth, dtype=np.float64)
    by_page = np.argsort(-np.round(search.ranked.scores[list(shown)], DECIMALS), kind="stable")
    return Asked(features[list(shown)], values, tuple(grades.values()), seconds, values[by_page])


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One collection."""

    name: str
    without: list[Asked]
    whole: list[Asked]
    half: list[Asked]
    """with half of the documents' vectors missing"""
    known_without: list[Asked]
    known: list[Asked]


def measure(library: Library, settings: Settings) -> Measured:
    """Ask everything that is needed of one collection."""
    collection = library.collection
    queries = {query: (text, collection.grades[query]) for query, text in collection.queries.items()}
    items = known_items(collection, np.random.default_rng(SEED), whole=False)
    known = {str(i): (text, {wanted: 1}) for i, (text, wanted) in enumerate(items)}
    off = with_meaning(settings, enabled=False)
    with tempfile.TemporaryDirectory(prefix="foltr-half-") as folder:
        half = halved(library, Path(folder))
        return Measured(
            collection.name, ask(library, queries, off), ask(library, queries, settings),
            ask(half, queries, settings), ask(library, known, off), ask(library, known, settings),
        )  # fmt: skip


def halved(library: Library, folder: Path) -> Library:
    """The same index with the vectors of every other document."""
    paths = Paths(folder / "config", folder / "data")
    shutil.copytree(library.paths.data_dir, paths.data_dir)
    contents = np.unique(vectors.read(paths.index, SHIPPED.name)["content"])
    with closing(VectorWriter(paths.index, SHIPPED.name)) as writer:
        writer.keep(np.random.default_rng(SEED).permutation(contents)[: len(contents) // 2])
    return Library(library.collection, library.files, paths)


def with_meaning(settings: Settings, **changes: object) -> Settings:
    """The settings with other values under [meaning]."""
    return msgspec.structs.replace(settings, meaning=msgspec.structs.replace(settings.meaning, **changes))


def mean(asked: list[Asked], what: str, *given: FloatVector) -> float:
    """Mean over queries of a method of Asked, which is `given` the ranker or judges the page as shown."""
    return float(np.mean([getattr(one, what)(*given) for one in asked])) if asked else float("nan")


def gains(measured: list[Measured], weight: float) -> FloatVector:
    """[n_collections] relative change of nDCG@10."""
    theta, without = weighted(weight), weighted(0.0)
    return np.array([mean(m.whole, "ndcg", theta) / mean(m.without, "ndcg", without) - 1 for m in measured])


def known_loss(measured: list[Measured], weight: float) -> float:
    """Share of the reciprocal rank of known items that is lost, over all collections that have such; 0 where none has,
    so that where no collection has titles the gain alone chooses."""
    theta, without = weighted(weight), weighted(0.0)
    ranks = [
        (mean(m.known, "reciprocal_rank", theta), mean(m.known_without, "reciprocal_rank", without)) for m in measured
    ]
    found, before = np.nansum(ranks, axis=0)
    return float(1 - found / before) if before else 0.0


def chosen_weight(measured: list[Measured]) -> float:
    """The weight of the best mean gain among those that lose no more than MOST_LOST."""
    means = {weight: float(gains(measured, weight).mean()) for weight in WEIGHTS}
    return max((one for one in WEIGHTS if known_loss(measured, one) <= MOST_LOST), key=means.__getitem__)


def report(measured: list[Measured]) -> Table:
    """One line for each collection."""
    shipped = theta_prior()[COLUMN]
    table = Table((
        "collection", "queries", "without", f"shipped {shipped:g}", "change", "weight left out", "ranker's change",
        "half missing", "recall@100 without", "with", "known items without", "with", "change",
    ))  # fmt: skip
    rows = []
    for m in measured:
        others = [other for other in measured if other is not m] or measured
        weight = chosen_weight(others)
        before, after, half = (mean(asked, "page_ndcg") for asked in (m.without, m.whole, m.half))
        (left,) = gains([m], weight).tolist()
        recall = mean(m.without, "recall", weighted(0.0)), mean(m.whole, "recall", weighted(shipped))
        known = tuple(mean(asked, "page_reciprocal_rank") for asked in (m.known_without, m.known))
        table.add(
            m.name, len(m.whole), before, after, change(after, before), f"{weight:g}", f"{100 * left:+.1f} %",
            change(half, before), *recall, *known, change(known[1], known[0]) if m.known else "-",
        )  # fmt: skip
        rows.append((after / before - 1, left, half / before - 1, recall[1] - recall[0], *known))
    each = np.array(rows)
    means, (known_before, known_after) = 100 * each[:, :4].mean(axis=0), np.nansum(each[:, 4:], axis=0)
    table.add(
        "mean", "", "", "", f"{means[0]:+.1f} %", "", f"{means[1]:+.1f} %", f"{means[2]:+.1f} %", "",
        f"{means[3]:+.1f} points", "", "", change(known_after, known_before),
    )  # fmt: skip
    worst, held = 100 * float(each[:, 1].min()), verdict(known_after >= 0.995 * known_before)
    table.add("aim", "", "", "", "", "", f"mean >= +8 %: {verdict(means[1] >= 8)}", "", "",
              f">= +5: {verdict(means[3] >= 5)}", "", "", f">= -.5 %: {held}")  # fmt: skip
    table.add("aim", "", "", "", "", "", f"none < -1 %: {verdict(worst >= -1)} ({worst:+.1f} %)", *[""] * 6)
    return table


def curve(measured: list[Measured]) -> Table:
    """Every weight on all collections: mean and worst change of nDCG@10, and known items."""
    table = Table(("weight", "mean change", "worst", "recall@100", "known items by three words"))
    for weight in WEIGHTS:
        each = gains(measured, weight)
        known = [mean(m.known, "reciprocal_rank", weighted(weight)) for m in measured if m.known]
        recall = float(np.mean([mean(m.whole, "recall", weighted(weight)) for m in measured]))
        found = float(np.mean(known)) if known else "-"
        table.add(f"{weight:g}", f"{100 * each.mean():+.1f} %", f"{100 * each.min():+.1f} %", recall, found)
    return table


def speed(measured: list[Measured]) -> Table:
    """CPU milliseconds."""
    table = Table(("what", "CPU, ms"))
    for label, found in (("without", [a for m in measured for a in m.without]),
                         ("with", [a for m in measured for a in m.whole])):  # fmt: skip
        table.add(f"a query {label} meaning, median", f"{1000 * float(np.median([a.seconds for a in found])):.1f}")
    table.add("the nearest of 100,000 passages", f"{nearest_ms(100_000):.1f}")
    return table


def nearest_ms(n_passages: int) -> float:
    """CPU milliseconds for the closeness of all documents of two passages each, at random."""
    rng = np.random.default_rng(SEED)
    records = np.zeros(n_passages, dtype=vectors.record_type(384))
    records["content"], records["scale"], records["place"] = np.arange(n_passages) // 2, 1 / 127, -1
    records["vector"] = rng.integers(-127, 128, (n_passages, 384), dtype=np.int8)
    with tempfile.TemporaryDirectory() as folder:
        Index.open(Path(folder))
        snapshot = Index.open(Path(folder)).snapshot()
        columns = {name: np.zeros(n_passages // 2, dtype=DOCUMENT[name]) for name in DOCUMENT.names or ()}
        columns["content"] = np.arange(n_passages // 2)
        snapshot.documents = Columns([columns], [n_passages // 2])
        nearest = Nearest(records, snapshot)
    alive, vector = np.ones(n_passages // 2, dtype=bool), rng.standard_normal(384).astype(np.float32)
    nearest.to(vector).best(alive, 100, -1.0)
    began = time.process_time()
    for _ in range(10):
        nearest.to(vector).best(alive, 100, -1.0)
    return (time.process_time() - began) * 100


def main() -> None:
    """Print the tables."""
    wanted = arguments(__doc__, collections=Option(ALL, choices=ALL), queries=100, documents=450, folder="")
    settings = msgspec.structs.replace(Settings(), meaning=MeaningSettings(pause_on_battery=False))
    with tempfile.TemporaryDirectory(prefix="foltr-meaning-") as temporary:
        folder = Path(wanted.folder or temporary)
        measured = [
            measure(library(name, folder, settings, n_queries=wanted.queries, n_documents=wanted.documents), settings)
            for name in wanted.collections
        ]
    print(machine(), report(measured), curve(measured), speed(measured), sep="\n\n")
