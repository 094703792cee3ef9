"""The indexing process behind the screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from app.chosen_folders import remember_root
from app.following.background import BackgroundIndexer
from app.paths import Paths
from indexer.progress import Progress
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """A device with one remembered folder and one file in it."""
    paths = Paths(config_dir=tmp_path / "config", data_dir=tmp_path / "data")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("heron")
    remember_root(paths, tmp_path / "notes")
    return paths


def test_it_reports_what_it_indexes_and_ends_when_asked(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports arrive as they are made; a folder called `app` in the current directory is not run."""
    trap = tmp_path / "here" / "app"
    trap.mkdir(parents=True)
    (trap / "__init__.py").write_text("raise SystemExit('the wrong program')")
    monkeypatch.chdir(trap.parent)
    reports: list[Progress] = []
    indexer = BackgroundIndexer(paths, reports.append)
    indexer.start()
    process = indexer._process
    indexer.start()  # a second start is none
    try:
        until(lambda: any(report.phase in ("watching", "polling") for report in reports), lambda: reports[-3:])
        assert process is not None
        assert process is indexer._process
        generation = max(report.generation for report in reports)
        (tmp_path / "notes" / "b.txt").write_text("egret")
        until(lambda: max(report.generation for report in reports) > generation, lambda: reports[-3:])
    finally:
        indexer.stop()
    until(lambda: not _runs(process.pid))
    assert not any("indexing ended" in report.note for report in reports)


def test_a_process_that_was_replaced_says_nothing_more(paths: Paths) -> None:
    """Its last line, that another process follows the changes, would stay on the screen although that is its
    successor."""
    last = Progress(phase="idle", note="watch (process 4711) follows the changes")
    reports: list[Progress] = []
    indexer = BackgroundIndexer(paths, reports.append)
    for heard in (True, False):
        command = [sys.executable, "-c", "print(input())"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(last))
        process.stdin.close()
        indexer._process = process if heard else None
        indexer._read(process)
        process.wait()
    assert reports == [last]


def test_it_ends_with_the_screen_however_that_ends(paths: Paths, tmp_path: Path) -> None:
    """Killed with -9, the screen leaves no indexing process behind."""
    code = """
import sys, time
from pathlib import Path
from app.following.background import BackgroundIndexer
from app.paths import Paths
paths = Paths(Path(sys.argv[1]), Path(sys.argv[2]))
indexer = BackgroundIndexer(paths, lambda progress: print(progress.phase, flush=True))
indexer.start()
print(indexer._process.pid, flush=True)
time.sleep(600)
"""
    arguments = [str(paths.config_dir), str(paths.data_dir)]
    screen = subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert screen.stdout is not None
    number = int(screen.stdout.readline())
    assert screen.stdout.readline()  # it works
    screen.kill()
    screen.wait()
    screen.stdout.close()
    until(lambda: not _runs(number))


def test_a_process_that_cannot_start_says_so(tmp_path: Path) -> None:
    """Without a folder to watch it ends by itself; the screen learns why."""
    reports: list[Progress] = []
    indexer = BackgroundIndexer(Paths(tmp_path / "config", tmp_path / "data"), reports.append)
    indexer.start()
    until(lambda: reports)
    indexer.stop()
    assert "no folders to watch yet" in reports[-1].note


def test_a_data_folder_that_cannot_be_written_is_why_indexing_ends(paths: Paths) -> None:
    """The error reads as the command's would; the thread that waits for the screen's end aborts nothing."""
    (paths.data_dir / "watch.lock").mkdir()
    reports: list[Progress] = []
    indexer = BackgroundIndexer(paths, reports.append)
    indexer.start()
    process = indexer._process
    until(lambda: any(report.note for report in reports), lambda: reports)
    indexer.stop()
    assert process is not None
    assert process.returncode == 2
    assert reports[-1].note.startswith("indexing ended: ")
    assert "watch.lock" in reports[-1].note


def _runs(number: int) -> bool:
    """Whether the process still does something; a dead one that nobody has asked about does not count."""
    try:
        os.kill(number, 0)
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
