"""Computing vectors with the user's settings: after an update, and while changes are followed."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from app.chosen_folders import remember_root
from app.following.following import FollowersWork, follow_changes
from app.following.index_requests import IndexRequests
from app.following.indexing import reader_pool, update_index
from app.following.vector_making import Making
from app.learning.pick_keys import load_key
from app.learning.picks import Picks
from app.settings import IndexSettings, MeaningSettings, Paths, Settings
from app.store import Store
from indexer.meaning.encoder import kind_of
from indexer.meaning.making import VectorMaker
from indexer.meaning.vectors import VectorWriter, n_with_vectors, read
from indexer.progress import Progress
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index
from tests.tiny_encoder import write_encoder
from tests.waiting import until

pytest.importorskip("onnxruntime")
PATIENCE = 180.0


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "config", tmp_path / "data")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    chosen = MeaningSettings(model=str(write_encoder(tmp_path / "encoder")))
    return Settings(index=IndexSettings(workers=1), meaning=chosen)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a car", "a heron", "a tax"):
        (folder / f"{name}.txt").write_text(name)
    return folder


def coverage(settings: Settings, paths: Paths) -> tuple[int, int]:
    return n_with_vectors(Index.open(paths.index).snapshot(), paths.index, kind_of(settings.meaning.model))


def making(settings: Settings, paths: Paths, reports: list[Progress], *, why: str = "") -> Making:
    return Making(settings, paths, Catalogue.open(paths.catalogue), reports.append, may_work=lambda: why)


@pytest.mark.parametrize("seconds", [0.0, PATIENCE])
def test_who_does_not_wait_hears_whether_it_goes_on(
    paths: Paths, settings: Settings, notes: Path, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small amount is computed at once: all that is missing, or a first part."""
    update_index(settings, paths, roots=[str(notes)])
    monkeypatch.setattr(VectorMaker.step, "__defaults__", (seconds,))
    stop, requests = threading.Event(), IndexRequests(paths.data_dir)
    with closing(Catalogue.open(paths.catalogue)) as catalogue, reader_pool(settings, paths) as pool:
        work = FollowersWork(settings, paths, lambda progress: None, stop, requests, catalogue, pool, False)
        said = work.read_for_meaning(stop, is_waited_for=False)
        work.close()
    assert said == (
        "read for meaning: 3 documents" if seconds else "words can be searched; reading for meaning goes on"
    )
    assert coverage(settings, paths) == (3 if seconds else 0, 3)


def test_it_reports_how_far_it_is_and_waits_where_it_may_not_work(
    settings: Settings, paths: Paths, notes: Path
) -> None:
    """On battery nothing is computed and the reason is given; else documents are counted to the end."""
    update_index(settings, paths, roots=(str(notes),))
    reports: list[Progress] = []
    assert not making(settings, paths, reports, why="on battery").step()
    assert (reports[-1].note, coverage(settings, paths)) == ("reading for meaning waits: on battery", (0, 3))
    one = making(settings, paths, reports)
    while one.step():
        assert reports[-1].phase == "meaning"
    assert (reports[-1].n_done, reports[-1].n_total) == (3, 3)
    assert reports[-1].generation == Index.open(paths.index).generation
    assert one.said == "read for meaning: 3 documents"


def test_another_process_that_makes_them_is_left_alone(settings: Settings, paths: Paths, notes: Path) -> None:
    update_index(settings, paths, roots=(str(notes),))
    one = making(settings, paths, [])
    with closing(VectorWriter(paths.index, "other")):
        assert (one.step(), one.said) == (False, "")


def test_an_encoder_that_cannot_be_read_is_named_once(settings: Settings, paths: Paths, notes: Path) -> None:
    update_index(settings, paths, roots=(str(notes),))
    Path(settings.meaning.model, "model.onnx").write_bytes(b"broken")
    reports: list[Progress] = []
    one = making(settings, paths, reports)
    assert not one.step()
    assert reports[-1].note.startswith("cannot read for meaning: the encoder cannot be read")
    assert (one.step(), len(reports), one.said) == (False, 1, "")


def test_what_was_opened_is_read_first(settings: Settings, paths: Paths, notes: Path) -> None:
    """The oldest of three files was opened, so it comes before the newer ones."""
    update_index(settings, paths, roots=(str(notes),))
    with Store(paths.state) as store:
        picks = Picks(store, load_key(paths.key, store))
        picks.record(frozenset(), str(notes / "a car.txt"), "", type="text", now=time.time())
    one = making(settings, paths, [])
    while one.step():
        pass
    snapshot = Index.open(paths.index).snapshot()
    first = read(paths.index, kind_of(settings.meaning.model).name)["content"][0]
    (doc_id,) = snapshot.documents["doc_id"][snapshot.documents["content"] == first].tolist()
    assert Path(Catalogue.open(paths.catalogue).documents([doc_id])[doc_id].path).name == "a car.txt"


def test_watching_makes_vectors_when_nothing_changes(settings: Settings, paths: Paths, notes: Path) -> None:
    """For existing files and for one that comes later, whose words are indexed first."""
    remember_root(paths, notes)
    stop, reports = threading.Event(), list[Progress]()
    mains = msgspec.structs.replace(settings.meaning, pause_on_battery=False)
    chosen = msgspec.structs.replace(settings, meaning=mains)
    thread = threading.Thread(
        target=follow_changes,
        args=(chosen, paths),
        kwargs={"on_progress": reports.append, "stop": stop},
    )
    thread.start()
    try:
        for n, late in ((3, "a late bird"), (4, "")):
            until(lambda n=n: paths.index.exists() and coverage(chosen, paths) == (n, n))
            if late:
                (notes / "late.txt").write_text(late)
    finally:
        stop.set()
        thread.join(PATIENCE)
    assert {"indexing", "meaning", "watching"} <= {report.phase for report in reports}
