"""One thread that writes updates: many requests, one wait for the disk (group commit).

A request hands over a checked offer and waits for its answer, which comes only after the transaction is on disk. The
thread takes whatever has gathered meanwhile into the next transaction. Requests that only read hand over their
credentials, for their nonce must be remembered too. Several server processes on one PostgreSQL each have their own
thread; the database orders them.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from federation_server.authentication import Credentials
from federation_server.intake import Offer
from federation_server.refusals import Refused
from foltr.federated.wire import Accepted

LARGEST_BATCH = 256
Keep = Callable[[Sequence[Offer | Credentials]], Sequence[Accepted | Refused | None]]
"""stores them durably in one transaction and answers each; None for credentials alone"""


@dataclass(slots=True)
class _Waiting:
    asked: Offer | Credentials
    answer: Future[Any]


@dataclass(slots=True, eq=False)
class Writer:
    """Start it before use, stop it after the last request."""

    keep: Keep
    afterwards: Callable[[Sequence[Accepted | Refused | None]], None] = lambda answers: None
    """what the answers of a transaction make due, once they are given and before the next one; raises nothing"""
    _queue: queue.SimpleQueue[_Waiting | None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None

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
        return self._wait(offer)

    def admit(self, who: Credentials) -> Future[None]:
        """A future that is done when the nonce of a request that only reads is spent."""
        return self._wait(who)

    def _wait(self, asked: Offer | Credentials) -> Future[Any]:
        waiting = _Waiting(asked, Future())
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
            answers = self.keep([waiting.asked for waiting in batch])
        except Exception as error:  # each request tells it; the thread serves the next ones
            for waiting in batch:
                waiting.answer.set_exception(error)
            return
        for waiting, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Refused):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)
        self.afterwards(answers)
