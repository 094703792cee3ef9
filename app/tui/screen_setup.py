"""What the screen is given at its start: settings, past queries, what the last one left.

No part knows Textual. A choice made on the screen overrides a setting, until that setting is changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct, field

from app.settings import Paths, Settings
from app.tui.background_indexing import Background
from app.tui.terminal.terminal_capabilities import TerminalCapabilities
from console.durable import replace_durably

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync
    from app.learning.outcomes import Outcome
    from app.search.search import Search

REMEMBERED = "screen.json"


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What the screen keeps from one start to the next, in one small file; the defaults are those of a first start."""

    v: Literal[1] = 1
    theme: str = ""
    """as chosen in the palette; "" for the setting"""
    theme_over: str = ""
    """the setting that was in force then"""
    preview: bool | None = None
    """beside the results; None for the setting"""
    preview_over: bool = True
    preview_below: bool = False
    """below them, on a narrow screen"""
    share: int = 2
    """place in the list of widths"""
    dense: bool = False
    """each result in one line"""
    filters: dict[str, str] = {}

    def theme_for(self, setting: str) -> str:
        """The theme to begin with."""
        return self.theme if self.theme and self.theme_over == setting else setting

    def preview_for(self, setting: bool) -> bool:
        """Whether the preview is beside the results at the start."""
        return setting if self.preview is None or self.preview_over != setting else self.preview


def read_remembered(data_dir: Path) -> Remembered:
    """What is kept; the defaults where nothing is, or nothing that can be used."""
    try:
        return msgspec.json.decode((data_dir / REMEMBERED).read_bytes(), type=Remembered)
    except (OSError, msgspec.MsgspecError):
        return Remembered()


def keep_remembered(data_dir: Path, remembered: Remembered) -> None:
    """Keep it, for its owner alone; nothing that was never changed makes a file, and no full disk an error."""
    try:
        if remembered == Remembered():
            (data_dir / REMEMBERED).unlink(missing_ok=True)
        elif remembered != read_remembered(data_dir):
            replace_durably(data_dir / REMEMBERED, msgspec.json.encode(remembered))
    except OSError:
        return  # a data folder that cannot be written: the next start is as the last one


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
    remembered: Remembered = field(default_factory=Remembered)
    """what the last screen left"""
    terminal: TerminalCapabilities = field(default_factory=TerminalCapabilities)
    """what is known of the terminal"""
    picking: Picking | None = None
    """the screen chooses paths for another program; None where it opens them itself"""
    review: str | int = ""
    """a query that is read to the end from the start, or the number of such a review; the program ends with it"""
    now: float | None = None
    """the moment that dates are told from; None for the real one"""


CHOSEN, NOTHING, LEFT = 0, 1, 130
"""exit codes, those of fzf: chosen; Enter where nothing is found; left with Esc or Ctrl-C"""


class Picking(Struct):
    """A screen that chooses and opens nothing."""

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
