"""A person with preferences: is the kind of file they want learned soon, remembered, and without effect elsewhere?

The files of a collection get random folders, types and dates. A person wants what a text judgement says is relevant
and what they prefer (recent files, one folder, one type, long documents), nothing else: grade = judgement if preferred,
else 0. They search queries of one half of a collection; nDCG@10 is measured on the other half, exploration off.

    python -m benchmarks preferences [--collections scifact locomo-chats ...] [--parts lives quiet ...] [--seeds 1 2 3]

lives: 200 searches; the text judgements are judged, too, on the queries with a wanted file and on all not asked. Told:
the same of a device that knows the preference from the start.
quiet: what one opening and twenty do to a hundred other queries. text: 1,000 searches by the text judgements alone.
kept: 2,000 searches, of which three of four find again what is wanted. taste: 200 for one type, then for another.
random: 80 random openings among the first nine, of 80 queries or each of 40 twice.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import structs

from app.learning import model_versions
from app.learning.traits import LONG, NEW
from app.learning.votes import Vote, Votes
from app.paths import Paths
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections
from benchmarks.collections import Collection, Document
from benchmarks.devices import device, indexed
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
    """Write the collection as a person's files below `folder`, at random; gives path -> what it is."""
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

NAMES = ("medline", "time", "handbook", "manpages", "locomo-chats")
"""no constant of learning was chosen on these"""
CHOSEN_ON = ("cisi", "cranfield", "scifact")
MOST_QUERIES = 240
"""queries taken from a larger collection, at random"""
MOST_OTHERS = 100
"""queries on which it is looked at what an opening does"""
SEEDS = (1, 2, 3)
EVERYTHING = "whatever"
"""someone without a preference"""


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


class Life:
    """A person at their device: what they asked, and how well they are served."""

    def __init__(self, search: Search, person: Person, seed: int) -> None:
        self.search, self.person, self.rng = search, person, np.random.default_rng(seed)
        everything = list(person.collection.queries)
        drawn = np.sort(np.random.default_rng(0).permutation(len(everything))[:MOST_QUERIES])
        self.queries = [everything[i] for i in drawn.tolist() if person.grades(everything[i], wanted=False)]
        able = [query for query in self.queries if person.grades(query)]
        shuffled = [able[i] for i in self.rng.permutation(len(able)).tolist()]
        self.asked, self.held_out = shuffled[::2], shuffled[1::2]
        self.not_asked = [query for query in self.queries if query not in set(self.asked)]
        self.users = make_users("navigational", top_grade=person.collection.top_grade)

    def page(self, query: str, *, order: str = "learned", limit: int = 10) -> ResultPage:
        text = self.person.collection.queries[query]
        return self.search.search(SearchRequest(text, order=order, explore=False, limit=limit))

    def judged(self, queries: list[str], *, order: str = "learned", wanted: bool = True) -> float:
        """Mean nDCG@10."""
        values = []
        for query in queries:
            grades = self.person.grades(query, wanted=wanted)
            values.append(ndcg(page_grades(self.page(query, order=order), grades), grades.values()))
        return float(np.mean(values))

    def share(self) -> float:
        """Of the first ten of the queries held out, how many are preferred, in the mean."""
        prefers = PREFERENCES[self.person.preference]
        shown = [[prefers(self.person.files[hit.path]) for hit in self.page(query).hits] for query in self.held_out]
        return float(np.mean([np.mean(own) for own in shown if own]))

    def open(self, page: ResultPage, places: list[int]) -> bool:
        for place in places:
            self.search.opened(page, page.hits[place])
        self.search.leave(page)
        return bool(places)

    def ask(self, query: str | None = None) -> bool:
        """One search; whether anything was opened."""
        query = query or self.asked[self.rng.integers(len(self.asked))]
        page = self.page(query, limit=100)
        grades = page_grades(page, self.person.grades(query))[: self.users.k]
        return self.open(page, np.flatnonzero(self.users.clicks(grades.astype(np.int8), 0, self.rng)).tolist())

    def find_again(self) -> None:
        """What is wanted of a query that was asked before, where it stands."""
        query = self.asked[self.rng.integers(len(self.asked))]
        page = self.page(query, limit=100)
        self.open(page, np.flatnonzero(page_grades(page, self.person.grades(query))[:10])[:1].tolist())

    def tell(self) -> None:
        """Let the device know the preference, and no other, as surely as it can: what is left to learn."""
        search, prefers = self.search, PREFERENCES[self.person.preference]
        shown = (hit for query in self.held_out for hit in self.page(query, limit=100).hits)
        wanted = next(hit for hit in shown if prefers(self.person.files[hit.path]))
        type_, folder, *_ = search.picks.marks([(wanted.path, wanted.part, wanted.type)])[0]
        trait = {"recent files": NEW, "long documents": LONG, "one folder": folder}.get(self.person.preference, type_)
        sure = Votes((Vote(b"", 1, {trait: (1e6, 1e5)}),) * 2)
        model_versions.save(search.store, structs.replace(search.learner.model, votes=sure), date.today())


