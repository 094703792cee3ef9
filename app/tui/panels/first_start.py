"""The first start: which folders to index, in a list told apart by their marks and not by colour alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from app.paths import as_spelt
from app.tui.key_queue import BETWEEN_BUTTONS, Panel, RowList
from console.printable import safe_line
from console.wording import fit_path, short_path

if TYPE_CHECKING:
    from app.suggested_folders import RootSuggestion

PATH_WIDTH = 52
"""cells that a path may take"""


class FolderList(RowList):
    """Space or a click ticks a folder, or takes the tick away."""

    HELP = "The folders to index. Space selects one, a selects all, Enter starts, Tab moves on to another folder."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "select", "Choose"),
        Binding("a", "all", "All"),
        Binding("enter", "screen.begin", "Start indexing"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True)
        self._folders: list[RootSuggestion] = []
        self._chosen: set[str] = set()

    @property
    def chosen(self) -> tuple[str, ...]:
        """The paths that are ticked, in the order of the list."""
        return tuple(folder.choice for folder in self._folders if folder.choice in self._chosen)

    def add(self, folder: RootSuggestion, *, chosen: bool) -> None:
        """Add a folder, or tick the one that is there already."""
        if chosen:
            self._chosen.add(folder.choice)
        if all(folder.choice != other.choice for other in self._folders):
            self._folders.append(folder)
            self.add_option(Option(self._label(folder)))
        self._draw()

    @on(OptionList.OptionSelected)
    def _toggle(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._chosen ^= {self._folders[event.option_index].choice}
        self._draw()

    def action_all(self) -> None:
        """Tick all of them, or none where all are ticked."""
        every = {folder.choice for folder in self._folders}
        self._chosen = set() if self._chosen == every else every
        self._draw()

    def _draw(self) -> None:
        for index, folder in enumerate(self._folders):
            self.replace_option_prompt_at_index(index, self._label(folder))

    def _label(self, folder: RootSuggestion) -> Content:
        mark = "[x]" if folder.choice in self._chosen else "[ ]"
        width = max(len(other.counted) for other in self._folders)
        path = fit_path(short_path(folder.choice), PATH_WIDTH)
        return Content("  ".join(filter(None, (f"{mark} {folder.counted.rjust(width)}", path, folder.name))))


class FirstStart(Panel[tuple[str, ...]]):
    """Gives the chosen folders; none when the user wants to look around first."""

    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "begin", "Start indexing"),
        Binding("escape", "skip", "Not now"),
        *BETWEEN_BUTTONS,
    ]

    def __init__(self, suggest: Callable[[], Sequence[RootSuggestion]], *, adding: bool) -> None:
        """`suggest` may take its time (it counts files); it runs in a worker. `adding`: none is chosen already."""
        super().__init__()
        self._suggest, self._adding = suggest, adding

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="first-panel"):
            yield Static("Which folders do you want to search?", id="first-title")
            yield Static(
                "They are read once, then kept up to date. All of it stays on this device, where only you can read it.",
                id="first-about",
            )
            yield Static("", id="first-meaning", markup=False)
            yield FolderList(id="first-folders")
            yield Static("Looking for folders …", id="first-note", classes="reading", markup=False)
            yield Input(placeholder="Another folder, as in ~/papers", id="first-other", compact=True)
            with Horizontal(id="first-buttons"):
                yield Button("Start indexing", variant="primary", id="first-begin", compact=True)
                yield Button("Not now", id="first-skip", compact=True)

    def on_mount(self) -> None:
        self.read(self._look, self._show_folders)

    def _look(self) -> tuple[Sequence[RootSuggestion], str]:
        """Folders that exist and are worth indexing, and what the device lacks and could have, in one line."""
        from console.extras import how_to_add
        from indexer.meaning.encoder import why_none

        advice = "To search by meaning and for text in pictures, too (330 MB):"
        advice = f"{advice} {how_to_add('desktop')}" if why_none("") else ""
        return self._suggest(), advice

    def _show_folders(self, found: tuple[Sequence[RootSuggestion], str]) -> None:
        folders, advice = found
        for index, folder in enumerate(folders):
            self._folders.add(folder, chosen=index == 0 and not self._adding)
        if advice:
            self.query_one("#first-meaning", Static).update(advice)
            self.query_one("#first-meaning").display = True
        self._note("Space selects, a selects all, Enter starts, Tab moves on." if folders else "Name a folder below.")
        self._folders.highlighted = 0
        other = self.query_one("#first-other", Input)
        (self._folders if self._folders.option_count and not other.value else other).focus()

    @on(OptionList.OptionHighlighted)
    def _folder_highlighted(self) -> None:
        self.call_after_refresh(self._show_highlighted)

    def _show_highlighted(self) -> None:
        """Scroll to the folder under the cursor, for in a small window the panel is higher than the screen."""
        folders = self._folders
        line = folders.virtual_region.y + (folders.highlighted or 0) - round(folders.scroll_y)
        self.query_one("#first-panel").scroll_to_region(Region(0, line, 1, 1), animate=False)

    @on(Input.Submitted, "#first-other")
    def _add_other(self, event: Input.Submitted) -> None:
        if not event.value.strip():
            self.action_begin()
        elif error := self._take(event.value):
            self._note(error)
        else:
            self._note("Added.")
            event.input.value = ""

    @on(Button.Pressed, "#first-begin")
    def action_begin(self) -> None:
        other = self.query_one("#first-other", Input)
        if other.value.strip() and (error := self._take(other.value)):
            self._note(error)
        elif not self._folders.chosen:
            self._note("Choose a folder with Space, or type its path.")
        else:
            self.dismiss(self._folders.chosen)

    @on(Button.Pressed, "#first-skip")
    def action_skip(self) -> None:
        self.dismiss(())

    @property
    def _folders(self) -> FolderList:
        return self.query_one(FolderList)

    def _take(self, text: str) -> str:
        """Add a folder the user typed; "" or one line that says why not."""
        from app.suggested_folders import RootSuggestion

        path = Path(as_spelt(os.path.expanduser(text.strip())))
        try:
            if not path.is_dir():
                return f"There is no such folder: {safe_line(str(path))}"
            next(path.iterdir(), None)
            self._folders.add(RootSuggestion(str(path.resolve())), chosen=True)
        except OSError as error:
            return f"{error.strerror}: {safe_line(str(path))}"
        return ""

    def _note(self, text: str) -> None:
        self.query_one("#first-note", Static).update(text)
