"""The question before files are copied, moved, trashed or opened together: which ones exactly, and where to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from app.filing import FilingError, folder_of, taken
from app.tui.marks import Marked
from console.printable import safe_line
from console.wording import count, short_path

QUESTIONS = {
    "copy": ("Copy {files} to a folder", "Copy"),
    "move": ("Move {files} to a folder", "Move"),
    "trash": ("Put {files} into the trash?", "To the trash"),
    "open": ("Open {files}?", "Open"),
}
"""a title and what the button says, by what is to be done"""


SEEN = 12
"""paths that are seen at once; more are scrolled through"""


class FilingScreen(ModalScreen[str | None]):
    """Gives the folder, "" where none is wanted, and None when the user does not want it done."""

    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "No"),
        Binding("left", "app.focus_previous", "The button before"),
        Binding("right", "app.focus_next", "The button after"),
    ]

    def __init__(self, what: str, marked: Sequence[Marked]) -> None:
        """`what` is one of QUESTIONS."""
        super().__init__()
        self._what = what
        self._parts: dict[str, list[str]] = {}
        for _, hit in marked:
            self._parts.setdefault(hit.path, []).append(hit.part)
        self._paths = list(self._parts)
        self._wants_folder = what in ("copy", "move")

    def compose(self) -> ComposeResult:
        title, button = QUESTIONS[self._what]
        files = count(len(self._paths), "file")
        with VerticalScroll(id="filing-panel", can_focus=False):
            yield Static(title.format(files=files), id="filing-title", markup=False)
            with VerticalScroll(id="filing-files", can_focus=len(self._paths) > SEEN):
                yield Static("\n".join(self._line(path) for path in self._paths), markup=False)
            if self._wants_folder:
                yield Input(placeholder="Which folder, as in ~/papers", id="filing-folder", compact=True)
            yield Static("", id="filing-note", markup=False)
            with Horizontal(id="filing-buttons"):
                yield Button(f"{button} {files}", id="filing-yes", compact=True, disabled=self._wants_folder)
                yield Button("No", variant="primary", id="filing-no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#filing-folder" if self._wants_folder else "#filing-no").focus()

    def _line(self, path: str) -> str:
        """A path, and that all of the file is meant where a part of it was marked."""
        parts = [safe_line(part) for part in self._parts[path] if part]
        return short_path(path) + (f"  (the whole file, not only {', '.join(parts)})" if parts else "")

    @on(Input.Changed, "#filing-folder")
    def _folder_changed(self) -> None:
        self.query_one("#filing-yes", Button).disabled = True
        self.query_one("#filing-note", Static).update("")

    @on(Input.Submitted, "#filing-folder")
    def _folder_given(self, event: Input.Submitted) -> None:
        """Say what would be refused; the button then does the rest."""
        note, yes = self.query_one("#filing-note", Static), self.query_one("#filing-yes", Button)
        try:
            folder = folder_of(event.value)
        except FilingError as error:
            note.update(str(error))
            return
        refused = taken(self._paths, folder)
        names = ", ".join(short_path(path).rsplit("/", 1)[-1] for path in refused)
        note.update(f"Left alone, for {short_path(folder)} has these names already: {names}" if refused else "")
        if len(refused) < len(self._paths):
            n_left = len(self._paths) - len(refused)
            new = "" if os.path.isdir(folder) else ", a new folder"
            yes.label = f"{QUESTIONS[self._what][1]} {count(n_left, 'file')} to {short_path(folder)}{new}"
            yes.refresh(layout=True)
            yes.disabled = False
            self.query_one("#filing-no", Button).focus()

    @on(Button.Pressed, "#filing-yes")
    def _agree(self) -> None:
        self.dismiss(folder_of(self.query_one("#filing-folder", Input).value) if self._wants_folder else "")

    @on(Button.Pressed, "#filing-no")
    def _decline(self) -> None:
        self.dismiss(None)
