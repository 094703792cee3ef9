"""The folders and sources that are searched, with what is in them: add one, take one out, or search in one alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.tui.key_by_key import Panel
from app.tui.screen_parts import FolderChoice
from console.wording import count, short_path

KEYS = "a adds one, d takes one out, Enter searches there alone, Esc closes."


class FolderWish(NamedTuple):
    """What is to be done."""

    what: Literal["add", "remove", "narrow"]
    path: str = ""


class FoldersScreen(Panel[FolderWish | None]):
    """Gives what is to be done, or None."""

    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f7", "dismiss", "Close"),
        Binding("a,insert", "wish('add')", "Add a folder"),
        Binding("d,delete", "remove", "Take it out"),
        Binding("j,ctrl+n,ctrl+j", "step(1)", "Down", show=False),
        Binding("k,ctrl+p,ctrl+k", "step(-1)", "Up", show=False),
    ]

    def __init__(self, read: Callable[[], Sequence[FolderChoice]]) -> None:
        """`read` may take its time; it is called in a worker."""
        super().__init__()
        self._read = read
        self._folders: Sequence[FolderChoice] = ()
        self._asked = ""
        """the folder that another key press takes out"""

    def compose(self) -> ComposeResult:
        with Vertical(id="folders-panel"):
            yield Static("Reading …", id="folders-title", markup=False)
            yield OptionList(id="folders-list", compact=True)
            yield Static(KEYS, id="folders-note", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._load, thread=True, exit_on_error=False)

    def _load(self) -> None:
        self.app.call_from_thread(self._show, tuple(self._read()))

    def _show(self, folders: Sequence[FolderChoice]) -> None:
        self._folders = folders
        title = f"{count(len(folders), 'place')} searched" if folders else "Nothing is searched yet: a adds a folder"
        self.query_one("#folders-title", Static).update(title)
        shown = self.query_one(OptionList)
        shown.add_options(
            Option(Text.assemble(f"{short_path(folder.path)}\n  ", (folder.counted, "dim"))) for folder in folders
        )
        if folders:
            shown.highlighted = 0
        shown.focus()

    @property
    def _chosen(self) -> str:
        at = self.query_one(OptionList).highlighted
        return self._folders[at].path if at is not None else ""

    @on(OptionList.OptionSelected)
    def _enter(self) -> None:
        if os.path.isabs(self._chosen):  # a source is no folder
            self.action_wish("narrow")

    def action_wish(self, what: Literal["add", "remove", "narrow"]) -> None:
        self.dismiss(FolderWish(what, self._chosen))

    def action_remove(self) -> None:
        """Say what will be; the second time for the same folder do it."""
        if self._chosen and self._asked == self._chosen:
            self.action_wish("remove")
        elif self._chosen:
            self._asked = self._chosen
            sure = f"d again takes {short_path(self._chosen)} out of the search; its files stay as they are."
            self.query_one("#folders-note", Static).update(sure)

    def action_step(self, step: int) -> None:
        shown = self.query_one(OptionList)
        (shown.action_cursor_down if step > 0 else shown.action_cursor_up)()
