"""A terminal that went away: its window was closed, its connection ended.

SIGHUP tells it only to the session's first process and to whom that one passes it on. A program beside it would read
an ended terminal for ever, so that the descriptor itself is watched, by a thread that sleeps until then.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable


def watch_terminal(descriptor: int, when_gone: Callable[[], object]) -> None:
    """Call `when_gone` in a thread of its own once the terminal hangs up; nothing where it cannot be watched."""
    if hasattr(select, "poll") and os.isatty(descriptor):
        threading.Thread(target=_wait, args=(descriptor, when_gone), name="foltr-terminal", daemon=True).start()


def _wait(descriptor: int, when_gone: Callable[[], object]) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # a hang-up is told without being asked for, and keys wake nobody here
    if any(event & select.POLLHUP for _, event in poll.poll()):
        when_gone()
