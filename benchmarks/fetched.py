"""What a hundred fetches elsewhere are worth to an assistant: nDCG@10 of what it asks next, with and without them.

    python -m benchmarks fetched --folder FOLDER                   repositories, FOLDER as `benchmarks code` has it
    python -m benchmarks fetched --folder FOLDER --wanted tests    the tests of the files that are judged relevant
    python -m benchmarks fetched --texts                           the collections of data/text

All of them are in one index. They are divided into three parts at random. For each part there are assistants that
ask the questions of the other two by `mcp --learn`, in random order, until they have fetched 100 documents, and then
those of the part. The ranker of code has weights only from the other two. Each answer has ten results. An assistant
fetches the first of them that it wants, and nothing if it wants none; one *with mistakes* fetches another of the ten
in one case of five; one *at random* fetches any of the ten. Points are hundredths of nDCG. Needs the extra `mcp`.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from app.assistants.granted import Granted
from app.commands.mcp import server
from app.following.indexing import update_index
from app.paths import Paths
from app.settings import MeaningSettings, Settings
from benchmarks import collections
from benchmarks.code import Repository, fitted, grades, judged, ranked_by, repositories
from benchmarks.judged import CUTOFF, ndcg
from benchmarks.running import arguments
from benchmarks.tables import Table, machine, verdict
from foltr.arrays import FloatVector

N_FETCHES = 100
MISTAKES = 0.2
PARTS = 3
ROOM = 0.95
"""a place with less has room"""
AIM, MOST_LOST = 3.0, 0.3
"""points gained where there is room; percent lost elsewhere"""
CHOSEN_ON = 2
"""what sources teach was chosen on every second repository from the first on"""

Rows = Sequence[Sequence[str]]
"""the paths that each result stands for"""


class Question(NamedTuple):
    text: str
    grades: Callable[[Rows], FloatVector]
    judged: tuple[int, ...]
    """the grades of all that is relevant"""


class Place(NamedTuple):
    """A folder that an assistant is granted, and what is asked there."""

    name: str
    folder: Path
    questions: list[Question]
    is_left_out: bool = False
    """what is learned was chosen without it"""


class Habit(NamedTuple):
    """How an assistant fetches."""

    name: str
    mistakes: float
    """the share of fetches of something else"""
    is_random: bool = False


HABITS = (Habit("wanted", 0.0), Habit("with mistakes", MISTAKES), Habit("at random", 0.0, is_random=True))


class Assistant:
    """One that is known to the program by its name, and learned from."""

    def __init__(self, settings: Settings, paths: Paths, name: str) -> None:
        self._settings, self._paths = settings, msgspec.structs.replace(paths, assistant=name)

    @contextmanager
    def at(self, place: Place) -> Iterator[Callable[..., dict[str, Any]]]:
        """The tools of `mcp` for one folder: name and arguments to the answer."""
        granted = Granted(self._settings, self._paths, [str(place.folder)], learns=True)
        with asyncio.Runner() as loop, closing(granted):
            tools = server(granted)
            yield lambda tool, **given: _content(loop.run(tools.call_tool(tool, given)))

    def fetches(self, places: Sequence[Place], habit: Habit, rng: np.random.Generator) -> int:
        """Ask the questions of these places until N_FETCHES documents are fetched; gives how many were."""
        asked, n = [(place, question) for place in places for question in place.questions], 0
        with ExitStack() as opened:
            at = {place.name: opened.enter_context(self.at(place)) for place in places}
            for i in rng.permutation(len(asked)).tolist():
                place, question = asked[i]
                rows = rows_of(at[place.name]("search", query=question.text[:1_000], limit=CUTOFF))
                chosen = choice(question.grades(rows) if rows else np.zeros(0), habit, rng)
                if chosen is not None:
                    at[place.name]("fetch", ids=[rows[chosen][0]], tokens=1_000)
                    n += 1
                if n == N_FETCHES:
                    break
        return n

    def worth(self, place: Place) -> float:
        """nDCG@10 of the questions of a place, mean."""
        with self.at(place) as ask:
            answers = [(ask("search", query=one.text[:1_000], limit=CUTOFF), one) for one in place.questions]
        return float(
            np.mean([ndcg(one.grades(rows_of(found)), one.judged) if rows_of(found) else 0.0 for found, one in answers])
        )


def _content(result: Any) -> dict[str, Any]:
    content: dict[str, Any] = result.structured_content
    return content


def rows_of(answer: dict[str, Any]) -> Rows:
    """The paths that each result of an answer stands for, its id first."""
    return [[one["id"], *one.get("same_text", ())] for one in answer["results"]]


def choice(values: FloatVector, habit: Habit, rng: np.random.Generator) -> int | None:
    """Which of the results of these grades is fetched; None for none."""
    wanted, others = np.flatnonzero(values > 0), np.flatnonzero(values == 0)
    if habit.is_random:
        return int(rng.integers(len(values))) if len(values) else None
    if len(others) and rng.random() < habit.mistakes:
        return int(rng.choice(others))
    return int(wanted[0]) if len(wanted) else None


TEST = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__)(?:[/_.-]|$)|(?<=[a-z0-9])(?:Tests?|Spec)\.[a-z]+$")
_OF_TESTS = re.compile(r"^(?:tests?|spec)[-_]|[-_](?:tests?|spec)$|(?:Tests?|Spec)$")


def namesakes(paths: Sequence[str], ends: Sequence[str]) -> list[str]:
    """Of these paths the tests that are called as one of the files is: spec_request.rb of lib/request.rb."""
    called = {_stem(end) for end in ends}
    return [path for path in paths if TEST.search(path) and _stem(path) in called]


def _stem(path: str) -> str:
    return _OF_TESTS.sub("", os.path.basename(path).partition(".")[0]).lower()


def checkouts(folder: Path, found: Sequence[Repository], *, of_tests: bool) -> Iterator[Place]:
    """The repositories whole; their tests where those are wanted and there are any."""
    for number, one in enumerate(found):
        top, questions = (folder / "trees" / one.name).resolve(), []
        paths = sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()) if of_tests else []
        for query in one.queries:
            ends = namesakes(paths, query.relevant) if of_tests else query.relevant
            if ends:
                questions.append(Question(query.text, partial(grades, relevant=ends), (1,) * len(ends)))
        if questions:
            yield Place(one.name, top, questions, not of_tests and number % CHOSEN_ON != 0)


def texts(folder: Path, n_queries: int) -> Iterator[Place]:
    """The collections of texts, written below the folder."""
    for name in collections.ALL:
        own = collections.sampled(collections.read(name), n_queries)
        files = collections.write_files(own, folder / name)
        yield Place(name, folder / name, [
            Question(text, partial(_by_id, files=files, known=own.grades[id]), tuple(own.grades[id].values()))
            for id, text in own.queries.items()
        ])  # fmt: skip


def _by_id(rows: Rows, files: dict[str, str], known: dict[str, int]) -> FloatVector:
    return np.array([max(known.get(files.get(path, ""), 0) for path in row) for row in rows], dtype=np.float64)


Weights = Callable[[Sequence[str]], FloatVector | None]
"""of the ranker of code, from the places of these names alone; None for the shipped ones"""
Measured = dict[str, list[list[float]]]
"""place -> for each seed nDCG@10 without fetches, then by HABITS"""


def measure(
    places: Sequence[Place], paths: Paths, settings: Settings, seeds: Sequence[int], weights: Weights
) -> Measured:
    """Each place by assistants that fetched in the places of the other parts."""
    measured: Measured = defaultdict(list)
    for seed in seeds:
        lot = np.random.default_rng(seed).permutation(len(places))
        for part in range(min(PARTS, len(places))):
            asked = [places[i] for i in lot[part::PARTS].tolist()]
            others = [places[i] for i in lot.tolist() if places[i] not in asked]
            own = weights([place.name for place in others])
            with ranked_by(own) if own is not None else ExitStack():
                known = [Assistant(settings, paths, f"a{seed}-{part}-{i}") for i in range(len(HABITS) + 1)]
                for i, habit in enumerate(HABITS):
                    known[i + 1].fetches(others, habit, np.random.default_rng([seed, part, i]))
                for place in asked:
                    measured[place.name].append([one.worth(place) for one in known])
    return measured


def report(places: Sequence[Place], measured: Measured, *, is_aimed_at: bool) -> list[Table]:
    """By place, then the means where there is room and of all; with the aim of a gain or that of no loss alone."""
    values = np.array([np.mean(measured[place.name], axis=0) for place in places])
    gains = 100 * (values[:, 1:] - values[:, :1])
    table = Table(("place", "questions", "without", *(f"{habit.name}, points" for habit in HABITS)))
    for place, own, gain in zip(places, values, gains, strict=True):
        table.add(place.name, len(place.questions), float(own[0]), *map(_points, gain))
    room = values[:, 0] < ROOM
    left_out = room & np.array([place.is_left_out for place in places])
    means_of = {"with room": room, "with room, left out": left_out, "all": room | True}
    for what, rows in means_of.items():
        if rows.any():
            means = map(_points, gains[rows].mean(axis=0))
            table.add(f"mean of {rows.sum()}: {what}", "", float(values[rows, 0].mean()), *means)
    each = np.array([100 * (np.array(own)[:, 1:] - np.array(own)[:, :1]) for own in measured.values()])
    table.add("least of all, any seed", "", "", *map(_points, each.min(axis=(0, 1))))
    if is_aimed_at:
        what = "with room, left out" if left_out.any() else "with room"
        met = gains[means_of[what]].mean(axis=0)[:2] >= AIM
        table.add(f"aim: +{AIM:g} {what}", "", "", *_verdicts(met), "")
    lost = 100 * (1 - values[:, 1:].mean(axis=0) / values[:, 0].mean())
    table.add(f"aim: at most {MOST_LOST:g} % lost", "", "", *_verdicts(lost <= MOST_LOST))
    return [table]


def _verdicts(are_met: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[str]:
    return [verdict(bool(own)) for own in are_met]


def _points(gain: float) -> str:
    return f"{gain:+.1f}"


@contextmanager
def homes(wanted: Any, settings: Settings) -> Iterator[tuple[list[Place], Path, Weights]]:
    """The places, the folder that they lie in, and the weights to rank them by."""
    with tempfile.TemporaryDirectory(prefix="foltr-fetched-") as base:
        if wanted.texts:
            yield list(texts(Path(base) / "files", wanted.queries)), Path(base), lambda others: None
            return
        found = list(repositories(wanted.folder, settings))
        pages = {one.name: judged(one) for one in found}
        places = list(checkouts(wanted.folder, found, of_tests=wanted.wanted == "tests"))
        yield places, Path(base), lambda others: fitted([page for name in others for page in pages[name]])


def main() -> None:
    """Print the table."""
    wanted = arguments(__doc__, folder=None, texts=False, wanted="sources", seeds=[1, 2, 3], queries=40)
    settings = msgspec.structs.replace(Settings(), meaning=MeaningSettings(enabled=False))
    with homes(wanted, settings) as (places, base, weights):
        paths = Paths(base / "config", base / "data")
        roots = tuple(str(place.folder) for place in places)
        update_index(settings, paths, roots=roots, holder="benchmark", optimize=True)
        measured = measure(places, paths, settings, wanted.seeds, weights)
        print(machine(), *report(places, measured, is_aimed_at=not wanted.texts), sep="\n\n")
