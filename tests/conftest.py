"""Where and how all tests run, which of them are quick, and what every test gives back as it found it."""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.few_coins import take_few

# Some hundreds of processes are started: one that may not keep what it compiled compiles the product each time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A thread that multiplies small matrices faster helps no test, and a process that has one is not copied for readers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Waiting for the disk is a third of the suite's time, and no test is about the disk: what a power cut leaves is told
# by a library under the system's calls (tests/whole/power_cut.c). Containers often have a little of it, or none.
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""bytes that must be free there, far more than tests write; their folders go when they have passed"""
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
    os.environ.setdefault("TMPDIR", str(MEMORY))  # of the processes that tests start, too: PostgreSQL is one
    tempfile.tempdir = None

# How long one example takes says more about what else the machine does than about the program. Each run tries others.
settings.register_profile("foltr", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("foltr")


@pytest.fixture(autouse=True)
def same_umask() -> Iterator[None]:
    """The program's entry point tightens the process's umask; the next test starts with the former one."""
    former = os.umask(0o022)
    os.umask(former)
    yield
    os.umask(former)


@pytest.fixture(autouse=True, scope="session")
def readers_as_in_a_command() -> Iterator[None]:
    """Reading processes are copies, as in a command: the thread in which xdist listens is asleep and is no reason
    against it. Each would load its modules anew otherwise, some thousand times."""
    pool, tasks = "indexer.confined.pool", Path("/proc/self/task")
    if not tasks.is_dir():
        yield
        return
    n_threads = len(list(tasks.iterdir()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{pool}._may_be_copied", lambda: len(list(tasks.iterdir())) == n_threads)
        yield


TESTS = Path(__file__).parent
QUICK = (
    "app/learning", "console", "foltr",
    "indexer/extract", "indexer/files", "indexer/query", "indexer/retrieval", "indexer/text",
)  # fmt: skip
"""rooms that need no server, no screen, nothing compiled, and hardly a process: their tests are quick"""


LONG = ("app/following/test_recognising", "whole", "house", "simulation/attacks")
"""rooms and files of the longest tests: they come first, so that no process is left alone with one at the end; those
that need compiled rounds last, when the tests of these rounds have compiled them in another process"""
LONGEST_NAME = 80
"""characters"""


@cache
def _is_in(rooms: tuple[str, ...], path: Path) -> bool:
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).as_posix().startswith(rooms)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m quick` the files of other rooms are not even read."""
    is_wanted = config.option.markexpr != "quick" or collection_path.suffix != ".py" or _is_in(QUICK, collection_path)
    return None if is_wanted else True


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A long text is called by the name of its argument: each process tells the names of all tests to the others."""
    return argname if isinstance(val, str | bytes) and len(val) > LONGEST_NAME else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """What is quick is known by its room."""
    if _is_in(QUICK, item.path):
        item.add_marker("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, as LONG has them."""
    items.sort(key=lambda item: next((n for n, room in enumerate(LONG) if _is_in((room,), item.path)), len(LONG)))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Twice as many as there are cores, because tests wait for processes that they started; quick ones do not."""
    n_cores = os.cpu_count() or 1
    return n_cores if config.option.markexpr == "quick" else 2 * n_cores


def _load_from_an_own_place_on(config: pytest.Config) -> None:
    """Load the files that will be collected, beginning elsewhere than the other processes of this run.

    In a new clone nothing is compiled, which is most of collecting: so each compiles its part, and finds the others'.
    """
    own: dict[str, str] | None = getattr(config, "workerinput", None)
    if own is None:
        return
    given = [Path(arg.partition("::")[0]).resolve() for arg in config.args]
    files = [file for path in given for file in ([path] if path.is_file() else sorted(path.rglob("test_*.py")))]
    files = [file for file in files if not pytest_ignore_collect(file, config)]
    begin = len(files) * int(own["workerid"].removeprefix("gw")) // int(own["workercount"])
    for file in files[begin:] + files[:begin]:
        with suppress(Exception, pytest.skip.Exception):  # whoever collects the file says so
            importlib.import_module(".".join(file.relative_to(TESTS.parent).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays: garbage that is sought meanwhile costs a tenth of the collecting, and none is found."""
    gc.disable()
    try:
        _load_from_an_own_place_on(session.config)
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays until the end: no collection of garbage walks through it again. Looked for at the
    seven hundredth object that stays, as Python does, what a test leaves is a fifteenth of its time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture
def few_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test about the noise undoes it."""
    take_few(monkeypatch)
