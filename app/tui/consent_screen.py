"""The question whether this device may sync with its group by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from indexer.text.printable import safe_line


class ConsentScreen(ModalScreen[bool | None]):
    """Gives True or False, and None when the user wants to be asked another time."""

    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Ask me later")]

    def __init__(self, lines: Sequence[str]) -> None:
        """The question, then what it means."""
        super().__init__()
        self._lines = [safe_line(line) for line in lines]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="consent-panel"):
            yield Static(self._lines[0], id="consent-title", markup=False)
            yield Static("\n\n".join(self._lines[1:]), id="consent-about", markup=False)
            with Horizontal(id="consent-buttons"):
                yield Button("Agree", id="consent-yes", compact=True)
                yield Button("No", variant="primary", id="consent-no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#consent-no").focus()

    @on(Button.Pressed, "#consent-yes")
    def _agree(self) -> None:
        self.dismiss(True)

    @on(Button.Pressed, "#consent-no")
    def _decline(self) -> None:
        self.dismiss(False)
