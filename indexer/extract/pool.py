"""Run a reader over many files in processes of their own, so that no file can harm another.

Each worker has a few files ahead of it and reports every one when it is done; so when a worker dies or hangs,
the file it was at is known, that file alone fails, and the rest goes to the next worker.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing import connection, get_context
from typing import Any, Generic, TypeVar

from indexer.documents import FileEntry
from indexer.errors import ExtractionError, IndexerError
from indexer.extract.limits import Limits
from indexer.extract.worker import Order, work

Result = TypeVar("Result")

AHEAD_FILES = 16
"""files a worker has at most before it"""
AHEAD_BYTES = 1_000_000
"""bytes of files a worker has at most before it, the last one aside"""
AHEAD_NAMES = 4_096
"""characters of paths sent ahead, so that sending never waits for the worker"""
START_SECONDS = 60.0
"""time a worker has to say that it is ready"""
MAX_FAILED_STARTS = 3
TICK = 0.1
"""seconds between looks at the stop event"""


class WorkerPool(Generic[Result]):
    """`n_workers` processes that run `function(path, limits)`; a context manager, for one thread at a time.

    `function` and `initialise` are top-level functions of an importable module. A worker is started when there
    is work for it and kept until `close`.
    """

    def __init__(
        self,
        function: Callable[[str, Limits], Result],
        *,
        n_workers: int,
        seconds: float,
        memory_mb: int,
        limits: Limits | None = None,
        initialise: Callable[..., None] | None = None,
        initial_args: tuple[Any, ...] = (),
    ) -> None:
        if n_workers < 1 or seconds <= 0 or memory_mb < 1:
            raise ValueError(
                f"wanted n_workers >= 1, seconds > 0, memory_mb >= 1; got {n_workers}, {seconds}, {memory_mb}"
            )
        self._order = Order(function, limits or Limits(), seconds, memory_mb, initialise, initial_args)
        self._n_workers = n_workers
        self._workers: list[_Worker] = []
        self._n_failed_starts = 0

    def run(
        self, entries: Iterable[FileEntry], stop: threading.Event | None = None
    ) -> Iterator[tuple[FileEntry, Result | ExtractionError]]:
        """Each entry with its result or failure, in the order in which they finish; every entry exactly once.

        Takes from `entries` only what the workers can hold. Returns early, leaving entries out, when `stop` is
        set. Raises IndexerError when workers cannot be started at all.
        """
        waiting = _Waiting(entries)
        try:
            while not (stop is not None and stop.is_set()):
                self._hand_out(waiting)
                busy = [worker for worker in self._workers if worker.ahead]
                if not busy:
                    return
                yield from self._collect(busy, waiting)
        finally:
            for worker in [worker for worker in self._workers if worker.ahead]:
                self._discard(worker)

    def close(self) -> None:
        """End all workers now."""
        for worker in list(self._workers):
            self._discard(worker)

    def __enter__(self) -> WorkerPool[Result]:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _hand_out(self, waiting: _Waiting) -> None:
        """Fill up the workers, the emptiest first, and start another one while there is more to do."""
        while waiting:
            worker = min(self._workers, key=lambda one: len(one.ahead), default=None)
            if (worker is None or worker.ahead) and len(self._workers) < self._n_workers:
                worker = _Worker(self._order)
                self._workers.append(worker)
            if worker is None or not worker.has_room():
                return
            try:
                worker.send(waiting)
            except OSError:
                waiting.give_back(self._discard(worker))
                self._count_failed_start(worker)

    def _collect(self, busy: list[_Worker], waiting: _Waiting) -> Iterator[tuple[FileEntry, Any]]:
        """Wait a moment for results; yield those that came and the failures of dead and late workers."""
        by_connection: dict[Any, _Worker] = {worker.results: worker for worker in busy}
        ready = connection.wait(list(by_connection), timeout=TICK)
        for one in ready:
            worker = by_connection[one]
            try:
                message = worker.results.recv()
            except (EOFError, OSError):
                yield from self._bury(worker, waiting)
                continue
            worker.since = time.monotonic()
            if message is None:
                worker.is_ready, self._n_failed_starts = True, 0
                continue
            outcome, is_last = message
            entry = worker.ahead.popleft()
            if is_last:
                waiting.give_back(self._discard(worker))
            yield entry, outcome
        now = time.monotonic()
        for worker in busy:
            if worker.ahead and worker.results not in ready and worker.is_late(now, self._order.seconds):
                yield from self._stop_late(worker, waiting)

    def _bury(self, worker: _Worker, waiting: _Waiting) -> Iterator[tuple[FileEntry, ExtractionError]]:
        """A worker died: the file it was at fails, the others go back."""
        left = self._discard(worker)
        if not worker.is_ready:
            waiting.give_back(left)
            self._count_failed_start(worker)
            return
        waiting.give_back(left[1:])
        yield left[0], ExtractionError("crashed", _how_it_ended(worker.exit_code))

    def _stop_late(self, worker: _Worker, waiting: _Waiting) -> Iterator[tuple[FileEntry, ExtractionError]]:
        """A worker took too long: kill it; the file it was at fails, the others go back."""
        if worker.results.poll():
            return
        left = self._discard(worker)
        if not worker.is_ready:
            waiting.give_back(left)
            self._count_failed_start(worker)
            return
        waiting.give_back(left[1:])
        yield left[0], ExtractionError("timeout", f"took longer than {self._order.seconds:g} s")

    def _count_failed_start(self, worker: _Worker) -> None:
        if worker.is_ready:
            return
        self._n_failed_starts += 1
        if self._n_failed_starts >= MAX_FAILED_STARTS:
            raise IndexerError(
                f"the worker processes do not start: {self._n_failed_starts} in a row ended before their first file"
                f" ({_how_it_ended(worker.exit_code)})"
            )

    def _discard(self, worker: _Worker) -> list[FileEntry]:
        """End `worker`; returns the files it had not reported, the one it was at first."""
        self._workers.remove(worker)
        worker.end()
        left = list(worker.ahead)
        worker.ahead.clear()
        return left


class _Worker:
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

    def send(self, waiting: _Waiting) -> None:
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


class _Waiting:
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


def _how_it_ended(exit_code: int | None) -> str:
    """A line such as "the reader crashed (SIGSEGV)" for an exit code as multiprocessing gives it."""
    if exit_code is not None and exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = f"signal {-exit_code}"
        return f"the reader crashed ({name})"
    return f"the reader ended by itself (exit code {exit_code})"
