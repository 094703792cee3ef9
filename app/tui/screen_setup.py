"""What the screen is given at its start: settings, past queries, choices remembered. No part knows Textual."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from app.settings import Paths, Settings
from app.tui.background_indexing import Background
from app.tui.remembered_choices import Remembered
from app.tui.terminal.terminal_capabilities import TerminalCapabilities

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync
    from app.learning.outcomes import Outcome
    from app.search.search import Search


class StoredHistory:
    """Past queries in the state file; the file is open only while it is used."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings, self._paths = settings.history, paths

    def queries(self) -> Sequence[str]:
        if not self._settings.enabled:
            return ()
        from app.store import SearchHistory, Store

        with Store.for_searching(self._paths.state) as store:
            return [past.query for past in SearchHistory(store, self._settings).list()]

    def add(self, query: str) -> None:
        if self._settings.enabled:
            from app.store import SearchHistory, Store

            with Store.for_searching(self._paths.state) as store:
                SearchHistory(store, self._settings).add(query, now=time.time())


class Setup(Struct, frozen=True):
    """The parts that the screen talks to; slow ones are called only in workers."""

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
    remembered: Remembered = field(default_factory=Remembered)
    """what the last screen left"""
    terminal: TerminalCapabilities = field(default_factory=TerminalCapabilities)
    """what is known of the terminal"""
    picking: Picking | None = None
    """set where the screen chooses paths for another program; None where it opens them itself"""
    review: str | int = ""
    """a query to review from the start, or the number of a review; the program ends with it"""
    now: float | None = None
    """the moment that dates are relative to; None for the real one"""


CHOSEN, NOTHING, LEFT = 0, 1, 130
"""exit codes, those of fzf: chosen; Enter where nothing is found; left with Esc or Ctrl-C"""


class Picking(Struct):
    """A screen that only chooses results, and opens none."""

    multi: bool = False
    query: str = ""
    """what is asked at the start"""
    paths: tuple[str, ...] = ()
    """what was chosen"""

    @property
    def without(self) -> frozenset[str]:
        """The actions that do nothing here."""
        return FILING if self.multi else FILING | {"mark", "mark-back", "unmark"}


FILING = frozenset({"open-all", "copy-files", "move-files", "trash", "review"})
"""the actions that change or start something; a picker only chooses"""
