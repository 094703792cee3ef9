"""The statistics: does the learned order help?"""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from app.tui.setup import StatsReader

WIDTH = 72
"""cells inside the panel, at most"""


class StatsScreen(ModalScreen[None]):
    """A panel over the screen; the numbers are read in a worker."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,S,f6,enter", "dismiss", "Close")]

    def __init__(self, read: StatsReader) -> None:
        super().__init__()
        self._read = read

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="stats-panel"):
            yield Static("Does the learned order help?", id="stats-title")
            yield Static("Reading …", id="stats-text", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._load, thread=True, exit_on_error=False)

    def _load(self) -> None:
        from app.tui.stats_text import stats_text

        self.app.call_from_thread(self._show, stats_text(self._read(), WIDTH))

    def _show(self, text: Text) -> None:
        self.query_one("#stats-text", Static).update(text)
