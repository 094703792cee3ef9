"""One worker process: inside, it reads the files it is sent; outside, its parent starts it and sees how it ended.

The worker is expected to die: of a crash in native code, of too much memory, by the parent's hand. It holds
nothing that matters and reports each file as soon as it is done. It gives freed memory back at once, so that one large
file does not keep it large, and lets everything else on the machine go first. It may be taken over by what it reads: so
it gives up its rights first (indexer.confined), and what it says is decoded as data, never as objects.
"""

from __future__ import annotations

import contextlib
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
from functools import cache
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

import msgspec

from indexer.confined.confinement import available, close_all_but, prepare
from indexer.confined.porter import FilesOf, requests_through_porter
from indexer.confined.system_calls import c_library
from indexer.documents import FileEntry, storable
from indexer.errors import ExtractionError
from indexer.extract.source import Limits, shown_size
from indexer.extract.sources import files_of
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
        mallopt = c_library().mallopt
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
        c_library().syscall(number, 1, 0, _IO_IDLE)


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
    files_of: FilesOf | None = files_of
    """the paths that reading one request takes, each to be had open; None leaves the worker unconfined"""


class FileReport(msgspec.Struct, frozen=True, array_like=True):
    """What a worker says of one file: its `outcome`, or the `kind` of a failure and why."""

    is_last: bool
    """the process ends, and takes nothing more from its list"""
    outcome: msgspec.Raw = msgspec.Raw()
    kind: str = ""
    reason: str = ""


def work(order: Order, requests: Connection, results: Connection, lifeline: Connection) -> None:
    """Serve lists of paths from `requests` until None comes; the entry point of the process.

    It lets go of what is its parent's. Sends whether the system limits its memory
    when it is ready, then a `FileReport` per file.
    """
    if sys.platform == "linux":
        _let_go({requests.fileno(), results.fileno(), lifeline.fileno()})
    _become_quiet()
    return_freed_memory()
    ceiling = _limit_memory(order.memory_mb)
    paths = _confined(order, requests)  # while there is one thread
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    results.send_bytes(b"1" if ceiling is not None else b"0")
    allowed = 0.0
    with contextlib.suppress(BrokenPipeError):
        for path in paths:
            began = time.process_time()
            if began + 2 * order.seconds > allowed:
                allowed = _limit_cpu(began + 10 * order.seconds + 2)
            report = _read(order, path, began)
            if ceiling is not None and time.process_time() - began > _NOTEWORTHY_SECONDS:
                is_full = _address_space() > ceiling - order.memory_mb * MEGABYTE // 2
                report = msgspec.structs.replace(report, is_last=report.is_last or is_full)
            results.send_bytes(msgspec.msgpack.encode(report))
            if report.is_last:
                return


def _confined(order: Order, requests: Connection) -> Iterator[str]:
    """The paths to be read, one after another; this process gives up its rights where the system offers that."""
    if order.files_of is None or not available():
        return _received(requests)
    function = getattr(order.function, "func", order.function)
    packages = {"indexer", function.__module__.partition(".")[0]}
    _address_space()  # which stays open
    return requests_through_porter(requests, order.files_of, packages=packages, recognised=order.limits.recognised)


def _received(requests: Connection) -> Iterator[str]:
    with contextlib.suppress(EOFError):
        while (paths := requests.recv()) is not None:
            yield from paths


_NOTEWORTHY_SECONDS = 0.05
"""of processor time; what takes less cannot have made the process much larger"""


def _read(order: Order, path: str, began: float) -> FileReport:
    """What the function gave, or why it gave nothing."""
    limits = msgspec.structs.replace(order.limits, cpu_ends=began + order.seconds)
    try:
        return FileReport(False, msgspec.Raw(msgspec.msgpack.encode(order.function(path, limits))))
    except ExtractionError as error:
        return _failure(error.kind, str(error))
    except MemoryError:
        return _failure("memory", needed_too_much(order.memory_mb))
    except RecursionError:
        return _failure("malformed", "nested too deeply")
    except Exception as error:  # a fault of the reader is reported as this file's failure, with its name
        return _failure("crashed", f"the reader failed: {type(error).__name__}: {error}"[:300])


def _failure(kind: str, reason: str) -> FileReport:
    return FileReport(kind == "memory", msgspec.Raw(_NOTHING), kind, storable(reason))


_NOTHING = msgspec.msgpack.encode(None)


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
    close_all_but(kept)


def _may_be_copied() -> bool:
    """Whether a copy of this process would be sound: on Linux, where it has one thread and nobody holds a lock."""
    if sys.platform != "linux":
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _become_quiet() -> None:
    """Ignore Ctrl-C (the parent decides), have no terminal to read or write, give way to programs in the foreground."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    give_way()


def _die_with_parent(lifeline: Connection) -> None:
    """End this process at once when the parent's end of `lifeline` closes, however the parent went."""
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


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
        return int(os.pread(_own_sizes(), 100, 0).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


@cache
def _own_sizes() -> int:
    """What the kernel says of this process; it stays open, for a confined process cannot open it any more."""
    return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)


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
        if from_copy:
            prepare()
        context = get_context("fork") if from_copy else get_context("spawn")
        requests, self.requests = context.Pipe(duplex=False)
        self.results, results = context.Pipe(duplex=False)
        lifeline, self._lifeline = context.Pipe(duplex=False)
        self._process = context.Process(target=work, args=(order, requests, results, lifeline), daemon=True)
        with _interrupts_held(), _without_main(), _one_thread():
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


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Have a process that is being started load numpy without threads beside it: one of them would not be confined."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before


_THREADS = "OPENBLAS_NUM_THREADS"


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
