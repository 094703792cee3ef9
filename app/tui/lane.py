"""One worker thread with a short queue, so that no key press ever waits for an answer.

A new thread for each question would let slow questions pile up; a lane runs one job at a time and can forget the
jobs that were overtaken before they began.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Job = Callable[[], None]


class Lane:
    """A thread that runs jobs one after another."""

    def __init__(self, name: str, *, failed: Callable[[str, Exception], None]) -> None:
        """`failed(name, error)` is called in the thread when a job raises; the lane goes on."""
        self._name = name
        self._failed = failed
        self._jobs: deque[Job] = deque()
        self._latest: Job | None = None
        self._wake = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"foltr-{name}", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Run `job` after all that wait already."""
        with self._wake:
            if not self._closed:
                self._jobs.append(job)
                self._wake.notify()

    def replace(self, job: Job) -> None:
        """Run `job` after those that were `put`, and forget the one given here before if it has not begun."""
        with self._wake:
            if not self._closed:
                self._latest = job
                self._wake.notify()

    def close(self, *, finish: bool, seconds: float) -> None:
        """Take no more jobs; wait up to `seconds` for the running one, and with `finish` for all that wait."""
        with self._wake:
            self._closed = True
            if not finish:
                self._jobs.clear()
                self._latest = None
            self._wake.notify()
        self._thread.join(seconds)

    def _next(self) -> Job | None:
        with self._wake:
            while not self._jobs and self._latest is None and not self._closed:
                self._wake.wait()
            if self._jobs:
                return self._jobs.popleft()
            job, self._latest = self._latest, None
            return job

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception as error:  # reported to the screen, which shows it; the next job may well succeed
                self._failed(self._name, error)
