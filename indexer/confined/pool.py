"""Run a reader over many files in processes of their own, so that no file can harm another.

Each worker has a few files ahead of it and reports every one when it is done; so when a worker dies or hangs,
the file it was at is known, that file alone fails, and the rest goes to the next worker.

Messages of a process are decoded as data, never as objects, for it may have been taken over. Its use of memory and
processor is measured from outside (indexer.confined.resource_usage).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing import Pipe, connection, get_context
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec

from indexer.confined.broker import FilesOf
from indexer.confined.confinement import prepare
from indexer.confined.reading_process import MEGABYTE, FileReport, Order, needed_too_much, work
from indexer.confined.resource_usage import ResourceUsage, descendants, look_at_process
from indexer.documents import FileEntry
from indexer.errors import ExtractionError, IndexerError
from indexer.extract.source import Limits
from indexer.extract.sources.known import files_of

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
    """What the parent has observed about a worker since its last report."""

    def __init__(self) -> None:
        self._since = self._looked = time.monotonic()
        self._first: ResourceUsage | None = None
        self._last: ResourceUsage | None = None
        self._still = 0.0

    def verdict(self, pid: int, order: Order, *, is_ready: bool, is_limited: bool) -> tuple[str, str] | None:
        """Why the file that the worker is at is given up now, as (kind, reason); None to go on."""
        now = time.monotonic()
        if now - self._since < (FIRST_LOOK if is_limited else LOOK_SECONDS) or now - self._looked < LOOK_SECONDS:
            return None
        passed, self._looked = now - self._looked, now
        vitals = look_at_process(pid)
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


def start_process(target: Callable[..., None], *arguments: object, from_copy: bool) -> BaseProcess:
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
        """`from_copy`: as `start_process` takes it."""
        self._order = order
        requests, self.requests = Pipe(duplex=False)
        self.results, results = Pipe(duplex=False)
        lifeline, self._lifeline = Pipe(duplex=False)
        self._process = start_process(work, order, requests, results, lifeline, from_copy=from_copy)
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
            self._observed = Observation()
        self.ahead.extend(batch)
        if not self._process.is_alive():  # its broker may not know yet
            raise BrokenPipeError
        self.requests.send([entry.path for entry in batch])

    def hear(self) -> FileReport | None:
        """Its next report; None when it says that it is ready. EOFError, OSError, MsgspecError: it is dead."""
        message = self.results.recv_bytes(MAX_REPORT)
        self._observed = Observation()
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


Result = TypeVar("Result")

MAX_FAILED_STARTS = 3
TICK = 0.1
"""seconds between looks at the stop event"""
STILL_SECONDS = 120.0
"""time a reader may wait without a byte read"""


class WorkerPool(Generic[Result]):
    """`n_workers` processes that run `function(path, limits)`; a context manager, for one thread at a time.

    `function` is a top-level function of an importable module; what it gives is checked by its annotation. It can read
    the files that `files_of` names for a path and nothing else, where the system sees to that; with None, anything.
    A worker is started when there is work for it and kept until `close`. `seconds` are of processor time: a reader that
    keeps to `limits.cpu_ends` stops after so many and gives what it has, any other is ended after twice as many. One
    that waits for a disk or a network is ended when it has read nothing for `still_seconds`. So a busy machine, or one
    that sleeps, costs no file.
    """

    def __init__(
        self,
        function: Callable[[str, Limits], Result],
        *,
        n_workers: int,
        seconds: float,
        memory_mb: int,
        still_seconds: float = STILL_SECONDS,
        limits: Limits | None = None,
        files_of: FilesOf | None = files_of,
    ) -> None:
        if n_workers < 1 or seconds <= 0 or memory_mb < 1:
            raise ValueError(
                f"wanted n_workers >= 1, seconds > 0, memory_mb >= 1; got {n_workers}, {seconds}, {memory_mb}"
            )
        self._order = Order(function, limits or Limits(), seconds, still_seconds, memory_mb, files_of)
        self._decoder = msgspec.msgpack.Decoder(get_type_hints(getattr(function, "func", function)).get("return", Any))
        self._n_workers = n_workers
        self._workers: list[Worker] = []
        self._n_failed_starts = 0
        self._has_results = False
        """that fill this process: a copy of it would keep them for as long as it lives"""

    def run(
        self, entries: Iterable[FileEntry], stop: threading.Event | None = None
    ) -> Iterator[tuple[FileEntry, Result | ExtractionError]]:
        """Each entry with its result or failure, in the order in which they finish; every entry exactly once.

        Takes from `entries` only what the workers can hold. Returns early, leaving entries out, when `stop` is
        set. Raises IndexerError when workers cannot be started at all.
        """
        return (found for found in self.ticks(entries, stop) if found is not None)

    def ticks(
        self, entries: Iterable[FileEntry], stop: threading.Event | None = None
    ) -> Iterator[tuple[FileEntry, Result | ExtractionError] | None]:
        """As `run`, and None after each `TICK` in which nothing came: the caller may go on with something else."""
        waiting = Waiting(entries)
        try:
            while not (stop is not None and stop.is_set()):
                self._hand_out(waiting)
                busy = [worker for worker in self._workers if worker.ahead]
                if not busy:
                    return
                is_quiet = True
                for found in self._collect(busy, waiting):
                    is_quiet = False
                    yield found
                if is_quiet:
                    yield None
        finally:
            for worker in [worker for worker in self._workers if worker.ahead]:
                self._discard(worker)

    def suspend(self, is_suspended: bool = True) -> None:
        """Stop what the workers do until this is called with False; only for functions that call `end_with_parent`."""
        for worker in self._workers:
            worker.suspend(is_suspended)

    def close(self) -> None:
        """End all workers now."""
        for worker in list(self._workers):
            self._discard(worker)
        self._has_results = False

    def __enter__(self) -> WorkerPool[Result]:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _hand_out(self, waiting: Waiting) -> None:
        """Fill up the workers, the emptiest first, and start another one while there is more to do."""
        while waiting:
            worker = min(self._workers, key=lambda one: len(one.ahead), default=None)
            if (worker is None or worker.ahead) and len(self._workers) < self._n_workers:
                worker = Worker(self._order, from_copy=not self._has_results)
                self._workers.append(worker)
            if worker is None or not worker.has_room():
                return
            try:
                worker.send(waiting)
            except OSError:
                waiting.give_back(self._discard(worker))
                self._count_failed_start(worker)

    def _collect(self, busy: list[Worker], waiting: Waiting) -> Iterator[tuple[FileEntry, Any]]:
        """Wait a moment for results; yield those that came and the failures of dead and late workers."""
        by_connection: dict[Any, Worker] = {worker.results: worker for worker in busy}
        ready = connection.wait(list(by_connection), timeout=TICK)
        for one in ready:
            worker = by_connection[one]
            try:
                report = worker.hear()
                failure = ExtractionError(report.kind, report.reason) if report and report.kind else None
                outcome = failure or (self._decoder.decode(report.outcome) if report else None)
            except (EOFError, OSError):
                yield from self._fail_first(worker, waiting)
                continue
            except msgspec.MsgspecError:
                yield from self._fail_first(worker, waiting, ("crashed", "the reader returned an invalid result"))
                continue
            if report is None:
                self._n_failed_starts = 0
                continue
            self._has_results = True
            entry = worker.ahead.popleft()
            if report.is_last:
                waiting.give_back(self._discard(worker))
            yield entry, outcome
        for worker in busy:
            is_silent = worker.ahead and worker.results not in ready
            if is_silent and (reason := worker.verdict()) and not worker.results.poll():
                yield from self._fail_first(worker, waiting, reason)

    def _fail_first(
        self, worker: Worker, waiting: Waiting, reason: tuple[str, str] | None = None
    ) -> Iterator[tuple[FileEntry, ExtractionError]]:
        """Discard a worker: the file it was at fails, by default for how that ended; the others go back."""
        left = self._discard(worker)
        if not worker.is_ready:
            waiting.give_back(left)
            self._count_failed_start(worker)
            return
        waiting.give_back(left[1:])
        yield left[0], ExtractionError(*(reason or how_it_ended(worker.exit_code)))

    def _count_failed_start(self, worker: Worker) -> None:
        if worker.is_ready:
            return
        self._n_failed_starts += 1
        if self._n_failed_starts >= MAX_FAILED_STARTS:
            raise IndexerError(
                f"the worker processes do not start: {self._n_failed_starts} in a row ended before their first file"
                f" ({how_it_ended(worker.exit_code)[1]})"
            )

    def _discard(self, worker: Worker) -> list[FileEntry]:
        """End `worker`; returns the files it had not reported, the one it was at first."""
        self._workers.remove(worker)
        worker.end()
        left = list(worker.ahead)
        worker.ahead.clear()
        return left
