"""One thread writes the updates of an open group down (group commit), many in one transaction.

A request hands over a checked offer and waits for its answer, which comes only after the transaction is on disk; the
thread takes whatever has gathered meanwhile into the next transaction. Several server processes on one PostgreSQL each
have their own thread; the database orders them.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from federation_server.refusals import Refused
from federation_server.rounds.intake import Offer
from foltr.federated.wire import Accepted

LARGEST_BATCH = 256
Keep = Callable[[Sequence[Offer]], Sequence[Accepted | Refused]]
"""stores them durably in one transaction and answers each"""


@dataclass(slots=True)
class _Waiting:
    offer: Offer
    answer: Future[Accepted]


@dataclass(slots=True, eq=False)
class Writer:
    """Start it before use, stop it after the last request."""

    keep: Keep
    afterwards: Callable[[Sequence[Accepted | Refused]], None] = lambda answers: None
    """what the answers of a transaction make due, once they are given and before the next one; raises nothing"""
    _queue: queue.SimpleQueue[_Waiting | None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None
    settled: threading.Event = field(default_factory=threading.Event)
    """not set while answers are followed by what they made due: who waits for it reads the next round"""

    def __post_init__(self) -> None:
        self.settled.set()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="update writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, then end; what comes later is refused."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with contextlib.suppress(queue.Empty):
            while True:
                late = self._queue.get_nowait()
                if late is not None:
                    late.answer.set_exception(Refused("unavailable"))

    def submit(self, offer: Offer) -> Future[Accepted]:
        """A future of the answer; Refused, or whatever keeping raised, is its exception."""
        waiting = _Waiting(offer, Future())
        if self._thread is None:
            waiting.answer.set_exception(Refused("unavailable"))
        else:
            self._queue.put(waiting)
        return waiting.answer

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._next_batch()
            if batch:
                self._write(batch)

    def _next_batch(self) -> tuple[list[_Waiting], bool]:
        """What has gathered, at least one; and whether to go on afterwards."""
        batch: list[_Waiting] = []
        waiting = self._queue.get()
        while waiting is not None:
            batch.append(waiting)
            if len(batch) == LARGEST_BATCH or self._queue.empty():
                return batch, True
            waiting = self._queue.get()
        return batch, False

    def _write(self, gathered: list[_Waiting]) -> None:
        # Who gave up meanwhile is left out; who is in the batch cannot give up any more.
        batch = [waiting for waiting in gathered if waiting.answer.set_running_or_notify_cancel()]
        try:
            answers = self.keep([waiting.offer for waiting in batch])
        except Exception as error:  # each request tells it; the thread serves the next ones
            for waiting in batch:
                waiting.answer.set_exception(error)
            return
        self.settled.clear()
        for waiting, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Refused):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)
        try:
            self.afterwards(answers)
        finally:
            self.settled.set()