Measured = dict[str, float]


def lives(life: Life) -> Measured:
    """Gains in percent after so many searches; what they cost by the text judgements; the share after ten picks.

    The same of a device that is told the preference: what the order by text, not learning, leaves to be gained.
    """
    before = life.judged(life.held_out)
    text = [life.judged(own, wanted=False) for own in (life.held_out, life.not_asked)]
    share, n_picks, found = life.share(), 0, {}
    for i in range(1, 201):
        n_picks += life.ask()
        if n_picks == 10 and "ten picks: share" not in found:
            found["ten picks: share"] = life.share() - share
        if i in (10, 30, 50, 200):
            found[f"gain after {i}"] = percent(life.judged(life.held_out), before)
    found[f"gain after 200, {life.person.preference}"] = found["gain after 200"]
    for who in ("", "told: "):
        if who:
            life.tell()
            found["told: gain"] = percent(life.judged(life.held_out), before)
            found["told: share"] = life.share() - share
        found[f"{who}text, queries with a wanted file"] = percent(life.judged(life.held_out, wanted=False), text[0])
        found[f"{who}text, all queries not asked"] = percent(life.judged(life.not_asked, wanted=False), text[1])
    return found


def quiet(life: Life) -> Measured:
    """Kendall's distance of the first ten of other queries, in the mean, after one opening and after twenty."""
    drawn = [life.queries[i] for i in life.rng.permutation(len(life.queries)).tolist()]
    asked, others = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :][:MOST_OTHERS]
    before = [[hit.doc_id for hit in life.page(query, limit=100).hits] for query in others]
    found, n_opened = {}, 0
    for query in asked:
        n_opened += life.ask(query)
        if n_opened in (1, 20) and f"openings: {n_opened}" not in found:
            after = [[hit.doc_id for hit in life.page(query, limit=100).hits] for query in others]
            distances = [kendall(*both) for both in zip(before, after, strict=True)]
            found[f"openings: {n_opened}"] = float(np.mean(distances))
    return found


def kendall(one: list[int], other: list[int]) -> float:
    """Share of the pairs of documents in either first ten that stand the other way round; 0 for the same order."""
    places = [{doc: place for place, doc in enumerate(ranking)} for ranking in (one, other)]
    both = [doc for doc in dict.fromkeys(one[:10] + other[:10]) if all(doc in own for own in places)]
    pairs = [(a, b) for i, a in enumerate(both) for b in both[:i]]
    turned = sum((places[0][a] < places[0][b]) != (places[1][a] < places[1][b]) for a, b in pairs)
    return turned / len(pairs) if pairs else 0.0


def text(life: Life) -> Measured:
    """What 1,000 searches of someone who goes by the text alone cost."""
    before = life.judged(life.held_out)
    for _ in range(1000):
        life.ask()
    habits = float(bool(life.search.learner.habits.liking))
    return {"text alone, 1,000": percent(life.judged(life.held_out), before), "text alone, a habit": habits}


def kept(life: Life) -> Measured:
    """A habit that goes on: the least of its gain from its peak on, and of nDCG, as shares of the peak."""
    start, values = life.judged(life.held_out), []
    for i in range(1, 2001):
        if i <= 200 or life.rng.random() < 0.25:
            life.ask()
        else:
            life.find_again()
        if i % 200 == 0:
            values.append(life.judged(life.held_out))
    peak = int(np.argmax(values))
    least = min(values[peak:])
    gains = {"kept to 2,000: gain": (least - start) / (values[peak] - start)} if values[peak] > start * 1.02 else {}
    return gains | {"kept to 2,000: nDCG": least / values[peak]}


def taste(life: Life) -> Measured:
    """After 200 searches for one type, 50 for another: what is left of the old gain, and the new one, in percent."""
    other = Life(life.search, replace(life.person, preference=OTHER_TYPE), 1)
    starts = life.judged(life.held_out), other.judged(other.held_out)
    found = {}
    for n, who in ((200, life), (50, other)):
        for _ in range(n):
            who.ask()
        found[f"taste: old, after {n} for {'it' if who is life else 'another'}"] = percent(
            life.judged(life.held_out), starts[0]
        )
    return found | {"taste: new": percent(other.judged(other.held_out), starts[1])}


