"""The screen: the only place that knows Textual.

It asks `app.search.search.Search` for everything it shows and holds no rule of its own about ranking or learning.
Textual is imported when `run` is called, so that importing this package costs nothing.
"""

from __future__ import annotations

import gc
import os
from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.settings import Paths, Settings
    from app.tui.screen_setup import Picking


def run(
    settings: Settings,
    paths: Paths,
    *,
    folder: str | None = None,
    picking: Picking | None = None,
    review: str | int = "",
) -> int:
    """Show the screen until the user leaves it, and return the exit code: 0, 2 after a crash, 128 + n after
    signal n; when `picking`, 0: chosen, 1: nothing was there, 130: left.

    `folder` narrows the search to one folder and has it indexed; `review` (a query, or the number of a review) opens a
    review. The terminal is restored however the screen ends; it may be asked what it is while the screen loads.
    """
    gc.disable()  # all that is made before the first frame stays; collecting begins after it
    from app.tui.terminal.terminal_capabilities import TerminalCapabilities, asked_terminal, places_pictures

    is_asked = "auto" in (settings.screen.theme, settings.screen.pictures) and "NO_COLOR" not in os.environ
    with asked_terminal(os.environ) if is_asked else nullcontext(TerminalCapabilities) as answer:
        from app.tui.search_app import start  # takes longer than most answers

        terminal = answer()
    if places_pictures(terminal.name):  # ssh does not pass the variable on, and all of these have all colours
        os.environ.setdefault("COLORTERM", "truecolor")
    return start(settings, paths, terminal=terminal, folder=folder, picking=picking, review=review)
