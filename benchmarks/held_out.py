"""Held-out queries: does what is learned from some queries of a collection help, or at least not hurt, the others?

Five folds: a simulated user asks queries of four fifths at random and opens results; nDCG@10 and MAP are measured on
the last fifth, without exploration, before and after a number of interactions. Everything goes through `app.search`:
search, open, leave. A new session, with other random exploration, begins after every 25 queries.

    python -m benchmarks held_out [--users navigational] [--folds 5] [--interactions 50 200 1000]
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections, ordinary_bm25
from benchmarks.devices import Library, device, libraries, new_session, with_learning
from benchmarks.judged import graded, ndcg, precision
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, change, machine, verdict
from foltr.arrays import FloatVector
from simulation.rounds.click_models import CASCADES, Users, make_users

SESSION = 25
"""queries in one session"""
N_FOLDS = 5
GAIN, LOSS = 0.02, -0.01
"""the aims: at least this much more on average, on no collection less than that"""


@dataclass(frozen=True, slots=True)
class Job:
    """One fold of one collection."""

    library: Library
    fold: int
    users: str
    marks: tuple[int, ...]
    settings: Settings


def folds(queries: Sequence[str]) -> npt.NDArray[np.intp]:
    """The fold of each query, `[n_queries]`: at random, the same every time."""
    return np.random.default_rng(0).permutation(len(queries)) % N_FOLDS


def interact(search: Search, library: Library, query: str, users: Users, rng: np.random.Generator) -> None:
    """One query of a simulated user: search, open, leave."""
    collection = library.collection
    page = search.search(SearchRequest(collection.queries[query]))
    grades = graded(page, library.files, collection.grades[query])[: users.k]
    opened = users.clicks(grades.astype(np.int8), 0, rng)
    for rank in np.flatnonzero(opened).tolist():
        search.opened(page, page.hits[rank])
    search.leave(page)


def judge(search: Search, library: Library, queries: Sequence[str], *, order: str) -> FloatVector:
    """(nDCG@10, average precision) of each query, `[n_queries, 2]`, without exploration."""
    rows = []
    for query in queries:
        grades = library.collection.grades[query]
        page = search.search(SearchRequest(library.collection.queries[query], order=order, explore=False))
        found = graded(page, library.files, grades)
        rows.append((ndcg(found, grades.values()), precision(found, grades.values())))
    return np.array(rows)


def simulate(job: Job) -> list[FloatVector]:
    """[BM25F, prior, after each mark], each `[n_queries, 2]` over the fold's held-out queries."""
    queries = list(job.library.collection.queries)
    fold = folds(queries)
    held_out = [q for q, f in zip(queries, fold, strict=True) if f == job.fold]
    asked = [q for q, f in zip(queries, fold, strict=True) if f != job.fold]
    users = make_users(job.users, top_grade=job.library.collection.top_grade)
    rng = np.random.default_rng([1, job.fold])
    with device(job.library.paths, job.settings) as search:
        rows = [judge(search, job.library, held_out, order=order) for order in ("bm25", "learned")]
        for i in range(1, max(job.marks) + 1):
            if i % SESSION == 0:
                new_session(search)
            interact(search, job.library, asked[rng.integers(len(asked))], users, rng)
            if i in job.marks:
                rows.append(judge(search, job.library, held_out, order="learned"))
    return rows


def measure(
    found: dict[str, Library], *, users: str, marks: tuple[int, ...], n_folds: int, settings: Settings
) -> dict[str, FloatVector]:
    """collection -> `[2 + n_marks, 2]`: the mean over its queries at each stage."""
    jobs = [Job(library, fold, users, marks, settings) for library in found.values() for fold in range(n_folds)]
    with multiprocessing.get_context("spawn").Pool(max(multiprocessing.cpu_count(), 1)) as pool:
        results = pool.map(simulate, jobs, chunksize=1)
    means: dict[str, FloatVector] = {}
    for i, name in enumerate(found):
        own = results[i * n_folds : (i + 1) * n_folds]
        means[name] = np.array([np.concatenate(stage).mean(axis=0) for stage in zip(*own, strict=True)])
    return means


def report(means: dict[str, FloatVector], ordinary: dict[str, float], marks: tuple[int, ...]) -> Table:
    """nDCG@10 (MAP) at each stage, with both references."""
    stages = ("our BM25F", "prior", *(f"after {mark:,}" for mark in marks))
    table = Table(("collection", "ordinary BM25", *stages, "over ordinary", "over our BM25F"))
    for name, row in means.items():
        cells = [f"{n:.3f} ({m:.3f})" for n, m in row.tolist()]
        table.add(name, ordinary[name], *cells, change(row[-1, 0], ordinary[name]), change(row[-1, 0], row[0, 0]))
    mean, reference = np.mean(list(means.values()), axis=0), float(np.mean(list(ordinary.values())))
    cells = [f"{n:.3f} ({m:.3f})" for n, m in mean.tolist()]
    table.add("mean", reference, *cells, change(mean[-1, 0], reference), change(mean[-1, 0], mean[0, 0]))
    blanks = [""] * len(stages)
    gains = (mean[-1, 0] / reference - 1, mean[-1, 0] / mean[0, 0] - 1)
    table.add(f"aim: mean {100 * GAIN:+.0f} %", "", *blanks, *(verdict(gain >= GAIN) for gain in gains))
    worst = (
        min(row[-1, 0] / ordinary[name] - 1 for name, row in means.items()),
        min(row[-1, 0] / row[0, 0] - 1 for row in means.values()),
    )
    shown = (f"{verdict(loss >= LOSS)} ({100 * loss:+.1f} %)" for loss in worst)
    table.add(f"aim: each {100 * LOSS:+.0f} %", "", *blanks, *shown)
    return table


def main() -> None:
    """Print the table."""
    wanted = arguments(
        __doc__,
        users=Option("navigational", choices=CASCADES),
        folds=N_FOLDS,
        interactions=[50, 200, 1000],
        collections=Option(collections.NAMES, choices=collections.NAMES),
        ranker=Option("linear", choices=("linear", "neural")),
    )
    ordinary_bm25.required()
    settings, marks = with_learning(Settings(), ranker=wanted.ranker), tuple(wanted.interactions)
    with libraries(settings, tuple(wanted.collections)) as found:
        ordinary = {name: float(ordinary_bm25.ndcg(library.collection).mean()) for name, library in found.items()}
        means = measure(found, users=wanted.users, marks=marks, n_folds=wanted.folds, settings=settings)
    print(machine(), f"{wanted.users} users, {settings.learning.ranker} ranker: nDCG@10 (MAP)", sep="; ")
    print(f"\n{report(means, ordinary, marks)}")
