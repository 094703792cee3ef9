"""What another process does between a first one's reading of a file and its writing."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from threading import Event, Thread
from types import ModuleType
from typing import Any

import pytest


def act_meanwhile(module: ModuleType, act: Callable[[], object], patch: pytest.MonkeyPatch) -> Thread:
    """Let `act` begin in a thread just before `module` writes its file, which it does once `act` waits or has ended.

    The caller joins the thread.
    """
    write, lock, has_come = module.replace_durably, fcntl.flock, Event()
    other = Thread(target=lambda: (act(), has_come.set()))

    def waits(*arguments: Any) -> None:
        has_come.set()
        lock(*arguments)

    def writes(*arguments: Any) -> None:
        patch.undo()
        patch.setattr(fcntl, "flock", waits)
        other.start()
        has_come.wait()
        write(*arguments)

    patch.setattr(module, "replace_durably", writes)
    return other
