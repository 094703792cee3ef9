"""A limit on how long something may take, whatever the other end does."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[threading.Event], T]) -> T:
    """What `work` gives, if it does so in time, else TimeoutError.

    A server that sends a byte now and then outlasts the limits of its socket, so the work has a thread of its own. One
    that is given up sees its event set, and ends with the next byte or with the program.
    """
    gone, outcome = threading.Event(), queue.SimpleQueue[tuple[T | None, BaseException | None]]()

    def run() -> None:
        try:
            outcome.put((work(gone), None))
        except BaseException as error:  # raised again by whoever waits
            outcome.put((None, error))

    threading.Thread(target=run, name="foltr-request", daemon=True).start()
    try:
        found, error = outcome.get(timeout=seconds)
    except queue.Empty:
        gone.set()
        raise TimeoutError(f"not done within {seconds:g} seconds") from None
    if error is not None:
        raise error
    return found  # type: ignore[return-value]