def by_lot(life: Life) -> Measured:
    """Openings that follow nothing: whether a habit is in force, and what they cost."""
    before = life.judged(life.queries)
    drawn = [life.queries[i] for i in life.rng.permutation(len(life.queries)).tolist()]
    times = 1 + int(life.rng.integers(2))
    for i in range(80):
        page = life.page(drawn[i // times % len(drawn)], limit=100)
        life.open(page, [int(life.rng.integers(min(9, len(page.hits))))] if page.hits else [])
    habits = float(bool(life.search.learner.habits.liking))
    return {"random: a habit": habits, "random: nDCG": percent(life.judged(life.queries), before)}


def percent(new: float, old: float) -> float:
    return 100 * (new / old - 1)


OTHER_TYPE = "another type"
PREFERENCES |= {OTHER_TYPE: lambda file: file.path.suffix == ".html", EVERYTHING: lambda file: True}
PARTS: dict[str, tuple[Callable[[Life], Measured], tuple[str, ...]]] = {
    "lives": (lives, ("recent files", "one folder", "one type", "long documents")),
    "quiet": (quiet, (EVERYTHING,)),
    "text": (text, (EVERYTHING,)),
    "kept": (kept, ("recent files", "one folder", "one type")),
    "taste": (taste, ("one type",)),
    "random": (by_lot, (EVERYTHING,)),
}
"""what is measured, and with whom"""
AIMS = {
    "ten picks: share": ">= 0.1", "gain after 200": ">= 35", "text, queries with a wanted file": ">= -1.5",
    "text, all queries not asked": ">= -3", "openings: 1": "<= 0", "openings: 20": "<= 0.02",
    "text alone, 1,000": ">= -0.3", "kept to 2,000: gain": ">= 0.9", "kept to 2,000: nDCG": ">= 0.9",
    "taste: old, after 50 for another": "<= 0", "random: a habit": "<= 0",
}  # fmt: skip


def live(job: tuple[str, Person, int, Settings]) -> Measured:
    """One part with one person."""
    part, person, seed, settings = job
    with device(person.paths, settings) as search:
        return PARTS[part][0](Life(search, person, seed))


def people(folder: Path, settings: Settings, names: list[str], parts: list[str]) -> list[tuple[str, Person]]:
    """Everyone, with the part that they are asked for: each collection filed and indexed once."""
    found: list[tuple[str, Person]] = []
    for name in names:
        collection = collections.read(name)
        files = filed(collection, folder / name / "files", np.random.default_rng(3))
        paths = indexed(folder / name / "files", folder / name, settings)
        found.extend((part, Person(name, collection, files, paths, who)) for part in parts for who in PARTS[part][1])
    return found


def report(measured: list[Measured]) -> Table:
    """Each number over all lives that have it: mean, standard error, least and most, and its aim."""
    table = Table(("measured", "lives", "mean", "+-", "least", "most", "aim"))
    for name in dict.fromkeys(name for own in measured for name in own):
        values = np.array([own[name] for own in measured if name in own])
        mean, error = float(values.mean()), float(values.std(ddof=min(1, len(values) - 1)) / len(values) ** 0.5)
        aim = AIMS.get(name, "")
        met = f"{aim} {verdict(mean >= float(aim[3:]) if aim[:2] == '>=' else mean <= float(aim[3:]))}" if aim else ""
        table.add(name, len(values), mean, error, float(values.min()), float(values.max()), met)
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
        life = Life(search, person, 1)
        before, ranks = life.judged(others, wanted=False), _ranks(search, person, others, target)
        for _ in range(n_clicks):
            page = search.search(SearchRequest(person.collection.queries[queries[0]]))
            for hit in page.hits:
                if hit.doc_id == target:
                    search.opened(page, hit)
            search.leave(page)
        later = _ranks(search, person, others, target)
        after = life.judged(others, wanted=False)
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
    wanted = arguments(
        __doc__,
        collections=Option(NAMES, choices=(*NAMES, *CHOSEN_ON)),
        parts=Option((*PARTS, "intrusion"), choices=(*PARTS, "intrusion")),
        seeds=SEEDS,
        processes=Option(None, kind=int),
    )
    settings = Settings()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="foltr-benchmark-") as folder:
        parts = [part for part in wanted.parts if part in PARTS]
        who = people(Path(folder), settings, wanted.collections, parts or ["quiet"])
        jobs = [(part, person, seed, settings) for part, person in who for seed in wanted.seeds if parts]
        with multiprocessing.get_context("spawn").Pool(wanted.processes) as pool:
            measured = pool.map(live, jobs, chunksize=1)
        for name in wanted.collections if len(wanted.collections) > 1 else ():
            own = [one for one, (_, person, *_) in zip(measured, jobs, strict=True) if person.name == name]
            print(f"\n{name}\n\n{report(own)}")
        print(f"\nall\n\n{report(measured)}")
        if "intrusion" in wanted.parts:
            print(f"\n{intrusions(list({person.name: person for _, person in who}.values()), settings)}")


def intrusions(who: list[Person], settings: Settings) -> Table:
    """One document of each collection opened again and again."""
    table = Table(("one document opened 50 times", "other queries", "nDCG@10 before", "after", "change",
                   "mean rise in ranks", "queries it newly enters the first ten of"))  # fmt: skip
    for person in who:
        seen = intrude(person, settings)
        table.add(person.name, seen.n_queries, seen.before, seen.after, change(seen.after, seen.before),
                  seen.mean_rise, seen.in_top)  # fmt: skip
    return table
