"""Run a reader over many files in processes of their own, so that no file can harm another.

Each worker has a few files ahead of it and reports every one when it is done; so when a worker dies or hangs,
the file it was at is known, that file alone fails, and the rest goes to the next worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec

from indexer.confined.porter import FilesOf
from indexer.documents import FileEntry
from indexer.errors import ExtractionError, IndexerError
from indexer.extract.source import Limits
from indexer.extract.sources.known import files_of
from indexer.extract.workers.reading_process import FileReport, Order
from indexer.extract.workers.worker import Waiting, Worker, how_it_ended

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
        self._decoder = msgspec.msgpack.Decoder(_given_by(function))
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
                outcome = self._outcome(report) if report is not None else None
            except (EOFError, OSError):
                yield from self._fail_first(worker, waiting)
                continue
            except msgspec.MsgspecError:
                yield from self._fail_first(worker, waiting, ("crashed", "the reader gave what none gives"))
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

    def _outcome(self, report: FileReport) -> Any:
        return ExtractionError(report.kind, report.reason) if report.kind else self._decoder.decode(report.outcome)

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


def _given_by(function: Callable[..., Any]) -> Any:
    """The type that a function is annotated to give; anything where it does not say."""
    return get_type_hints(getattr(function, "func", function)).get("return", Any)
