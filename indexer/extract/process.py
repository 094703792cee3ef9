"""The parent's side of one worker process: start it, send it files, see how it ended."""

from __future__ import annotations

import contextlib
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from multiprocessing import get_context

from indexer.documents import FileEntry
from indexer.extract.worker import Order, work

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
