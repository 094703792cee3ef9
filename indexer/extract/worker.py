"""One worker process: inside, it reads the files it is sent; outside, its parent starts it and sees how it ended.

The worker is expected to die: of a crash in native code, of too much memory, by the parent's hand. It holds
nothing that matters and reports each file as soon as it is done. It gives freed memory back at once, so that one large
file does not keep it large, and lets everything else on the machine go first.
"""

from __future__ import annotations

import contextlib
import ctypes
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
from typing import Any

from indexer.documents import FileEntry
from indexer.errors import ExtractionError
from indexer.extract.source import Limits, shown_size

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
    """wall time per file"""
    memory_mb: int
    """address space a file may add to that of the idle worker"""


def work(order: Order, requests: Connection, results: Connection, lifeline: Connection) -> None:
    """Serve lists of paths from `requests` until None comes; the entry point of the process.

    Sends None when it is ready, then (outcome, is_last) per file; after `is_last` the process ends and takes
    nothing more from its list.
    """
    _become_quiet()
    return_freed_memory()
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    ceiling = _limit_memory(order.memory_mb)
    results.send(None)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while (paths := requests.recv()) is not None:
            for path in paths:
                outcome, is_last = _read(order, path)
                is_last = is_last or _address_space() > ceiling - order.memory_mb * MEGABYTE // 2
                results.send((outcome, is_last))
                if is_last:
                    return


def _read(order: Order, path: str) -> tuple[Any, bool]:
    """(what the function gave or an ExtractionError, whether this process should end)."""
    _limit_cpu(order.seconds)
    try:
        return order.function(path, order.limits), False
    except ExtractionError as error:
        return error, False
    except MemoryError:
        return ExtractionError("memory", f"needed more than {shown_size(order.memory_mb * 10**6)} of memory"), True
    except RecursionError:
        return ExtractionError("malformed", "nested too deeply"), False
    except Exception as error:  # a fault of the reader is reported as this file's failure, with its name
        return ExtractionError("crashed", f"the reader failed: {type(error).__name__}: {error}"[:300]), False


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


def _limit_memory(memory_mb: int) -> int:
    """Allow `memory_mb` more address space than is in use now; returns the limit in bytes."""
    ceiling = _address_space() + memory_mb * MEGABYTE
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return ceiling
    return ceiling


def _limit_cpu(seconds: float) -> None:
    """Let the kernel end a loop that the parent is no longer there to end; the parent's limit comes first."""
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        allowed = int(used.ru_utime + used.ru_stime + 2 * seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return


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
"""time a worker has to say that it is ready"""


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


class Worker:
    """The parent's side of one process."""

    def __init__(self, order: Order) -> None:
        context = get_context("spawn")
        requests, self.requests = context.Pipe(duplex=False)
        self.results, results = context.Pipe(duplex=False)
        lifeline, self._lifeline = context.Pipe(duplex=False)
        self._process = context.Process(target=work, args=(order, requests, results, lifeline), daemon=True)
        with _interrupts_held():
            self._process.start()
        for end in (requests, results, lifeline):
            end.close()
        self.ahead: deque[FileEntry] = deque()
        self.since = time.monotonic()
        """when the file now read, or the start, began at the earliest"""
        self.is_ready = False
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
            self.since = max(self.since, time.monotonic())
        self.ahead.extend(batch)
        self.requests.send([entry.path for entry in batch])

    def is_late(self, now: float, seconds: float) -> bool:
        return now - self.since > (seconds if self.is_ready else START_SECONDS)

    def end(self) -> None:
        """Kill the process if it still runs; a process that ended by itself keeps its own exit code."""
        self._process.kill()
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


def how_it_ended(exit_code: int | None) -> str:
    """A line such as "the reader crashed (SIGSEGV)" for an exit code as multiprocessing gives it."""
    if exit_code == -signal.SIGKILL:
        return "the reader was killed (SIGKILL), perhaps because memory ran out"
    if exit_code is not None and exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = f"signal {-exit_code}"
        return f"the reader crashed ({name})"
    return f"the reader ended by itself (exit code {exit_code})"
