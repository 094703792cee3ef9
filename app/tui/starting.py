"""Starting the screen with its real parts, and ending it with the terminal as it was."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.settings import Paths, Settings
from app.tui.application import FoltrApp
from app.tui.background import Background
from app.tui.engine import Engine
from app.tui.keys import problems_of, usable
from app.tui.setup import Setup
from app.tui.wording import safe_line

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync, News
    from app.learning.outcomes import Outcome


def start(settings: Settings, paths: Paths, *, folder: str | None = None) -> int:
    """Show the screen until the user leaves it, and give the exit code."""

    def open_engine() -> Engine:
        from app.search.search import Search  # numpy and the index are loaded while the first frame is already shown

        return Search(settings, paths)

    def read_stats() -> Sequence[Outcome]:
        from app.learning import outcomes
        from app.store import Store

        with Store(paths.state) as store:
            return outcomes.read(store)

    setup = Setup(
        settings=settings,
        data_dir=paths.data_dir,
        open_engine=open_engine,
        indexing=Background(settings, paths),
        history=StoredHistory(settings, paths),
        read_stats=read_stats,
        group=None if settings.federation.sync == "off" else LateGroupSync(settings, paths),
        folder=os.path.realpath(Path(folder).expanduser()) if folder else "",
        keymap=usable(settings.screen.keys),
        problems=problems_of(settings.screen.keys),
    )
    return show(FoltrApp(setup))


class LateGroupSync:
    """`app.federation.background_sync`, imported by the worker that first needs it: the screen does not wait for it."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings, self._paths = settings, paths
        self._made: BackgroundSync | None = None

    def question(self) -> Sequence[str]:
        return self._sync.question()

    def answer(self, *, agreed: bool) -> None:
        self._sync.answer(agreed=agreed)

    def sync_when_due(self) -> News | None:
        return self._sync.sync_when_due()

    @property
    def _sync(self) -> BackgroundSync:
        if self._made is None:
            from app.federation.background_sync import BackgroundSync

            self._made = BackgroundSync(self._settings, self._paths)
        return self._made


class StoredHistory:
    """Past queries in the state file; the file is open only while it is used."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings, self._paths = settings.history, paths

    def queries(self) -> Sequence[str]:
        if not self._settings.enabled:
            return ()
        from app.store import SearchHistory, Store

        with Store(self._paths.state) as store:
            return [past.query for past in SearchHistory(store, self._settings).list()]

    def add(self, query: str) -> None:
        if self._settings.enabled:
            from app.store import SearchHistory, Store

            with Store(self._paths.state) as store:
                SearchHistory(store, self._settings).add(query, now=time.time())


def show(app: FoltrApp) -> int:
    """Run the application; a crash is one line, or with FOLTR_DEBUG the whole traceback."""
    try:
        code = app.run()
    finally:
        app.search_screen.session.close()
        app.setup.indexing.stop()
    if app.crash is None:
        return code or 0
    if os.environ.get("FOLTR_DEBUG"):
        print(app.crash_report.getvalue(), file=sys.stderr)
    name = type(app.crash).__name__
    print(f"foltr-search: the screen failed: {name}: {safe_line(str(app.crash))}", file=sys.stderr)
    print("FOLTR_DEBUG=1 shows where; nothing that was indexed or learned is lost", file=sys.stderr)
    return 1
