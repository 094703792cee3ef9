"""The question whether this device may sync with its group by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from console.printable import safe_line


class ConsentScreen(ModalScreen[bool | None]):
    """Gives True or False, and None when the user wants to be asked another time."""

    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Ask me later"),
        Binding("left", "app.focus_previous", "The button before"),
        Binding("right", "app.focus_next", "The button after"),
        Binding("up", "read(-1)", "Read on above"),
        Binding("down", "read(1)", "Read on below"),
        Binding("pageup", "read(-10)", "Read on above"),
        Binding("pagedown", "read(10)", "Read on below"),
    ]

    def __init__(self, lines: Sequence[str]) -> None:
        """The question, then what it means."""
        super().__init__()
        self._lines = [safe_line(line) for line in lines]

    def compose(self) -> ComposeResult:
        with Vertical(id="consent-panel"):  # the question and the answers stay in sight whatever is read between them
            yield Static(self._lines[0], id="consent-title", markup=False)
            with VerticalScroll(id="consent-text", can_focus=False):
                yield Static("\n\n".join(self._lines[1:]), id="consent-about", markup=False)
            with Horizontal(id="consent-buttons"):
                yield Button("Agree", id="consent-yes", compact=True)
                yield Button("No", variant="primary", id="consent-no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#consent-no").focus()

    def action_read(self, n_lines: int) -> None:
        self.query_one("#consent-text").scroll_relative(y=n_lines, animate=False)

    @on(Button.Pressed, "#consent-yes")
    def _agree(self) -> None:
        self.dismiss(True)

    @on(Button.Pressed, "#consent-no")
    def _decline(self) -> None:
        self.dismiss(False)
