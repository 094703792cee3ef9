"""Starting the screen with its real parts, and ending it with the terminal as it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.settings import Paths, Settings
from app.tui.keys import problems_of, usable
from app.tui.remembered import Remembered, keep_remembered, read_remembered
from app.tui.screen_parts import Background, Setup, StoredHistory
from app.tui.search_app import FoltrApp
from console.printable import safe_line

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync
    from app.learning.outcomes import Outcome
    from app.search.search import Search
    from app.tui.screen_parts import Picking
    from app.tui.terminal.terminal_traits import TerminalTraits


def start(
    settings: Settings, paths: Paths, *, terminal: TerminalTraits, folder: str | None = None,
    picking: Picking | None = None,
) -> int:  # fmt: skip
    """Show the screen until the user leaves it, and give the exit code."""

    def open_engine() -> Search:
        from app.search.search import Search  # numpy and the index are loaded while the first frame is already shown

        return Search(settings, paths, resident=True)

    def read_stats() -> Sequence[Outcome]:
        from app.learning import outcomes
        from app.store import Store

        with Store.for_searching(paths.state) as store:
            return outcomes.read(store)

    def make_group() -> BackgroundSync:
        from app.federation.background_sync import BackgroundSync

        return BackgroundSync(settings, paths)

    setup = Setup(
        settings=settings,
        data_dir=paths.data_dir,
        open_engine=open_engine,
        indexing=Background(settings, paths),
        history=StoredHistory(settings, paths),
        read_stats=read_stats,
        group=None if settings.federation.sync == "off" else make_group,
        folder=os.path.realpath(Path(folder).expanduser()) if folder else "",
        keymap=usable(settings.screen.keys),
        problems=problems_of(settings.screen.keys),
        picking=picking,
        remembered=read_remembered(paths.data_dir) if settings.screen.remember else Remembered(),
        terminal=terminal,
    )
    app = FoltrApp(setup)
    code = show(app)
    if picking is None and app.crash is None:
        keep_remembered(paths.data_dir, app.to_remember() if settings.screen.remember else Remembered())
    return code


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
