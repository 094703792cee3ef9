"""The worker pool under hostile files: real crashes, hangs, exits and memory hogs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.confined.pool import WorkerPool, how_it_ended, start_process
from indexer.documents import FileEntry
from indexer.errors import ExtractionError, IndexerError
from indexer.extract.source import Limits

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ends processes by signals")

READERS = """
import os, signal, sys, time

def read(path, limits):
    word = path.rpartition("/")[2].partition(".")[0]
    if word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "exit":
        os._exit(3)
    if word == "sleep":
        time.sleep(3600)
    if word == "loop":
        while True:
            pass
    if word == "work":  # 1 s of processor time, in steps
        while time.process_time() < limits.cpu_ends - 1:
            sum(range(100_000))
    if word == "gentle":
        done = 0
        while not limits.is_late:
            sum(range(100_000))
            done += 1
        return done
    if word == "child":
        import subprocess
        subprocess.run([sys.executable, "-c", "while True: pass"])
    if word == "grow":
        held = [bytearray(os.urandom(1_000_000)) for _ in range(300)]
        time.sleep(3600)
    if word == "asked":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
        return "read on"
    if word == "hog":
        held = []
        while True:
            held.append(bytearray(10_000_000))
    if word == "fault":
        raise KeyError("a bug")
    if word == "deep":
        return (lambda f: f(f))(lambda f: f(f))
    if word == "noise":
        os.write(2, b"native noise\\\\n"); print("loud"); sys.stderr.write("louder")
    if word == "big":
        return "x" * 3_000_000
    return (word, limits.max_text_bytes)

def read_once_there(path, limits):
    while not os.path.exists(path) or not os.path.getsize(path):
        time.sleep(0.01)
    return open(path).read()

held = []

def pid(path, limits):
    if path.endswith("leak"):
        held.extend(os.urandom(1_000_000) for _ in range(120))
    return os.getpid()

def opened(path, limits):
    here = "/proc/self/fd/"
    names = [os.readlink(here + number) for number in os.listdir(here) if os.path.lexists(here + number)]
    return names, signal.getsignal(signal.SIGTERM) == signal.SIG_IGN, len(sys.modules)
"""


@pytest.fixture
def readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """What processes read with that start from nothing: a copy of this one has free memory that no limit counts."""
    monkeypatch.setattr("indexer.confined.pool._may_be_copied", lambda: False)
    (tmp_path / "pool_readers.py").write_text(READERS)
    monkeypatch.syspath_prepend(tmp_path)
    import pool_readers

    yield pool_readers
    del sys.modules["pool_readers"]


def entry(name: str, size: int = 10) -> FileEntry:
    return FileEntry(path=f"/x/{name}", size=size, modified_ns=0, device=0, inode=0)


def outcomes(pool: WorkerPool, names: list[str]) -> dict[str, object]:
    found = [(one.path.rpartition("/")[2], outcome) for one, outcome in pool.run(map(entry, names))]
    assert len(found) == len(names)
    return dict(found)


def test_what_asks_a_whole_group_to_end_blames_no_file(readers):
    """Ctrl-C, a closed terminal and systemd's stop reach the readers, too: the file in hand is read to its end."""
    with WorkerPool(readers.read, n_workers=1, seconds=60, memory_mb=200, files_of=None) as pool:
        assert outcomes(pool, ["asked.1"]) == {"asked.1": "read on"}


