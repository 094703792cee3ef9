"""A process that reads files, as its parent sees it: started, given work, looked at, ended.

What a process says is decoded as data, never as objects, for it may have been taken over. What it uses (processor
time, bytes read, memory, and whether it waits) is seen from outside: from /proc on Linux, from psutil elsewhere; where
there is neither, nothing is known and nothing is said.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from multiprocessing import Pipe, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from indexer.confined.confinement import prepare
from indexer.documents import FileEntry
from indexer.extract.workers.reading_process import MEGABYTE, FileReport, Order, needed_too_much, work

AHEAD_FILES = 16
"""files a worker has at most before it"""
AHEAD_BYTES = 1_000_000
"""bytes of files a worker has at most before it, the last one aside"""
AHEAD_NAMES = 4_096
"""characters of paths sent ahead, so that sending never waits for the worker"""
START_SECONDS = 60.0
"""processor time a worker has to say that it is ready"""
UNKNOWN_FACTOR = 10.0
"""times `still_seconds` that a file may take by the clock where nothing is known of what a process uses"""
FIRST_LOOK = 0.5
"""seconds after which a worker that has said nothing is looked at; what it used before is not counted"""
LOOK_SECONDS = 0.1
"""between two looks at least"""
LONGEST_STILL = 1.0
"""seconds that count as waited for between two looks at most; the parent may have been busy or asleep itself"""


MAX_REPORT = 1 << 30
"""bytes of one report"""
_REPORTS = msgspec.msgpack.Decoder(FileReport)


@dataclass(frozen=True, slots=True)
class Vitals:
    """One look at a process and all that it started."""

    cpu_seconds: float
    n_bytes_read: int
    """by any means, also from caches; 0 where the system does not say"""
    resident_bytes: int
    is_waiting: bool
    """Nothing of it runs or wants to: it waits for a disk, a network, a lock. A stopped process does not wait."""


def look(pid: int) -> Vitals | None:
    """The vitals of the process `pid`; None when it is gone or the system does not say."""
    try:
        return _from_proc(pid) if sys.platform == "linux" else _from_psutil(pid)
    except (OSError, ValueError, IndexError):
        return None


_WAITING = frozenset("SDI")
"""proc_pid_stat(5): asleep, in a disk's hands, idle"""


def _from_proc(pid: int) -> Vitals:
    state, _, cpu_seconds, resident = _stat(str(pid))
    waits = state in _WAITING
    for child in descendants(pid) if waits else ():  # one that waits for what it started is at work
        with contextlib.suppress(OSError, IndexError):
            state, _, seconds, size = _stat(str(child))
            cpu_seconds, resident, waits = cpu_seconds + seconds, resident + size, waits and state in _WAITING
    return Vitals(cpu_seconds, _bytes_read(pid), resident, waits)


def _stat(pid: str) -> tuple[str, int, float, int]:
    """(state, parent, processor seconds with those of ended children, resident bytes) by /proc/PID/stat."""
    fields = Path("/proc", pid, "stat").read_bytes().rpartition(b")")[2].split()
    seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return fields[0].decode(), int(fields[1]), seconds, int(fields[21]) * os.sysconf("SC_PAGE_SIZE")


def _bytes_read(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/io").read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return 0  # a kernel without accounting of reads


def descendants(pid: int) -> list[int]:
    """What the process `pid` started and what that started, those of now; [] where the system does not say."""
    if sys.platform != "linux":
        with contextlib.suppress(Exception):
            return [child.pid for child in _psutil().Process(pid).children(recursive=True)]
        return []
    above = dict(_parents())
    found = {pid}
    while more := {child for child, parent in above.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})


