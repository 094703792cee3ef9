"""A person with preferences: does the ranker learn what kind of file they want, and do other queries stay as they were?

The files of a collection get folders, types and dates by lot. A person wants what a text judgement says is relevant
and what they prefer (recent files, one folder, one type, long documents), nothing else: grade = judgement if preferred,
else 0. They search queries of one half of a collection; nDCG@10 is measured on the other half, exploration off.

    python -m benchmarks preferences [--collections scifact locomo-chats handbook manpages]
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.following.indexing import update_index
from app.paths import Paths
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections
from benchmarks.collections import Collection, Document
from benchmarks.devices import device, new_session
from benchmarks.judged import ndcg
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, change, machine, verdict
from simulation.rounds.click_models import make_users

FOLDERS = ("archive", "inbox", "notes", "projects", "reading")
PREFERRED_FOLDER = "projects"
PREFERRED_TYPE = ".md"
RECENT_DAYS = 60.0
OLDEST_DAYS = 1500.0
LONG_SHARE = 0.3
"""a document is long when it is among this share of the longest"""


@dataclass(frozen=True, slots=True)
class Filed:
    """One document as a person's file."""

    document: Document
    path: Path
    age_days: float
    is_long: bool


def filed(collection: Collection, folder: Path, rng: np.random.Generator) -> dict[str, Filed]:
    """Write the collection as a person's files below `folder`, by lot; gives path -> what it is."""
    longest = np.quantile([len(d.text) for d in collection.documents], 1 - LONG_SHARE)
    now = time.time()
    found: dict[str, Filed] = {}
    for i, document in enumerate(collection.documents):
        ending = str(rng.choice(collections.FORMATS))
        path = folder / str(rng.choice(FOLDERS)) / f"document-{i:05d}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(collections.file_text(document, ending), encoding="utf-8")
        recent = rng.random() < 0.25
        age = float(rng.uniform(0, RECENT_DAYS) if recent else rng.uniform(RECENT_DAYS * 2, OLDEST_DAYS))
        os.utime(path, (now - age * 86400, now - age * 86400))
        found[str(path)] = Filed(document, path, age, len(document.text) >= longest)
    return found


PREFERENCES: dict[str, Callable[[Filed], bool]] = {
    "recent files": lambda file: file.age_days <= RECENT_DAYS,
    "one folder": lambda file: file.path.parent.name == PREFERRED_FOLDER,
    "one type": lambda file: file.path.suffix == PREFERRED_TYPE,
    "long documents": lambda file: file.is_long,
}