@pytest.mark.parametrize(
    ("seconds", "hostile"),
    [
        (
            60.0,
            {
                "crash.1": "crashed",
                "exit.1": "crashed",
                "hog.1": "memory",
                "fault.1": "crashed",
                "deep.1": "malformed",
                "crash.2": "crashed",
            },
        ),
        (0.5, {"sleep.1": "timeout", "loop.1": "too-slow", "child.1": "too-slow"}),
    ],
)
def test_every_hostile_file_fails_alone(readers, seconds: float, hostile: dict[str, str]):
    """A crash, an exit, a hog, a bug, a hang and a loop each fail their own file and lose no neighbour."""
    names = [name for bad in hostile for name in (f"ok{bad}.a", bad, f"ok{bad}.b")]
    limits = {"seconds": seconds, "still_seconds": 1, "memory_mb": 200}
    with WorkerPool(readers.read, n_workers=2, files_of=None, **limits) as pool:  # it starts a process
        found = outcomes(pool, names)
    for name, outcome in found.items():
        if name in hostile:
            assert isinstance(outcome, ExtractionError)
            assert outcome.kind == hostile[name]
            assert "\n" not in str(outcome)
        else:
            assert outcome[0] == name.partition(".")[0]


def test_whoever_asks_by_ticks_is_never_kept_waiting(readers, tmp_path: Path):
    """While a reader waits for a file that is not there yet, each tick gives None; then comes what `run` would give."""
    wanted = tmp_path / "until"
    with WorkerPool(readers.read_once_there, n_workers=1, seconds=60, memory_mb=200, files_of=None) as pool:
        ticks = pool.ticks([FileEntry(str(wanted), 1, 0, 0, 0)])
        assert [next(ticks) for _ in range(5)] == [None] * 5
        wanted.write_text("here")
        assert [outcome[1] for outcome in ticks if outcome is not None] == ["here"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a stopped process with its parent")
def test_a_suspended_reader_stands_still_and_goes_on(readers, tmp_path: Path):
    """The system calls its process stopped; allowed to go on it gives what it would have given."""
    wanted = tmp_path / "until"
    with WorkerPool(readers.read_once_there, n_workers=1, seconds=60, memory_mb=200, files_of=None) as pool:
        ticks = pool.ticks([FileEntry(str(wanted), 1, 0, 0, 0)])
        next(ticks)
        status = Path(f"/proc/{pool._workers[0]._process.pid}/stat")
        pool.suspend()
        while status.read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        wanted.write_text("here")
        assert next(ticks) is None
        pool.suspend(False)
        assert [outcome[1] for outcome in ticks if outcome is not None] == ["here"]


def test_reasons_name_the_signal_and_the_limit(readers):
    """The reason of a crash names its signal or exit code, that of a hog or a hang the limit."""
    with WorkerPool(readers.read, n_workers=1, seconds=60, memory_mb=200) as pool:
        found = outcomes(pool, ["crash.1", "exit.1", "hog.1"])
    assert "SIGSEGV" in str(found["crash.1"])
    assert "exit code 3" in str(found["exit.1"])
    assert "200 MB of memory" in str(found["hog.1"])
    with WorkerPool(readers.read, n_workers=1, seconds=0.5, still_seconds=0.3, memory_mb=200) as pool:
        found = outcomes(pool, ["sleep.1", "loop.1"])
    assert "nothing could be read for 0.3 s" in str(found["sleep.1"])
    assert "1 s of processor time" in str(found["loop.1"])


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to see that a process is stopped")
def test_a_worker_that_gets_no_processor_loses_no_file(readers):
    """Stopped for six times the limit of waiting and three times that of processor time, a file is still read."""
    with WorkerPool(readers.read, n_workers=1, seconds=2, still_seconds=1, memory_mb=200) as pool:
        first = next(pool.run([entry("a")]))
        results = pool.run([entry("work.1")])
        pid = pool._workers[0]._process.pid
        threading.Timer(0.3, os.kill, (pid, signal.SIGSTOP)).start()
        threading.Timer(6.3, os.kill, (pid, signal.SIGCONT)).start()
        began = time.monotonic()
        assert [outcome[0] for _, outcome in results] == ["work"]
        assert time.monotonic() - began > 6
    assert first[1][0] == "a"


def test_a_reader_that_looks_at_the_clock_keeps_what_it_has(readers):
    """After its processor time it stops by itself, and the pool lets it; the next file has its own time."""
    with WorkerPool(readers.read, n_workers=1, seconds=0.3, memory_mb=200) as pool:
        found = outcomes(pool, ["gentle.1", "gentle.2"])
    assert all(isinstance(done, int) and done > 0 for done in found.values())


def test_without_limits_of_the_system_the_parent_watches_memory(readers):
    """Where setrlimit is missing, as on Windows, a process that grows is ended; neighbours are read."""
    path = Path(readers.__file__)
    only_inside = "if multiprocessing.current_process().name != 'MainProcess':"
    path.write_text(f"import multiprocessing, sys\n{only_inside} sys.modules['resource'] = None\n{path.read_text()}")
    with WorkerPool(readers.read, n_workers=1, seconds=60, memory_mb=200) as pool:
        found = outcomes(pool, ["ok.a", "grow.1", "ok.b"])
        assert not pool._workers[0]._is_limited
    assert (found["ok.a"][0], found["ok.b"][0]) == ("ok", "ok")
    assert isinstance(found["grow.1"], ExtractionError)
    assert (found["grow.1"].kind, "200 MB" in str(found["grow.1"])) == ("memory", True)


@pytest.mark.parametrize("code", [-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGSEGV, -250, 3, None])
def test_exit_codes_have_a_kind_and_a_line(code):
    """What may pass is told from what the file did."""
    kind, line = how_it_ended(code)
    assert kind == {-signal.SIGKILL: "memory", -signal.SIGXCPU: "too-slow"}.get(code, "crashed")
    assert line
    assert "\n" not in line


def test_many_files_come_back_once_each(readers):
    """A thousand small files and some large results all come back, exactly once each."""
    names = [f"n{i}.txt" for i in range(1000)] + [f"big.{i}" for i in range(20)]
    with WorkerPool(readers.read, n_workers=2, seconds=20, memory_mb=500, limits=Limits(max_text_bytes=7)) as pool:
        found = outcomes(pool, names)
    assert set(found) == set(names)
    assert found["n5.txt"] == ["n5", 7]
    assert found["big.3"] == "x" * 3_000_000


@pytest.mark.parametrize(("from_copy", "threads"), [(True, {}), (False, {"OPENBLAS_NUM_THREADS": "3"})])
def test_who_starts_a_process_stays_as_it_was(
    from_copy: bool, threads: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ready for Ctrl-C, and with its own program and variables."""

    def state() -> object:
        return signal.pthread_sigmask(signal.SIG_BLOCK, ()), sys.modules["__main__"], dict(os.environ)

    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    for name, value in threads.items():
        monkeypatch.setenv(name, value)
    before = state()
    start_process(os.getpid, from_copy=from_copy).join()
    assert state() == before


def test_workers_stay_between_runs(readers):
    """A second run uses the process of the first."""
    with WorkerPool(readers.pid, n_workers=1, seconds=20, memory_mb=200) as pool:
        first = outcomes(pool, ["a", "b"])
        second = outcomes(pool, ["c"])
    assert len(set(first.values()) | set(second.values())) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say how much it uses")
def test_a_worker_that_holds_half_of_its_memory_ends_with_that_file(readers):
    """The next file finds all of it free again."""
    with WorkerPool(readers.pid, n_workers=1, seconds=20, memory_mb=200) as pool:
        found = outcomes(pool, ["a", "leak", "b"])
    assert found["a"] == found["leak"] != found["b"]


def test_a_worker_killed_while_idle_is_replaced(readers):
    """A worker that something killed between two runs costs no file."""
    with WorkerPool(readers.pid, n_workers=1, seconds=20, memory_mb=200) as pool:
        first = outcomes(pool, ["a"])["a"]
        os.kill(first, signal.SIGKILL)
        pool._workers[0]._process.join()
        assert isinstance(outcomes(pool, ["b"])["b"], int)


def test_entries_are_taken_only_as_workers_can_hold(readers):
    """Before the first result is taken, at most a few files per worker left the iterable."""
    taken = []

    def entries() -> Iterator[FileEntry]:
        for i in range(10_000):
            taken.append(i)
            yield entry(f"n{i}")

    with WorkerPool(readers.read, n_workers=2, seconds=20, memory_mb=200) as pool:
        results = pool.run(entries())
        next(results)
        assert len(taken) <= 2 * 3 * 16
        results.close()


def test_stop_ends_the_run_and_kills_workers_at_work(readers):
    """When the event is set, a run ends though a file hangs, and no process is left."""
    stop = threading.Event()
    with WorkerPool(readers.read, n_workers=1, seconds=1000, memory_mb=200) as pool:
        threading.Timer(0.5, stop.set).start()
        assert list(pool.run([entry("sleep.1"), entry("a")], stop)) == []
        assert pool._workers == []


def test_workers_that_cannot_start_are_an_error(readers):
    """When no worker gets ready, the run says so instead of trying for ever."""
    Path(readers.__file__).write_text("import os; os._exit(9)")
    pool = WorkerPool(readers.read, n_workers=1, seconds=5, memory_mb=200)
    with pool, pytest.raises(IndexerError, match="do not start"):
        list(pool.run([entry("a")]))


def test_bad_arguments_are_refused(readers):
    """Zero workers or no time is refused with what was wanted and what came."""
    with pytest.raises(ValueError, match="n_workers >= 1"):
        WorkerPool(readers.read, n_workers=0, seconds=1, memory_mb=100)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc to see processes")
@pytest.mark.parametrize("word", ["loop", "sleep"])
def test_no_orphans_when_the_parent_is_killed(readers, tmp_path, word):
    """A worker at work ends when its parent is killed with SIGKILL, and its noise reaches nobody."""
    program = tmp_path / "parent.py"
    program.write_text(
        textwrap.dedent(f"""
        import sys
        import pool_readers
        from indexer.documents import FileEntry
        from indexer.confined.pool import WorkerPool

        if __name__ == "__main__":
            pool = WorkerPool(pool_readers.read, n_workers=1, seconds=1000, memory_mb=200)
            names = ["noise.1", "{word}.1"]
            for one, outcome in pool.run([FileEntry(n, 1, 0, 0, 0) for n in names]):
                print(pool._workers[0]._process.pid, flush=True)
        """)
    )
    repo = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{repo}:{tmp_path}"}
    parent = subprocess.Popen(
        [sys.executable, str(program)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    pid = int(parent.stdout.readline())
    assert Path(f"/proc/{pid}").exists()
    parent.kill()
    assert "nois" not in parent.stderr.read()
    parent.wait()
    deadline = time.monotonic() + 180
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no worker is a copy")
def test_a_copy_lets_go_of_what_is_its_parents(readers, tmp_path):
    """A worker that is a copy of a process of one thread has none of its files, locks and handlers, and its modules."""
    program = tmp_path / "parent.py"
    program.write_text(
        textwrap.dedent(f"""
        import json, signal, sys
        import pool_readers, wave
        from pathlib import Path
        from indexer.documents import FileEntry
        from indexer.confined.pool import WorkerPool
        from indexer.storage.file_lock import FileLock

        signal.signal(signal.SIGTERM, lambda *_: None)
        lock = FileLock(Path({str(tmp_path)!r}) / "a.lock")
        assert lock.take()
        with WorkerPool(pool_readers.opened, n_workers=2, seconds=1000, memory_mb=200, files_of=None) as pool:
            found = [outcome for _, outcome in pool.run([FileEntry(str(i), 1, 0, 0, 0) for i in range(40)])]
            pids = {{worker._process.pid for worker in pool._workers}}
        print(json.dumps([found, len(pids), len(sys.modules)]))
        """)
    )
    repo = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{repo}:{tmp_path}"}
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True)
    found, n_workers, n_modules = json.loads(done.stdout)
    assert n_workers == 2
    for names, is_default, n_own in found:
        assert not any(name.endswith("a.lock") for name in names)
        assert sum(name.startswith("pipe:") for name in names) == 3  # requests, results and the lifeline
        assert is_default
        assert n_own >= n_modules
