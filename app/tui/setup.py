"""What the screen is given at its start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from app.settings import Settings
from app.tui.engine import Engine, GroupSync, History, Indexing

if TYPE_CHECKING:
    from app.learning.outcomes import Outcome


class NoHistory:
    """The history of a user who keeps none."""

    def queries(self) -> Sequence[str]:
        return ()

    def add(self, query: str) -> None:
        del query


class StatsReader(Protocol):
    """Gives what the statistics screen shows, oldest first; runs in a worker."""

    def __call__(self) -> Sequence[Outcome]: ...


def no_rows() -> Sequence[Outcome]:
    return ()


@dataclass(frozen=True, slots=True)
class Setup:
    """The parts the screen talks to. None of them knows Textual."""

    settings: Settings
    data_dir: Path
    open_engine: Callable[[], Engine]
    """called in a worker, after the first frame"""
    indexing: Indexing
    history: History = field(default_factory=NoHistory)
    read_stats: StatsReader = no_rows
    group: GroupSync | None = None
    """syncs with the group; None where the settings do not ask for it"""
    folder: str = ""
    """a folder to narrow to from the start, and to index"""
    keymap: Mapping[str, str] = field(default_factory=dict)
    """keys by action id, those that can be used"""
    problems: Sequence[str] = ()
    """lines to show at the start: settings that cannot be used"""
    now: float | None = None
    """the moment that dates are told from; None for the real one"""
