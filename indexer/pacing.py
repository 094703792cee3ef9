"""How often a file that keeps changing is read again: at once at first, then after growing pauses.

A log that grows all day must not keep the machine busy, and a note saved every few seconds should still be found
soon; so the longest pause grows with the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

FIRST_PAUSE = 2.0
"""seconds after the first reading"""
LONGEST_PAUSE = 120.0
SECONDS_PER_MEGABYTE = 10.0
CALM = 4.0
"""a file left alone for this many of its pauses is new to us again"""


@dataclass(slots=True)
class _Pace:
    ready: float
    """when it may be read again"""
    pause: float
    waiting: bool = False
    """it changed during its pause"""


class Pacer:
    """Tells which of the changed paths to read now; times are seconds of one clock."""

    def __init__(self) -> None:
        self._paces: dict[str, _Pace] = {}

    def changed(self, paths: Iterable[str], now: float) -> list[str]:
        """Take note of changes; gives those to read now together with those whose pause is over."""
        due = self.due(now)
        for path in paths:
            pace = self._paces.get(path)
            if pace is None or not os.path.lexists(path):
                self._paces[path] = _Pace(now + FIRST_PAUSE, FIRST_PAUSE)
                due.append(path)
            elif now >= pace.ready:
                self._begin_pause(path, pace, now)
                due.append(path)
            else:
                pace.waiting = True
        return list(dict.fromkeys(due))

    def due(self, now: float) -> list[str]:
        """The waiting paths whose pause is over; paths left alone for long are forgotten."""
        for path in [path for path, pace in self._paces.items() if now > pace.ready + CALM * pace.pause]:
            if not self._paces[path].waiting:
                del self._paces[path]
        due = [path for path, pace in self._paces.items() if pace.waiting and now >= pace.ready]
        for path in due:
            self._begin_pause(path, self._paces[path], now)
        return due

    def again(self, paths: Iterable[str], now: float) -> None:
        """These could not be read now: let them wait for a first pause."""
        for path in paths:
            self._paces[path] = _Pace(now + FIRST_PAUSE, FIRST_PAUSE, waiting=True)

    def seconds_to_next(self, now: float) -> float | None:
        """Until the next waiting path is due; None when none waits."""
        return min((max(pace.ready - now, 0.0) for pace in self._paces.values() if pace.waiting), default=None)

    def _begin_pause(self, path: str, pace: _Pace, now: float) -> None:
        pace.pause = min(2 * pace.pause, longest_pause(path))
        pace.ready, pace.waiting = now + pace.pause, False


def longest_pause(path: str) -> float:
    """The most seconds that a change of `path` may wait, by its size."""
    try:
        size = os.lstat(path).st_size
    except OSError:
        return FIRST_PAUSE
    return min(FIRST_PAUSE + SECONDS_PER_MEGABYTE * size / 1e6, LONGEST_PAUSE)
