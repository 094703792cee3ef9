"""What the screen is given at its start: indexing in the background, past queries, settings, what the last one left.

No part knows Textual. A choice made on the screen overrides a setting, until that setting is changed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct, field

from app.paths import forget_chosen
from app.settings import Paths, Settings, anything_to_index, chosen_to_index, index_roots
from app.tui.terminal.terminal_capabilities import TerminalCapabilities
from console.durable import replace_durably
from console.printable import safe_line
from console.wording import count

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync
    from app.folders import RootSuggestion
    from app.following.background import BackgroundIndexer
    from app.learning.outcomes import Outcome
    from app.search.search import Search
    from indexer.progress import Progress

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


class ProgressLine(Struct, frozen=True):
    """How far indexing is, in words."""

    text: str
    generation: int
    busy: bool
    details: tuple[str, ...] = ()
    """what is read now, and the last error: shows that it is not stuck"""


class Background:
    """Indexing while the screen is up: starts and stops the process, and words its progress."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings, self._paths = settings, paths
        self._indexer: BackgroundIndexer | None = None

    def has_index(self) -> bool:
        return anything_to_index(self._settings, self._paths)

    def suggest(self) -> Sequence[RootSuggestion]:
        from app.folders import suggest_roots

        return suggest_roots(searched=chosen_to_index(self._settings, self._paths))

    def folders(self) -> Sequence[tuple[str, str]]:
        """The folders and sources that are searched, each with what is in it."""
        from indexer.storage.catalogue import Catalogue

        names = chosen_to_index(self._settings, self._paths)
        if not self._paths.catalogue.exists():
            return [(name, "not read yet") for name in names]
        with closing(Catalogue.open(self._paths.catalogue)) as catalogue:
            about = [contents_line(catalogue.types_below(name)) if os.path.isabs(name) else "" for name in names]
        return list(zip(names, about, strict=True))

    def forget(self, name: str) -> bool:
        """Search a folder or source no longer; False for one that the settings name, which stays."""
        return forget_chosen(self._paths, name)

    def start(
        self, folders: Sequence[str], report: Callable[[ProgressLine], None], *, retry_failures: bool = False
    ) -> None:
        """Remember `folders`, then index all that is chosen and follow it; replaces the process that runs."""
        from app.folders import remember_choices
        from app.following.background import BackgroundIndexer

        remember_choices(self._paths, folders, covered=index_roots(self._settings, self._paths))
        self.stop()
        if not self.has_index() and not folders:
            if self._paths.catalogue.exists():  # nobody follows changes, and what was read leaves the index
                from app.following.indexing import update_index

                update_index(self._settings, self._paths, roots=())
            return
        self._indexer = BackgroundIndexer(
            self._paths,
            lambda progress: report(progress_line(progress)),
            arguments=("--retry-failures",) if retry_failures else (),
        )
        self._indexer.start()

    def stop(self) -> None:
        indexer, self._indexer = self._indexer, None
        if indexer is not None:
            indexer.stop()


def contents_line(types: Mapping[str, int]) -> str:
    """How many documents of which types: "412 documents: 300 mail, 112 pdf"; the commonest first, six of them."""
    named = sorted(types.items(), key=lambda one: (-one[1], one[0]))[:6]
    more = ", …" if len(types) > len(named) else ""
    listed = ", ".join(f"{count(n)} {name}" for name, n in named)
    return count(sum(types.values()), "document") + (f": {listed}{more}" if listed else "")


_BY_ANOTHER = re.compile(r".*\(process \d+\) follows")


def progress_line(progress: Progress) -> ProgressLine:
    """One report as a line for the status and, while there is work, some more for the empty screen."""
    busy = progress.phase in ("scanning", "indexing", "merging")
    parts = [_phase(progress)]
    if progress.phase == "indexing":
        parts += [f"{progress.rate_mb_s:.1f} MB/s" if progress.rate_mb_s else "", _left(progress.eta_seconds)]
    if progress.phase == "meaning":
        parts.append(_left(progress.eta_seconds))
    if busy and progress.n_failed:
        parts.append(f"{count(progress.n_failed)} failed")
    parts.append(_BY_ANOTHER.sub("another foltr-search follows", safe_line(progress.note)))
    details = (progress.current, f"last error: {progress.last_error}" if progress.last_error else "")
    return ProgressLine(
        " · ".join(part for part in parts if part),
        progress.generation,
        busy,
        tuple(safe_line(line) for line in details if line and busy),
    )


def _phase(progress: Progress) -> str:
    if progress.phase == "scanning":
        return f"looking for files, {count(progress.n_total)} so far" if progress.n_total else "looking for files"
    if progress.phase == "indexing":
        return f"indexing {count(progress.n_done)} of {count(progress.n_total)}"
    if progress.phase == "meaning":
        return f"reading for meaning {count(progress.n_done)} of {count(progress.n_total)}"
    if progress.phase == "recognising":
        return f"recognising {progress.what} {count(progress.n_done)} of {count(progress.n_total)}"
    return {"merging": "tidying the index", "polling": "looking for changes from time to time"}.get(progress.phase, "")


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{max(1, round(seconds))} s left" if seconds < 90 else f"{round(seconds / 60)} min left"


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
