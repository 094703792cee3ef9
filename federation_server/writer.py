"""One thread that writes updates: many requests, one wait for the disk (group commit).

A request hands over a checked offer and waits for its answer, which comes only after the transaction is on disk. The
thread takes whatever has gathered meanwhile into the next transaction. Several server processes on one PostgreSQL each
have their own; the database orders them.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from federation_server.intake import Offer
from federation_server.refusals import Refused
from foltr.federated.wire import Accepted

LARGEST_BATCH = 256
Keep = Callable[[Sequence[Offer]], Sequence[Accepted | Refused]]
"""stores the offers durably in one transaction and answers each"""


@dataclass(slots=True)
class _Waiting:
    offer: Offer
    answer: Future[Accepted]


@dataclass(slots=True, eq=False)
class Writer:
    """Start it before use, stop it after the last request."""

    keep: Keep
    _queue: queue.SimpleQueue[_Waiting | None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="update writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, then end; offers that come later are refused."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

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

    def _write(self, batch: list[_Waiting]) -> None:
        try:
            answers = self.keep([waiting.offer for waiting in batch])
        except Exception as error:  # each request tells it; the thread serves the next ones
            for waiting in batch:
                waiting.answer.set_exception(error)
            return
        for waiting, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Refused):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)
