"""The broker: what a confined worker is given, and what it may have done for it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.confined.confinement import available
from indexer.confined.pool import WorkerPool
from indexer.confined.resource_usage import descendants
from indexer.documents import FileEntry
from indexer.errors import ExtractionError
from indexer.extract.media.recognised import remember
from indexer.extract.source import Limits
from tests.waiting import until

pytestmark = pytest.mark.skipif(len(available()) < 2, reason="the system does not let a process give up its rights")

READERS = """
import os
from indexer.confined.confinement import c_library
from indexer.confined.given_files import hand_over, mapped, open_file, open_unbuffered, status_of
from indexer.confined.programs import output_of
from indexer.extract.media.recognised import recall_pages
from indexer.extract.source import Source

def beside(path): return (path, path + ".log")

def read(path, limits):
    with open_file(path) as first, open_file(path) as second, open_unbuffered(path) as third:
        begin = first.read(2)
        ends = second.seek(-1, os.SEEK_END), second.read(), third.seek(1), third.read(1), third.read()
    try:
        log = open_file(path + ".log").read()
    except FileNotFoundError as error:
        log = error.strerror
    return begin, *ends, bytes(mapped(path)), status_of(path).st_size, log

def elsewhere(path, limits): return open_file(path + "/../b").read()

def sizes(path, limits): return status_of(path).st_size

def run(path, limits):
    source = Source(name=path, path=path)
    with output_of([os.environ.get("WANTED", "bsdtar"), "-c", "@-"], given=source) as output:
        return output.read()

def run_made(path, limits):
    found = []
    for data in (b"heron" * 100_000, b"", b"egret"):
        with output_of(["bsdtar"], given=data) as output:
            found.append(output.read())
    return found

def stay(path, limits):
    os._exit = lambda code: None  # what ends it with its parent is gone
    c_library().prctl(15, b"taken over")
    while True: pass

def hoard(path, limits):
    while True: hand_over(bytes(1 << 20))

def start_many(path, limits):
    running = []
    while True:
        running.append(output_of(["bsdtar"], given=b"heron"))
        running[-1].__enter__()

