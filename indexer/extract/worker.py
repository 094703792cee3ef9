"""One worker process: inside, it reads the files it is sent; outside, its parent starts it and sees how it ended.

The worker is expected to die: of a crash in native code, of too much memory, by the parent's hand. It holds
nothing that matters and reports each file as soon as it is done. It gives freed memory back at once, so that one large
file does not keep it large, and lets everything else on the machine go first.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import platform
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

import msgspec

from indexer.documents import FileEntry
from indexer.errors import ExtractionError
from indexer.extract.source import Limits, shown_size
from indexer.extract.vitals import Vitals, descendants, look

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""the names of glibc's mallopt(3) for them"""
_LARGE = 256 << 10
"""bytes; blocks of this size are mapped one by one and unmapped when freed"""


def return_freed_memory() -> None:
    """Fix glibc's thresholds, which otherwise grow with the largest block ever freed; elsewhere nothing happens."""
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return  # another C library
    mallopt(_MMAP_THRESHOLD, _LARGE)
    mallopt(_TRIM_THRESHOLD, 4 * _LARGE)


_IO_PRIORITY_CALL = {"x86_64": 251, "aarch64": 30}
"""the number of Linux's ioprio_set on each machine; Python has no name for it"""
_IO_IDLE = 3 << 13


def give_way() -> None:
    """Lower this process's share of processor and disk; what it starts inherits that."""
    if not hasattr(os, "nice"):
        return
    with contextlib.suppress(OSError):
        os.nice(10)
    number = _IO_PRIORITY_CALL.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None).syscall(number, 1, 0, _IO_IDLE)


MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker does all its life."""

    function: Callable[[str, Limits], Any]
    """reads one path; a top-level function, so that it can be named across processes"""
    limits: Limits
    seconds: float
    """processor time after which a reader is to stop and give what it has; after twice that it is ended"""
    still_seconds: float
    """time a reader may wait, for a disk or a network, without a byte read"""
    memory_mb: int
    """address space, or where that is not limited memory, that a file may add to that of the idle worker"""


def work(order: Order, requests: Connection, results: Connection, lifeline: Connection, is_copy: bool) -> None:
    """Serve lists of paths from `requests` until None comes; the entry point of the process.

    A process that `is_copy` of its parent lets go of what is the parent's. Sends whether the system limits its memory
    when it is ready, then (outcome, is_last) per file; after `is_last` the process ends and takes nothing more from its
    list.
    """
    if is_copy:
        _let_go({requests.fileno(), results.fileno(), lifeline.fileno()})
    _become_quiet()
    return_freed_memory()
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    ceiling = _limit_memory(order.memory_mb)
    results.send(ceiling is not None)
    allowed = 0.0
    with contextlib.suppress(EOFError, BrokenPipeError):
        while (paths := requests.recv()) is not None:
            for path in paths:
                began = time.process_time()
                if began + 2 * order.seconds > allowed:
                    allowed = _limit_cpu(began + 10 * order.seconds + 2)
                outcome, is_last = _read(order, path, began)
                if ceiling is not None and time.process_time() - began > _NOTEWORTHY_SECONDS:
                    is_last = is_last or _address_space() > ceiling - order.memory_mb * MEGABYTE // 2
                results.send((outcome, is_last))
                if is_last:
                    return


_NOTEWORTHY_SECONDS = 0.05
"""of processor time; what takes less cannot have made the process much larger"""


def _read(order: Order, path: str, began: float) -> tuple[Any, bool]:
    """(what the function gave or an ExtractionError, whether this process should end)."""
    limits = msgspec.structs.replace(order.limits, cpu_ends=began + order.seconds)
    try:
        return order.function(path, limits), False
    except ExtractionError as error:
        return error, error.kind == "memory"
    except MemoryError:
        return ExtractionError("memory", needed_too_much(order.memory_mb)), True
    except RecursionError:
        return ExtractionError("malformed", "nested too deeply"), False
    except Exception as error:  # a fault of the reader is reported as this file's failure, with its name
        return ExtractionError("crashed", f"the reader failed: {type(error).__name__}: {error}"[:300]), False


def needed_too_much(memory_mb: int) -> str:
    """The reason of a file that needs more memory than it may."""
    return f"needed more than {shown_size(memory_mb * 10**6)} of memory"


def _let_go(kept: set[int]) -> None:
    """Close what the parent had open, but `kept` and the standard streams: its locks, its databases, the other ends of
    all pipes. Its handlers of signals go, and so does all thought of collecting what it made."""
    gc.freeze()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor not in kept:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(descriptor)


def _may_be_copied() -> bool:
    """Whether a copy of this process would be sound: on Linux, where it has one thread and nobody holds a lock."""
    if sys.platform != "linux":
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _become_quiet() -> None:
    """Ignore Ctrl-C (the parent decides), write to nowhere, give way to programs in the foreground."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    give_way()


def _die_with_parent(lifeline: Connection) -> None:
    """End this process at once when the parent's end of `lifeline` closes, however the parent went."""
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


_PR_SET_PDEATHSIG = 1
"""as Linux's prctl(2) calls it"""


def end_with_parent() -> None:
    """Have Linux end this process with the thread that started it, also while it is stopped and cannot see to it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_memory(memory_mb: int) -> int | None:
    """Allow `memory_mb` more address space than is in use now; the limit in bytes, None where nothing enforces one."""
    ceiling = _address_space() + memory_mb * MEGABYTE
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
    except (ImportError, AttributeError, ValueError, OSError):
        return None
    return ceiling if sys.platform == "linux" else None  # macOS takes the limit and does not keep it


def _limit_cpu(seconds: float) -> float:
    """Let the kernel end a loop that the parent is no longer there to end; the parent's limit comes first.

    Counted from the start of this process; infinity where the system knows no such limit.
    """
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return math.inf
    return seconds


def _address_space() -> int:
    """Bytes of address space this process uses; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


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


class Worker:
    """The parent's side of one process."""

    def __init__(self, order: Order, *, from_copy: bool = False) -> None:
        """`from_copy`: as a copy of this process where that is sound, which loads nothing anew; else from nothing."""
        self._order = order
        from_copy = from_copy and _may_be_copied()
        context = get_context("fork") if from_copy else get_context("spawn")
        requests, self.requests = context.Pipe(duplex=False)
        self.results, results = context.Pipe(duplex=False)
        lifeline, self._lifeline = context.Pipe(duplex=False)
        self._process = context.Process(target=work, args=(order, requests, results, lifeline, from_copy), daemon=True)
        with _interrupts_held(), _without_main():
            self._process.start()
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
        self.requests.send([entry.path for entry in batch])

    def heard(self) -> None:
        """It gave a sign of life: what it uses is counted anew."""
        self._observed = Observation()

    def begin(self, *, is_limited: bool) -> None:
        """It is ready, and the system limits its memory or does not."""
        self.is_ready, self._is_limited = True, is_limited

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


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C from a process that is being started, until it ignores it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Spare a process that is being started the import of the program that starts it: it needs nothing of that."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


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
