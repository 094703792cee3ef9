"""What the screen is given at its start. None of the parts knows Textual."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from app.settings import Settings

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync
    from app.learning.outcomes import Outcome
    from app.search.search import Search
    from app.tui.starting import Background, StoredHistory


@dataclass(frozen=True, slots=True)
class FolderChoice:
    """A folder that may be indexed."""

    path: str
    counted: str = ""
    """as in "4,210 files"; "" where nobody has counted"""


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """How far indexing is, in words."""

    text: str
    generation: int
    busy: bool
    details: tuple[str, ...] = ()
    """what is read now, and the last error: for whoever wonders whether it is stuck"""


@dataclass(frozen=True, slots=True)
class Setup:
    """The parts that the screen talks to; those that take their time are called in workers alone."""

    settings: Settings
    data_dir: Path
    open_engine: Callable[[], Search]
    """called in a worker, after the first frame"""
    indexing: Background
    history: StoredHistory
    read_stats: Callable[[], Sequence[Outcome]]
    """what the statistics screen shows, oldest first; called in a worker"""
    group: Callable[[], BackgroundSync] | None = None
    """makes what syncs with the group, in a worker; None where the settings do not ask for it"""
    folder: str = ""
    """a folder to narrow to from the start, and to index"""
    keymap: Mapping[str, str] = field(default_factory=dict)
    """keys by action id, those that can be used"""
    problems: Sequence[str] = ()
    """lines to show at the start: settings that cannot be used"""
    now: float | None = None
    """the moment that dates are told from; None for the real one"""