def recall(path, limits): return recall_pages(None, b"digest")
"""


@pytest.fixture
def readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "porter_readers.py").write_text(READERS)
    monkeypatch.syspath_prepend(tmp_path)
    import porter_readers

    yield porter_readers
    del sys.modules["porter_readers"]


def told(function: Any, *paths: Path, **others: Any) -> list[Any]:
    with WorkerPool(function, n_workers=1, seconds=60, memory_mb=500, **others) as pool:
        return [outcome for _, outcome in pool.run([FileEntry(str(path), 5, 0, 0, 0) for path in paths])]


def test_a_file_is_open_with_a_place_for_each_who_reads_it(readers: Any, tmp_path: Path) -> None:
    """Streams do not move each other; what lies beside is there, or fails as it would without a broker."""
    (tmp_path / "a").write_bytes(b"heron")
    (tmp_path / "empty").touch()
    (tmp_path / "a.log").write_bytes(b"log")
    files = [tmp_path / "a", tmp_path / "empty"]
    for others in ({}, {"files_of": None}):
        with_log, failed = told(readers.read, *files, **({"files_of": readers.beside} | others))
        assert with_log == [b"he", 4, b"n", 1, b"e", b"ron", b"heron", 5, b"log"]
        assert "Invalid argument" in str(failed)


def test_what_is_not_given_cannot_be_opened_and_what_is_gone_is_named(readers: Any, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"heron")
    refused, gone = told(readers.elsewhere, tmp_path / "a"), told(readers.sizes, tmp_path / "gone")
    assert "PermissionError" in str(refused[0])
    assert "No such file or directory" in str(gone[0])


@pytest.fixture(params=["many files", "few files"])
def allowance(request: pytest.FixtureRequest) -> Iterator[None]:
    """What this process, and those that it starts, may have open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = len(os.listdir("/proc/self/fd")) + 60
    resource.setrlimit(resource.RLIMIT_NOFILE, (few if request.param == "few files" else before[0], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("allowance")
def test_many_files_are_given_one_after_another(readers: Any, tmp_path: Path) -> None:
    """More than a process may have open at once; one at a time where that is hardly any."""
    paths = [tmp_path / f"{number:04}-é-\udcff" for number in range(1_500)]
    for number, path in enumerate(paths):
        path.write_bytes(b"x" * number)
    assert told(readers.sizes, *paths) == list(range(1_500))


def program(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bsdtar that does what `text` says, the first that is found."""
    (folder / "bin").mkdir()
    (folder / "bin" / "bsdtar").write_text(f"#!/bin/bash\n{text}\n")
    (folder / "bin" / "bsdtar").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    from indexer.confined.programs import installed

    installed.cache_clear()


def test_a_program_reads_what_the_worker_hands_it_and_nothing_else(
    readers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its input and the system's own files; no file of the user's, no write, no network, no signal to others."""
    (tmp_path / "key").write_text("secret")
    text = f"""
        read -r line; echo "$line"
        read -r key < {tmp_path}/key && echo "$key"; for name in {tmp_path}/k?y; do [ -f "$name" ] && echo listed; done
        echo x > {tmp_path}/new; exec 3<>/dev/tcp/127.0.0.1/1 || echo no network
        kill -0 $PPID && echo signalled; exec true"""
    program(tmp_path, text, monkeypatch)
    (tmp_path / "a.7z").write_bytes(b"archive\n")
    assert told(readers.run, tmp_path / "a.7z") == [b"archive\nno network\n"]
    assert not (tmp_path / "new").exists()


def test_a_program_may_become_another_and_start_none(
    readers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So nothing of it is left when it is ended."""
    (tmp_path / "a.7z").write_bytes(b"archive")
    program(tmp_path, "exec cat", monkeypatch)
    assert told(readers.run, tmp_path / "a.7z") == [b"archive"]
    (tmp_path / "bin" / "bsdtar").write_text("#!/bin/bash\ncat; exit 0\n")
    (failed,) = told(readers.run, tmp_path / "a.7z")
    assert isinstance(failed, ExtractionError)


def test_a_worker_can_have_no_other_program_started(
    readers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its broker ends with it, the next file has another."""
    monkeypatch.setenv("WANTED", "bash")
    (tmp_path / "a").write_bytes(b"heron")
    (failed,) = told(readers.run, tmp_path / "a")
    assert isinstance(failed, ExtractionError)


def test_a_program_that_fails_fails_its_file_alone(
    readers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "cat; exit 3", monkeypatch)
    (tmp_path / "a").write_bytes(b"heron")
    failed = told(readers.run, tmp_path / "a", tmp_path / "a")
    assert [str(one) for one in failed] == ["bsdtar failed"] * 2


def test_a_worker_cannot_have_more_held_or_started_than_it_may(
    readers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endless input of a program, and endless programs, end with the broker; the next file has another."""
    program(tmp_path, "exec sleep 60", monkeypatch)
    (tmp_path / "a").touch()
    for greedy in (readers.hoard, readers.start_many):
        assert all(isinstance(one, ExtractionError) for one in told(greedy, tmp_path / "a", tmp_path / "a"))


def test_a_program_reads_what_the_worker_made(readers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes in pieces comes whole, and nothing is left of it for the program after that."""
    program(tmp_path, "exec cat", monkeypatch)
    (tmp_path / "a").touch()
    assert told(readers.run_made, tmp_path / "a") == [[b"heron" * 100_000, b"", b"egret"]]


def test_recognised_texts_are_recalled_by_their_content(readers: Any, tmp_path: Path) -> None:
    """The store itself stays closed to the worker."""
    (tmp_path / "a").touch()
    assert told(readers.recall, tmp_path / "a", limits=Limits(recognised=str(tmp_path / "ocr.sqlite"))) == [None]
    remember(tmp_path / "ocr.sqlite", b"digest", engine="one", pages=["heron", "é" * 300_000])
    found = told(readers.recall, tmp_path / "a", limits=Limits(recognised=str(tmp_path / "ocr.sqlite")))
    assert found == [["one", ["heron", "é" * 300_000], ""]]


def test_a_worker_that_is_taken_over_does_not_outlive_its_parent(readers: Any, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    code = (
        f"import sys, porter_readers; from {__name__} import Path, told; told(porter_readers.stay, Path(sys.argv[1]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a")], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ) as parent:
        until(lambda: any(_name(pid) == "taken over" for pid in descendants(parent.pid)))
        (worker,) = (pid for pid in descendants(parent.pid) if _name(pid) == "taken over")
        parent.kill()
    until(lambda: _name(worker) != "taken over" or "(zombie)" in Path(f"/proc/{worker}/status").read_text())


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
