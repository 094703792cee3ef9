"""Lists over the search screen, read in a worker: the places that are searched, the files that could not be read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.tui.key_queue import Panel, RowList
from console.printable import safe_line
from console.wording import count, short_path

Wish = tuple[str, str]
"""what is to be done, and the chosen name"""


class ListScreen(Panel[Wish | None]):
    """Gives a wish, or None."""

    shows = True
    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close"),
        Binding("j,ctrl+n,ctrl+j", "step(1)", "Down", show=False),
        Binding("k,ctrl+p,ctrl+k", "step(-1)", "Up", show=False),
    ]
    KEYS: ClassVar[str]
    """what its keys do"""
    ENTER: ClassVar[str]
    """the wish of Enter"""

    def __init__(self, read: Callable[[], Sequence[tuple[str, str]]]) -> None:
        """`read` gives names, each with what is said of it; it may take its time, and is called in a worker."""
        super().__init__()
        self._read = read
        self._names: list[str] = []

    def title_for(self, n_rows: int) -> str:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        with Vertical(id="list-panel"):
            yield Static("Reading …", id="list-title", classes="reading", markup=False)
            yield RowList(id="list-rows", compact=True)
            yield Static(self.KEYS, id="list-note", markup=False)

    def on_mount(self) -> None:
        self.read(self._read, self._show)

    def _show(self, rows: Sequence[tuple[str, str]]) -> None:
        self._names = [name for name, _ in rows]
        self.query_one("#list-title", Static).update(self.title_for(len(rows)))
        shown = self.query_one(OptionList)
        shown.add_options(Option(Text(f"{short_path(name)}\n  {safe_line(about)}")) for name, about in rows)
        if rows:
            shown.highlighted = 0
        shown.focus()

    @property
    def chosen(self) -> str:
        """The name under the cursor, "" for none."""
        at = self.query_one(OptionList).highlighted
        return self._names[at] if at is not None else ""

    @on(OptionList.OptionSelected)
    def _enter(self) -> None:
        if os.path.isabs(self.chosen):  # a source is no folder
            self.action_wish(self.ENTER)

    def action_wish(self, what: str) -> None:
        if self.chosen or what == "add":
            self.dismiss((what, self.chosen))

    def action_step(self, step: int) -> None:
        shown = self.query_one(OptionList)
        (shown.action_cursor_down if step > 0 else shown.action_cursor_up)()


class FailuresScreen(ListScreen):
    """Wishes for `folder`, that of the file, or `retry`, for all of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("F", "dismiss", "Close"),
        Binding("r", "wish('retry')", "Read them again"),
        Binding("o", "wish('folder')", "Open the folder"),
    ]
    KEYS = "Enter opens the folder, r reads all of them again, Esc closes."
    ENTER = "folder"

    def title_for(self, n_rows: int) -> str:
        return f"{count(n_rows, 'file')} could not be read" if n_rows else "All files could be read"


class FoldersScreen(ListScreen):
    """Wishes for `add`, `remove` or `narrow`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f7", "dismiss", "Close"),
        Binding("a,insert", "wish('add')", "Add a folder"),
        Binding("d,delete", "remove", "Take it out"),
    ]
    KEYS = "a adds one, d takes one out, Enter searches there alone, Esc closes."
    ENTER = "narrow"
    _asked = ""
    """the folder that another key press takes out"""

    def title_for(self, n_rows: int) -> str:
        return f"{count(n_rows, 'place')} searched" if n_rows else "Nothing is searched yet: a adds a folder"

    def action_remove(self) -> None:
        """Say what will be; the second time for the same folder do it."""
        if self.chosen and self._asked == self.chosen:
            self.action_wish("remove")
        elif self.chosen:
            self._asked = self.chosen
            sure = f"d again takes {short_path(self.chosen)} out of the search; its files stay as they are."
            self.query_one("#list-note", Static).update(sure)
