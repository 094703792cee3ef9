"""What the resident process leaves to the process that asked: its terminal, display and session are there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.opener import Invocation


class NotHere(BaseException):
    """This command must run in the process that asked, from its beginning; no command takes it for an error."""


@dataclass(slots=True)
class Errand:
    """A program that the asking process is to start; None while there is none."""

    planned: Invocation | None = None


_present: Errand | None = None


@contextmanager
def errands() -> Iterator[Errand]:
    """Within the block this process works for another one."""
    global _present
    _present = errand = Errand()
    try:
        yield errand
    finally:
        _present = None


def is_errand() -> bool:
    """Whether this process works for another one now."""
    return _present is not None


def only_alone() -> None:
    """Raise NotHere when this process works for another one."""
    if _present is not None:
        raise NotHere


def left(planned: Invocation) -> bool:
    """Leave a program to the asking process; False when this is that process."""
    if _present is None:
        return False
    _present.planned = planned
    return True
