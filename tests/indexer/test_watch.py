"""Following changes in real folders, with the system's own notifications and without them."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from indexer.confined.pool import WorkerPool
from indexer.errors import IndexerError
from indexer.files.crawl import CrawlRules
from indexer.prepare import PreparedFile
from indexer.progress import Progress
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index, IndexWriter
from indexer.update import Job, Updater, open_catalogue
from indexer.watch import Follower, Notifier, Scan, Work

PATIENCE = 180.0
"""seconds until a test gives up; it goes on as soon as it can"""


class Watched(Work):
    """A folder that a follower keeps indexed."""

    def __init__(self, base: Path, pool: WorkerPool[PreparedFile]) -> None:
        self.files, self.base = base / "files", base
        self.files.mkdir()
        (self.files / "first.txt").write_text("first")
        self.catalogue: Catalogue
        self.catalogue, _ = open_catalogue(base / "index", base / "catalogue.sqlite")
        job = Job(base / "index", self.catalogue, (str(self.files),), CrawlRules(), "foltr-search watch", "1")
        self.updater = Updater(job, pool)
        self.reports: list[Progress] = []
        self.paused = ""
        self.hours = 0.0
        """since what was deleted was wiped"""

    @contextmanager
    def follow(
        self, *, scan_seconds: float = 1000.0, phase: str = "watching", idle_work: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Run a follower in a thread, from the moment at which it watches until the block ends."""
        stop, raised = threading.Event(), list[BaseException]()
        follower = Follower(self.updater, self, scan_seconds, stop)
        self.do_a_little = idle_work  # type: ignore[method-assign]
        follower._wiped -= self.hours * 3600

        def run() -> None:
            try:
                follower.run()
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            self.until(lambda: raised or [report.phase for report in self.reports].count(phase) >= 2)
            yield
        finally:
            stop.set()
            thread.join()
        assert not raised

    def report(self, progress: Progress) -> None:
        self.reports.append(progress)

    def why_to_pause(self) -> str:
        return self.paused

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until `condition` holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited in vain; the last report: {self.reports[-1:]}"
            time.sleep(0.02)

    def known(self) -> set[str]:
        return {os.path.relpath(path, self.files) for path in self.catalogue.known("/")}


@pytest.fixture
def watched(tmp_path: Path, pool: WorkerPool[PreparedFile]) -> Watched:
    return Watched(tmp_path, pool)


def test_changes_are_followed_one_after_the_other(watched: Watched) -> None:
    """New, changed, moved and deleted files arrive, also in folders that did not exist at the start."""
    with watched.follow():
        assert watched.known() == {"first.txt"}
        (watched.files / "new.txt").write_text("new")
        watched.until(lambda: watched.known() == {"first.txt", "new.txt"})
        (watched.files / "a" / "b").mkdir(parents=True)
        (watched.files / "a" / "b" / "deep.txt").write_text("deep")
        watched.until(lambda: "a/b/deep.txt" in watched.known())
        (watched.files / "a").rename(watched.files / "c")
        watched.until(lambda: watched.known() == {"first.txt", "new.txt", "c/b/deep.txt"})
        (watched.files / "c" / "b" / "later.txt").write_text("in a folder that was moved")
        watched.until(lambda: "c/b/later.txt" in watched.known())
        shutil.rmtree(watched.files / "c")
        watched.until(lambda: watched.known() == {"first.txt", "new.txt"})


@pytest.mark.parametrize("hours", [0.9, 1.0])
def test_once_an_hour_nothing_is_left_of_what_was_deleted(watched: Watched, hours: float) -> None:
    """Also of words that a file lost just now; not before, for that is as much work as the index is large."""
    for i in range(4):  # one document more or less has nothing merged
        (watched.files / f"long{i}.txt").write_text(" ".join(f"w{j}" for j in range(i, 20_000, 4)))
    (watched.files / "first.txt").write_text("quokka")
    watched.updater.scan(optimize=True)
    (watched.files / "first.txt").write_text("wombat")
    watched.updater.scan()
    watched.hours = hours
    with watched.follow():
        content = b"".join(path.read_bytes() for path in (watched.base / "index").iterdir())
        assert (b"quokka" in content, b"wombat" in content) == (hours < 1, True)


