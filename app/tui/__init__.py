"""The screen: the only place that knows Textual.

It asks `app.search.search.Search` for everything it shows and holds no rule of its own about ranking or learning.
Textual is imported when `run` is called, so that importing this package costs nothing.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.settings import Paths, Settings

__all__ = ["run", "run_picker"]


def run(settings: Settings, paths: Paths, *, folder: str | None = None) -> int:
    """Show the screen until the user leaves it, and give the exit code: 0, 1 after a crash, 128 + n after
    signal n.

    `folder` narrows the search to one folder and has it indexed. The terminal is restored however the screen ends.
    """
    gc.disable()  # all that is made until the first frame stays; the screen begins to collect after it
    from app.tui.starting import start

    return start(settings, paths, folder=folder)


def run_picker(settings: Settings, paths: Paths, *, query: str, multi: bool) -> tuple[int, tuple[str, ...]]:
    """Let the user choose: the exit code (0 chosen, 1 nothing was there, 130 left), and the paths chosen."""
    from app.tui.picking import Picking
    from app.tui.starting import start

    picking = Picking(multi, query)
    code = start(settings, paths, picking=picking)
    return code, picking.paths if code == 0 else ()
