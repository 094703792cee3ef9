"""Ending long work early: the first Ctrl-C (or SIGTERM) asks it to stop, the second one ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """An event that the first interrupt sets, so that what was done is kept; the second raises KeyboardInterrupt."""
    stop = threading.Event()

    def ask(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
