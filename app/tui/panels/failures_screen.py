"""The files that could not be read, each with its reason: retry them, or go to their folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.tui.key_by_key import Panel
from console.printable import safe_line
from console.wording import count, short_path

Unread = tuple[str, str]
"""a path, and why it could not be read"""
RETRY = "*"


class FailuresScreen(Panel[str | None]):
    """Gives a path whose folder is to be opened, RETRY, or None."""

    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,F", "dismiss", "Close"),
        Binding("r", "retry", "Read them again"),
        Binding("o", "folder", "Open the folder"),
        Binding("j,ctrl+n,ctrl+j", "step(1)", "Down", show=False),
        Binding("k,ctrl+p,ctrl+k", "step(-1)", "Up", show=False),
    ]

    def __init__(self, read: Callable[[], Sequence[Unread]]) -> None:
        """`read` may take its time; it is called in a worker."""
        super().__init__()
        self._read = read
        self._unread: Sequence[Unread] = ()

    def compose(self) -> ComposeResult:
        with Vertical(id="failures-panel"):
            yield Static("Reading …", id="failures-title", markup=False)
            yield OptionList(id="failures-list", compact=True)
            yield Static("Enter opens the folder, r reads all of them again, Esc closes.", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._load, thread=True, exit_on_error=False)

    def _load(self) -> None:
        self.app.call_from_thread(self._show, tuple(self._read()))

    def _show(self, unread: Sequence[Unread]) -> None:
        self._unread = unread
        title = f"{count(len(unread), 'file')} could not be read" if unread else "All files could be read"
        self.query_one("#failures-title", Static).update(title)
        shown = self.query_one(OptionList)
        shown.add_options(
            Option(Text.assemble(f"{short_path(path)}\n  ", (safe_line(reason), "dim"))) for path, reason in unread
        )
        if unread:
            shown.highlighted = 0
        shown.focus()

    @on(OptionList.OptionSelected)
    def action_folder(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self.dismiss(self._unread[at][0])

    def action_retry(self) -> None:
        if self._unread:
            self.dismiss(RETRY)

    def action_step(self, step: int) -> None:
        shown = self.query_one(OptionList)
        (shown.action_cursor_down if step > 0 else shown.action_cursor_up)()
