"""A terminal that went away: its window was closed, its connection ended.

SIGHUP tells it only to the session's first process and to whom that one passes it on. A program beside it would read
an ended terminal for ever, so that the descriptor itself is watched, by a thread that sleeps until then.

On the way out the screen still writes. Textual's thread for that would die of the first error, and the program would
then wait for it without an end: what is written to a terminal that is gone is dropped instead.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable
from typing import Any, TextIO

from textual.driver import Driver


def watch_terminal(descriptor: int, when_gone: Callable[[], object]) -> None:
    """Call `when_gone` in a thread of its own once the terminal hangs up; nothing where it cannot be watched."""
    if hasattr(select, "poll") and os.isatty(descriptor):
        threading.Thread(target=_wait, args=(descriptor, when_gone), name="foltr-terminal", daemon=True).start()


def _wait(descriptor: int, when_gone: Callable[[], object]) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # a hang-up is told without being asked for, and keys wake nobody here
    if any(event & select.POLLHUP for _, event in poll.poll()):
        when_gone()


class _UntilGone:
    """A terminal to write to, which takes no harm from having gone away."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


def outliving(driver: type[Driver]) -> type[Driver]:
    """The same driver, but that what it writes to a terminal that is gone is dropped."""

    class OutlivingDriver(driver):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            file: TextIO | None = getattr(self, "_file", None)
            if file is not None:  # a driver without a terminal has none
                self._file = _UntilGone(file)

    return OutlivingDriver