def _parents() -> Iterator[tuple[int, int]]:
    """(process, its parent) for all that can be seen."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                yield int(name), _stat(name)[1]


@lru_cache(maxsize=1)
def _psutil() -> Any:
    """The module psutil; OSError when it is not installed."""
    try:
        import psutil
    except ImportError as error:
        raise OSError("psutil is not installed") from error
    return psutil


def _from_psutil(pid: int) -> Vitals | None:
    psutil = _psutil()
    try:
        process = psutil.Process(pid)
        everyone = [process, *process.children(recursive=True)]
        seconds, size, n_read, waits = 0.0, 0, 0, True
        for one in everyone:
            times = one.cpu_times()
            seconds += times.user + times.system
            seconds += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            size += one.memory_info().rss
            n_read += one.io_counters().read_bytes if hasattr(one, "io_counters") else 0
            waits = waits and one.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    except psutil.Error:
        return None
    return Vitals(seconds, n_read, size, waits)


class Waiting:
    """The entries not yet handed out: those given back first, then the iterable."""

    def __init__(self, entries: Iterable[FileEntry]) -> None:
        self._entries = iter(entries)
        self._back: deque[FileEntry] = deque()

    def __bool__(self) -> bool:
        if not self._back:
            self._back.extend(islice(self._entries, 1))
        return bool(self._back)

    def take(self) -> FileEntry:
        return self._back.popleft()

    def give_back(self, entries: list[FileEntry]) -> None:
        self._back.extendleft(reversed(entries))


class Observation:
    """What the parent has seen of a worker since it last heard of it."""

    def __init__(self) -> None:
        self._since = self._looked = time.monotonic()
        self._first: Vitals | None = None
        self._last: Vitals | None = None
        self._still = 0.0

    def verdict(self, pid: int, order: Order, *, is_ready: bool, is_limited: bool) -> tuple[str, str] | None:
        """Why the file that the worker is at is given up now, as (kind, reason); None to go on."""
        now = time.monotonic()
        if now - self._since < (FIRST_LOOK if is_limited else LOOK_SECONDS) or now - self._looked < LOOK_SECONDS:
            return None
        passed, self._looked = now - self._looked, now
        vitals = look(pid)
        if vitals is None:
            late = now - self._since > UNKNOWN_FACTOR * order.still_seconds
            return ("timeout", f"did not answer for {now - self._since:.0f} s") if late else None
        if self._first is None:
            self._first = vitals
        last, self._last = self._last, vitals
        used = vitals.cpu_seconds - self._first.cpu_seconds
        if used > (2 * order.seconds if is_ready else START_SECONDS):
            return "too-slow", f"not read after {2 * order.seconds:g} s of processor time"
        if is_ready and not is_limited and vitals.resident_bytes > order.memory_mb * MEGABYTE:
            return "memory", needed_too_much(order.memory_mb)
        is_still = vitals.is_waiting and last is not None and last.cpu_seconds == vitals.cpu_seconds
        is_still = is_still and last is not None and last.n_bytes_read == vitals.n_bytes_read
        self._still = self._still + min(passed, LONGEST_STILL) if is_still else 0.0
        if self._still > order.still_seconds:
            return "timeout", f"nothing could be read for {order.still_seconds:g} s"
        return None


def _may_be_copied() -> bool:
    """Whether a copy of this process would be sound: on Linux, where it has one thread and nobody holds a lock."""
    if sys.platform != "linux":
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def started(target: Callable[..., None], *arguments: object, from_copy: bool) -> BaseProcess:
    """A new process of one thread that runs `target`, with Ctrl-C held back until it sees to that itself.

    `from_copy`: as a copy of this process where that is sound, which loads nothing anew; else from nothing.
    """
    from_copy = from_copy and _may_be_copied()
    if from_copy:
        prepare()
    context: Any = get_context("fork" if from_copy else "spawn")
    process: BaseProcess = context.Process(target=target, args=arguments, daemon=True)
    with _set_for_a_start():
        process.start()
    return process


class Worker:
    """The parent's side of one process."""

    def __init__(self, order: Order, *, from_copy: bool = False) -> None:
        """`from_copy`: as `started` takes it."""
        self._order = order
        requests, self.requests = Pipe(duplex=False)
        self.results, results = Pipe(duplex=False)
        lifeline, self._lifeline = Pipe(duplex=False)
        self._process = started(work, order, requests, results, lifeline, from_copy=from_copy)
        for end in (requests, results, lifeline):
            end.close()
        self.ahead: deque[FileEntry] = deque()
        self._observed = Observation()
        self.is_ready = self._is_limited = False
        self.exit_code: int | None = None

    def has_room(self) -> bool:
        """Whether it may get more files: half its list or more is done."""
        return len(self.ahead) <= AHEAD_FILES // 2 and sum(entry.size for entry in self.ahead) < AHEAD_BYTES

    def send(self, waiting: Waiting) -> None:
        """Move files from `waiting` to this worker; OSError when it is dead, with the files in `ahead`."""
        batch: list[FileEntry] = []
        n_bytes, n_chars = sum(entry.size for entry in self.ahead), sum(len(entry.path) for entry in self.ahead)
        while not batch or (n_bytes < AHEAD_BYTES and n_chars < AHEAD_NAMES and len(batch) < AHEAD_FILES // 2):
            if not waiting:
                break
            batch.append(waiting.take())
            n_bytes, n_chars = n_bytes + batch[-1].size, n_chars + len(batch[-1].path)
        if not self.ahead:
            self.heard()
        self.ahead.extend(batch)
        if not self._process.is_alive():  # its porter may not know yet
            raise BrokenPipeError
        self.requests.send([entry.path for entry in batch])

    def heard(self) -> None:
        """It gave a sign of life: what it uses is counted anew."""
        self._observed = Observation()

    def hear(self) -> FileReport | None:
        """What it says now; None for that it is ready. EOFError, OSError or MsgspecError: it is dead, or raves."""
        message = self.results.recv_bytes(MAX_REPORT)
        self.heard()
        if self.is_ready:
            return _REPORTS.decode(message)
        self.is_ready, self._is_limited = True, message == b"1"
        return None

    def verdict(self) -> tuple[str, str] | None:
        """Why the file it is at is given up now, as (kind, reason); None to go on."""
        pid = self._process.pid or 0
        return self._observed.verdict(pid, self._order, is_ready=self.is_ready, is_limited=self._is_limited)

    def suspend(self, is_suspended: bool) -> None:
        """Stop the process, or let it go on; nothing where it could outlive its parent (see `end_with_parent`)."""
        if sys.platform == "linux" and self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGSTOP if is_suspended else signal.SIGCONT)

    def end(self) -> None:
        """Kill the process and what it started; a process that ended by itself keeps its own exit code."""
        started = descendants(self._process.pid or 0) if self.ahead and self._process.is_alive() else []
        self._process.kill()
        for pid in started:
            with contextlib.suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.join()
        self.exit_code = self._process.exitcode
        for end in (self.requests, self.results, self._lifeline):
            end.close()
        self._process.close()


_THREADS = "OPENBLAS_NUM_THREADS"


@contextlib.contextmanager
def _set_for_a_start() -> Iterator[None]:
    """What a process that is being started takes over: Ctrl-C held back until it ignores it, nothing to import of the
    program that starts it, and numpy without threads beside it: one of them would not be confined."""
    has_masks = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if has_masks else set()
    main, threads = sys.modules["__main__"], os.environ.get(_THREADS)
    sys.modules["__main__"], os.environ[_THREADS] = ModuleType("__main__"), "1"
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        del os.environ[_THREADS]
        if threads is not None:
            os.environ[_THREADS] = threads
        if has_masks:  # last, for what was held back comes now
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def how_it_ended(exit_code: int | None) -> tuple[str, str]:
    """The kind of failure and a line such as "the reader crashed (SIGSEGV)" for multiprocessing's exit code."""
    if exit_code is None or exit_code >= 0:
        return "crashed", f"the reader ended by itself (exit code {exit_code})"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    if name == "SIGKILL":
        return "memory", "the reader was killed (SIGKILL), perhaps because memory ran out"
    if name == "SIGXCPU":
        return "too-slow", "took too much processor time"
    return "crashed", f"the reader crashed ({name})"