NAMES = ("cranfield", "cisi", "medline", "time")
"""adi, of 82 documents, is too small to be halved and filtered; the pace of learning was chosen on these"""
LEFT_OUT = ("scifact", "locomo-chats", "handbook", "manpages")
"""no constant of learning was chosen on these; they have about one relevant document a query"""
MOST_QUERIES = 240
"""of a larger collection so many, by lot"""
MARKS = (50, 200)
GAIN = 0.25
SEEDS = (1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One preference over one filed collection."""

    name: str
    collection: Collection
    files: dict[str, Filed]
    paths: Paths
    preference: str

    def grades(self, query: str, *, wanted: bool = True) -> dict[str, int]:
        """path -> grade of a query's relevant documents; with `wanted`, only of those that the person prefers."""
        judged = self.collection.grades[query]
        prefers = PREFERENCES[self.preference]
        return {
            path: judged[file.document.id]
            for path, file in self.files.items()
            if file.document.id in judged and (not wanted or prefers(file))
        }


def page_grades(page: ResultPage, grades: dict[str, int]) -> npt.NDArray[np.float64]:
    """The grade of each hit."""
    return np.array([max(grades.get(path, 0) for path in hit.paths) for hit in page.hits], dtype=float)


def judge(search: Search, person: Person, queries: list[str], *, order: str, wanted: bool = True) -> float:
    """Mean nDCG@10 without exploration."""
    values = []
    for query in queries:
        grades = person.grades(query, wanted=wanted)
        page = search.search(SearchRequest(person.collection.queries[query], order=order, explore=False))
        values.append(ndcg(page_grades(page, grades), grades.values()))
    return float(np.mean(values))


def live(job: tuple[Person, int, Settings]) -> list[float]:
    """One person's life: [BM25F, prior, after each mark], then, for plain judgements, [BM25F, prior, at the end]."""
    person, seed, settings = job
    rng = np.random.default_rng(seed)
    everything = list(person.collection.queries)
    drawn = np.sort(np.random.default_rng(0).permutation(len(everything))[:MOST_QUERIES])
    queries = [query for query in (everything[i] for i in drawn.tolist()) if person.grades(query)]
    shuffled = [queries[i] for i in rng.permutation(len(queries)).tolist()]
    asked, held_out = shuffled[::2], shuffled[1::2]
    users = make_users("navigational", top_grade=person.collection.top_grade)
    with device(person.paths, settings) as search:
        values = [judge(search, person, held_out, order=order) for order in ("bm25", "learned")]
        others = [judge(search, person, held_out, order=order, wanted=False) for order in ("bm25", "learned")]
        for i in range(1, max(MARKS) + 1):
            if i % 25 == 0:
                new_session(search)
            query = asked[rng.integers(len(asked))]
            page = search.search(SearchRequest(person.collection.queries[query]))
            grades = page_grades(page, person.grades(query))[: users.k]
            opened = users.clicks(grades.astype(np.int8), 0, rng)
            for rank in np.flatnonzero(opened).tolist():
                search.opened(page, page.hits[rank])
            search.leave(page)
            if i in MARKS:
                values.append(judge(search, person, held_out, order="learned"))
        others.append(judge(search, person, held_out, order="learned", wanted=False))
    return values + others


def people(folder: Path, settings: Settings, names: tuple[str, ...]) -> list[Person]:
    """Everyone: each preference over each collection, filed and indexed."""
    found: list[Person] = []
    for name in names:
        collection = collections.read(name)
        files = filed(collection, folder / name / "files", np.random.default_rng(3))
        paths = Paths(folder / name / "config", folder / name / "data")
        update_index(settings, paths, roots=(str(folder / name / "files"),), holder="benchmark", optimize=True)
        found.extend(Person(name, collection, files, paths, preference) for preference in PREFERENCES)
    return found


def report(who: list[Person], lives: list[list[float]]) -> Table:
    """nDCG@10 by preference; the last columns are for what the same queries are worth to someone without one."""
    stages = ("our BM25F", "prior", *(f"after {mark}" for mark in MARKS))
    table = Table(("preference", *stages, "gain", "text judgements alone: our BM25F", "prior", "at the end", "change"))
    rows = np.array(lives).reshape(len(who), len(SEEDS), -1).mean(axis=1)
    n = len(stages)
    for preference in PREFERENCES:
        own = rows[[i for i, person in enumerate(who) if person.preference == preference]].mean(axis=0)
        table.add(preference, *own[:n].tolist(), change(own[n - 1], own[0]), *own[n:].tolist(), change(own[-1], own[n]))
    for name in dict.fromkeys(person.name for person in who):
        own = rows[[i for i, person in enumerate(who) if person.name == name]].mean(axis=0)
        table.add(name, *own[:n].tolist(), change(own[n - 1], own[0]), *own[n:].tolist(), change(own[-1], own[n]))
    mean = rows.mean(axis=0)
    table.add("mean", *mean[:n].tolist(), change(mean[n - 1], mean[0]), *mean[n:].tolist(), change(mean[-1], mean[n]))
    lives_gain = np.array(lives)[:, n - 1] / np.maximum(np.array(lives)[:, 0], 1e-9) - 1
    error = 100 * float(lives_gain.std(ddof=1)) / len(lives_gain) ** 0.5
    table.add("standard error", *[""] * n, f"{error:.1f} points", "", "", "", "")
    met = verdict(mean[n - 1] / mean[0] - 1 >= GAIN)
    table.add("aim", *[""] * n, f">= {100 * GAIN:+.0f} % {met}", "", "", "", "")
    return table


@dataclass(frozen=True, slots=True)
class Intrusion:
    """What persistent clicking on one document does to queries that it has nothing to do with."""

    n_queries: int
    before: float
    """mean nDCG@10 of the other queries"""
    after: float
    mean_rise: float
    """by how many ranks the clicked document stands higher for those that it appears for at all"""
    in_top: int
    """of those queries, how many show it in the first ten and did not before"""


def intrude(person: Person, settings: Settings, n_clicks: int = 50) -> Intrusion:
    """Open one document, from rank 10 of one query, again and again; then look at all the other queries."""
    queries = list(person.collection.queries)
    with device(person.paths, settings) as search:
        first = search.search(SearchRequest(person.collection.queries[queries[0]], order="bm25"))
        target = first.hits[9].doc_id
        others = [q for q in queries[1:] if person.grades(q, wanted=False)]
        before, ranks = (
            judge(search, person, others, order="learned", wanted=False),
            _ranks(search, person, others, target),
        )
        for i in range(n_clicks):
            if i % 25 == 24:
                new_session(search)
            page = search.search(SearchRequest(person.collection.queries[queries[0]]))
            for hit in page.hits:
                if hit.doc_id == target:
                    search.opened(page, hit)
            search.leave(page)
        later = _ranks(search, person, others, target)
        after = judge(search, person, others, order="learned", wanted=False)
    rises = [ranks[q] - later[q] for q in ranks if q in later]
    new = sum(1 for q, rank in later.items() if rank <= 10 < ranks.get(q, 101))
    return Intrusion(len(others), before, after, float(np.mean(rises)) if rises else 0.0, new)


def _ranks(search: Search, person: Person, queries: list[str], doc_id: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for query in queries:
        page = search.search(SearchRequest(person.collection.queries[query], explore=False))
        for hit in page.hits:
            if hit.doc_id == doc_id:
                found[query] = hit.rank
    return found


def main() -> None:
    """Print the tables."""
    wanted = arguments(__doc__, collections=Option(NAMES, choices=(*NAMES, *LEFT_OUT)))
    settings = Settings()
    with tempfile.TemporaryDirectory(prefix="foltr-benchmark-") as folder:
        who = people(Path(folder), settings, tuple(wanted.collections))
        jobs = [(person, seed, settings) for person in who for seed in SEEDS]
        with multiprocessing.get_context("spawn").Pool() as pool:
            print(machine(), report(who, pool.map(live, jobs, chunksize=1)), sep="\n\n")
        table = Table(("one document opened 50 times", "other queries", "nDCG@10 before", "after", "change",
                       "mean rise in ranks", "queries it newly enters the first ten of"))  # fmt: skip
        for person in who[:: len(PREFERENCES)]:
            seen = intrude(person, settings)
            table.add(person.name, seen.n_queries, seen.before, seen.after, change(seen.after, seen.before),
                      seen.mean_rise, seen.in_top)  # fmt: skip
        print(f"\n{table}")


if __name__ == "__main__":
    main()
