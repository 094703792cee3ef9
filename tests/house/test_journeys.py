"""How many files of the product a reader meets on the way of one query, file, sync, round and study.

A file counts when one of its functions runs between the named call and its return. Each journey is made twice and
counted the second time, so that what an import runs is left out. A ceiling is raised together with a line in
docs/decisions/016-what-lines-bought.md that says what was bought.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import pytest

from app.federation.sync import Sync
from app.following.indexing import update_index
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, LearningSettings, Paths, Settings
from app.store import Store
from indexer.extract.source import Limits
from indexer.prepare import prepare_file
from indexer.update import Updater
from simulation.cli import main as simulate
from tests.app.federation.groups import Group, Person, friends, serving_sealed

ROOT = Path(__file__).resolve().parents[2]
HOUSES = tuple(
    f"{ROOT / house}/" for house in ("app", "console", "federation_server", "foltr", "indexer", "simulation")
)
QUERY, FILE, SYNC, SERVER, STUDY = 35, 31, 41, 31, 45
"""files on each journey, at most"""


class Walk:
    """Notes the product's files whose functions run, while it is `on`."""

    def __init__(self) -> None:
        self.on = False
        self.files: set[str] = set()
        self._seen: set[CodeType] = set()

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        """A function for sys.setprofile."""
        code = frame.f_code
        if self.on and event == "call" and code not in self._seen:
            self._seen.add(code)
            if code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(HOUSES):
                self.files.add(code.co_filename.removeprefix(f"{ROOT}/"))

    @contextmanager
    def here(self) -> Iterator[None]:
        """On, in this thread, as long as the block."""
        before, self.on = sys.getprofile(), True
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(before)
            self.on = False


def assert_at_most(files: set[str], ceiling: int) -> None:
    """Not more files, and not so many fewer that the ceiling says nothing."""
    shown = f"{len(files)} files:\n" + "\n".join(sorted(files))
    assert ceiling - 2 <= len(files) <= ceiling, shown


def walked(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, journey: Callable[[], object]) -> set[str]:
    """The files on the longest way through one method, as it is called in the course of a journey."""
    walks, method = [Walk()], getattr(owner, name)

    def noted(*arguments: object, **named: object) -> object:
        walks.append(Walk())
        with walks[-1].here():
            return method(*arguments, **named)

    journey()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, noted)
        journey()
    return max((walk.files for walk in walks), key=len)


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A folder with one text file; its data will lie beside it."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "heron.txt").write_text("Grey heron\n\nThe heron waits for fish.\n", encoding="utf-8")
    return tmp_path


QUIET = Settings(index=IndexSettings(workers=1), learning=LearningSettings(exploration=0.0))


def indexed(device: Path, name: str) -> Paths:
    paths = Paths(device / name / "config", device / name / "data")
    update_index(QUIET, paths, roots=[str(device / "notes")])
    return paths


def test_the_way_of_a_query(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From `Search.search` to the page."""
    paths = indexed(device, "a")

    def ask() -> None:
        search = Search(QUIET, paths)
        try:
            assert search.search(SearchRequest("heron fish")).hits
        finally:
            search.close()

    assert_at_most(walked(monkeypatch, Search, "search", ask), QUERY)


def test_the_way_of_a_text_file(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From `Updater.scan` to the commit, with the worker that reads it; on a busy machine, too, it is not looked at."""
    monkeypatch.setattr("indexer.confined.pool.LOOK_SECONDS", 600.0)
    names, worker, path = iter("ab"), Walk(), str(device / "notes" / "heron.txt")
    files = walked(monkeypatch, Updater, "scan", lambda: indexed(device, next(names)))
    prepare_file(path, Limits())
    with worker.here():
        prepare_file(path, Limits())
    assert_at_most(files | worker.files, FILE)


@pytest.fixture
def sealed(tmp_path: Path, few_coins: None) -> Iterator[tuple[Group, Walk]]:
    """A sealed group of two weights, and the walk through its threads."""
    walk = Walk()
    threading.setprofile(walk.note)
    try:
        with serving_sealed(tmp_path / "server") as group:
            yield group, walk
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]


@pytest.fixture
def people(sealed: tuple[Group, Walk], tmp_path: Path) -> Iterator[list[Person]]:
    stores: list[Store] = []

    def make() -> Person:
        stores.append(Store(tmp_path / f"device-{len(stores)}" / "state.sqlite"))
        return Person(stores[-1], QUIET)

    yield friends(sealed[0].made, make, n_pages=20)
    for store in stores:
        store.close()


def test_the_way_of_a_sync_and_of_the_server_meanwhile(
    sealed: tuple[Group, Walk], people: list[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Sync.run` of who answers a sealed round and of who adds it up, and what runs on the server from ask to sum."""

    def a_round() -> None:
        """Everybody answers; whoever is in the committee and was too early for it adds up."""
        sealed[1].on = True
        for person in (*people, *people):
            person.sync()

    on_device = walked(monkeypatch, Sync, "run", a_round)
    assert_at_most(on_device, SYNC)
    assert_at_most({name for name in sealed[1].files if not name.startswith("app/")}, SERVER)


def test_the_way_of_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command line to the tables, without pictures."""
    monkeypatch.setattr("simulation.report.plots.write_plots", lambda *arguments, **options: [])
    monkeypatch.setenv("FOLTR_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("FOLTR_DATASETS", "")
    size = ["--rounds", "4", "--evaluate-every", "2", "--clients", "3", "--local", "2", "--folds", "1", "--jobs", "1"]
    assert simulate(["sample", *size, "--out", str(tmp_path / "a")]) == 0
    walk = Walk()
    with walk.here():
        assert simulate(["sample", *size, "--out", str(tmp_path / "b")]) == 0
    assert_at_most(walk.files, STUDY)