def test_a_folder_moved_while_new_watches_are_made(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only the old watches could see is not lost: the moved folder's file is found under its new name."""
    moved = threading.Event()

    def slow(folders: set[str], roots: tuple[str, ...]) -> Notifier:
        if (watched.files / "a").is_dir() and str(watched.files / "a") in folders:
            (watched.files / "a").rename(watched.files / "c")
            moved.set()
        return Notifier(folders, roots)

    monkeypatch.setattr("indexer.watch.Notifier", slow)
    with watched.follow():
        (watched.files / "a").mkdir()
        (watched.files / "a" / "deep.txt").write_text("deep")
        watched.until(lambda: watched.known() == {"first.txt", "c/deep.txt"})
    assert moved.is_set()


def test_a_folder_in_the_place_of_another_one_is_watched(watched: Watched) -> None:
    """The watch of the folder that lay there hears nothing more, though its path is still one of those watched."""
    folder, follower = watched.files / "a", Follower(watched.updater, watched, 1000.0, threading.Event())
    (folder / "deep").mkdir(parents=True)
    follower._scan()
    follower._watch_anew()
    shutil.rmtree(folder)
    (folder / "deep").mkdir(parents=True)
    follower._late = [str(folder)]
    follower._turn()
    (folder / "deep" / "new.txt").write_text("new")
    assert follower._notifier is not None
    assert str(folder / "deep" / "new.txt") in (follower._notifier.wait(PATIENCE, follower.stop) or ())
    follower._close()


def test_a_root_that_became_another_folder_unseen_is_followed_after_the_next_scan(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a disk comes back where the empty folder was watched."""
    asked = threading.Event()
    monkeypatch.setattr(watched, "is_asked", asked.is_set)

    def answer(scan: Scan) -> None:
        scan(threading.Event())
        asked.clear()

    monkeypatch.setattr(watched, "answer", answer)
    watched.files.rename(watched.base / "v1")
    watched.files.symlink_to("v1")
    with watched.follow():
        shutil.copytree(watched.base / "v1", watched.base / "v2")
        watched.files.unlink()
        watched.files.symlink_to("v2")
        asked.set()
        watched.until(lambda: not asked.is_set())
        (watched.files / "new.txt").write_text("new")
        watched.until(lambda: "new.txt" in watched.known())


def test_a_root_that_comes_back_is_followed_again(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next look, and not with the next whole scan; what lay there stays indexed meanwhile."""
    monkeypatch.setattr("indexer.watch.LOOK_SECONDS", 0.2)
    with watched.follow():
        shutil.rmtree(watched.files)
        watched.until(lambda: watched.updater.folders == {})
        time.sleep(0.5)
        assert watched.known() == {"first.txt"}
        watched.files.mkdir()
        (watched.files / "new.txt").write_text("new")
        watched.until(lambda: watched.known() == {"new.txt"})
        (watched.files / "later.txt").write_text("later")
        watched.until(lambda: "later.txt" in watched.known())


def test_watching_is_tried_again_after_each_scan(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's limit may be reached only for a while."""
    monkeypatch.setenv("FOLTR_FORCE_POLL", "1")
    with watched.follow(scan_seconds=0.1, phase="polling"):
        monkeypatch.delenv("FOLTR_FORCE_POLL")
        watched.until(lambda: watched.reports[-1].phase == "watching")


def test_a_file_that_always_changes_does_not_keep_idle_work_waiting(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that grows every moment must not be why nothing is read for meaning."""
    monkeypatch.setattr("indexer.watch.LOOK_SECONDS", 0.5)
    done = list[int]()

    def work() -> bool:
        done.append(1)
        return False

    with watched.follow(idle_work=work), (watched.files / "log.txt").open("a") as log:
        n = len(done)

        def goes_on() -> bool:
            print("line", file=log, flush=True)
            return len(done) >= n + 3

        watched.until(goes_on)


def test_a_file_made_before_a_scan_watches_its_folder_is_found(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan has looked at the folder already, and nothing would tell of the file until the next one."""
    monkeypatch.setattr("indexer.watch.MANY_PATHS", 0)
    late = watched.files / "a" / "late.txt"

    def slow(folders: Iterable[str], roots: tuple[str, ...]) -> Notifier:
        if str(late.parent) in folders:
            late.write_text("late")
        return Notifier(folders, roots)

    monkeypatch.setattr("indexer.watch.Notifier", slow)
    with watched.follow():
        late.parent.mkdir()
        watched.until(lambda: "a/late.txt" in watched.known())


def test_ignored_paths_never_wake_the_indexer(watched: Watched) -> None:
    """Writing below node_modules and to hidden files makes no commit; the next real change does."""
    (watched.files / "node_modules").mkdir()
    with watched.follow():
        generation = watched.catalogue.generation
        for i in range(20):
            (watched.files / "node_modules" / f"{i}.js").write_text("x")
            (watched.files / f".hidden{i}").write_text("x")
        (watched.files / "real.txt").write_text("x")
        watched.until(lambda: "real.txt" in watched.known())
        assert watched.catalogue.generation == generation + 1
        assert watched.known() == {"first.txt", "real.txt"}


def test_a_name_that_is_not_utf8_is_followed_too(watched: Watched) -> None:
    """The notifier cannot tell such a name and fails; a scan finds it, and watching goes on."""
    with watched.follow():
        with open(os.path.join(os.fsencode(watched.files), b"bad\xff.txt"), "wb") as file:
            file.write(b"x")
        watched.until(lambda: os.fsdecode(b"bad\xff.txt") in watched.known())
        (watched.files / "after.txt").write_text("x")
        watched.until(lambda: "after.txt" in watched.known())


def test_without_notifications_it_looks_every_so_often_and_says_so(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes are found by scans, and every report carries a note that says why."""
    monkeypatch.setenv("FOLTR_FORCE_POLL", "1")
    with watched.follow(scan_seconds=0.1, phase="polling"):
        (watched.files / "new.txt").write_text("new")
        watched.until(lambda: "new.txt" in watched.known())
    assert "cannot be watched" in watched.reports[-1].note
    assert "FOLTR_FORCE_POLL" in watched.reports[-1].note


def test_it_waits_while_another_process_writes(watched: Watched) -> None:
    """Locked out, it names the writer, and catches up once the lock is free."""
    with watched.follow():
        with Index.open(watched.base / "index").writer("foltr-search index"):
            (watched.files / "new.txt").write_text("new")
            watched.until(lambda: "foltr-search index" in watched.reports[-1].note)
            assert watched.known() == {"first.txt"}
        watched.until(lambda: watched.known() == {"first.txt", "new.txt"})


def test_it_pauses_when_asked_and_catches_up(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """On battery nothing is read; back on mains power what was missed is."""
    monkeypatch.setattr("indexer.watch.PAUSED_SECONDS", 0.05)
    monkeypatch.setattr("indexer.watch.LOOK_SECONDS", 0.1)
    with watched.follow():
        watched.paused = "on battery"
        watched.until(lambda: watched.reports[-1].note == "paused: on battery")
        (watched.files / "new.txt").write_text("new")
        assert watched.known() == {"first.txt"}
        watched.paused = ""
        watched.until(lambda: "new.txt" in watched.known())


def test_what_a_search_found_gone_is_purged(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that went unnoticed, as on a network drive, goes once a search has noted it."""
    monkeypatch.setenv("FOLTR_FORCE_POLL", "1")
    monkeypatch.setattr("indexer.watch.LOOK_SECONDS", 0.05)
    with watched.follow(phase="polling"):
        (watched.files / "first.txt").unlink()
        watched.catalogue.purge(str(watched.files / "first.txt"))
        watched.until(lambda: watched.known() == set())


def test_a_full_disk_is_waited_out(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the index cannot be written it says why; once it can, what changed meanwhile is read."""
    monkeypatch.setattr("indexer.watch.REFUSED_SECONDS", 0.05)
    full = True
    writer = Index.writer

    def refuse(self: Index, holder: str) -> IndexWriter:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return writer(self, holder)

    with watched.follow():
        monkeypatch.setattr(Index, "writer", refuse)
        (watched.files / "new.txt").write_text("new")
        watched.until(lambda: "disk is full" in watched.reports[-1].note)
        full = False
        watched.until(lambda: "new.txt" in watched.known())


def test_the_end_of_idle_work_is_said(watched: Watched) -> None:
    """A display of how far it was then shows that no more."""
    left, follower = [False, False, True, True], Follower(watched.updater, watched, 1000.0, threading.Event())
    watched.do_a_little = left.pop  # type: ignore[method-assign]
    said = []
    while left:
        follower._work_while_idle()
        said.append(len(watched.reports))
    assert said == [0, 0, 1, 1]


def test_a_disk_that_is_full_for_idle_work_is_waited_out(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found by recognising text cannot be kept: changes are followed all the same."""
    monkeypatch.setattr("indexer.watch.REFUSED_SECONDS", 0.05)

    def work() -> bool:
        raise IndexerError("ocr.sqlite cannot be written (the disk is full)")

    with watched.follow(idle_work=work):
        watched.until(lambda: any("ocr.sqlite" in report.note for report in watched.reports))
        (watched.files / "new.txt").write_text("new")
        watched.until(lambda: "new.txt" in watched.known())
