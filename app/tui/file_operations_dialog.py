"""Copying, moving and trashing the marked files: confirmed by name, done in a worker, and reported file by file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from app import file_operations
from app.file_operations import Filed, FileOperationError, folder_of, taken
from app.tui.bars.status_lines import StatusLine
from app.tui.key_queue import BETWEEN_BUTTONS, Panel
from app.tui.messages import FilesFiled
from app.tui.results_list import Marked, ResultsList
from app.tui.session import Session
from console.printable import safe_line
from console.wording import count, short_path

DONE = {"copy": "copied", "move": "moved", "trash": "trashed"}
SHOWN = 8
"""most refusals that are shown one by one"""


class FileOperations:
    """Copies, moves and trashes the marked results of a screen, or the selected one where none is marked."""

    def __init__(self, screen: Screen[None], session: Session, results: ResultsList, line: StatusLine) -> None:
        self._screen, self._session, self._results, self._line = screen, session, results, line

    @property
    def marked(self) -> list[Marked]:
        """The marked results in the order of marking, else the selected one."""
        results = self._results
        if len(results.marks) or results.selected is None or results.page is None:
            return list(results.marks)
        return [(results.page, results.selected)]

    def mark(self, step: int) -> None:
        """Toggle the mark of the selected result, and move `step` rows on."""
        self._results.turn_mark()
        self._results.move(step)
        self._line.show_marked(len(self._results.marks))

    def unmark(self, *, but: Collection[str] = ()) -> None:
        """Remove the marks, except those on these paths."""
        self._results.clear_marks(but=but)
        self._line.show_marked(len(self._results.marks))

    def ask(self, what: str, then: Callable[[Sequence[Marked]], None] | None = None) -> None:
        """Name the files and ask; when the user agrees, do it, or call `then` with those that were named."""
        marked = self.marked
        paths = list(dict.fromkeys(hit.path for _, hit in marked))

        def answered(folder: str | None) -> None:
            if folder is not None and then is not None:
                then(marked)
            elif folder is not None:
                self._session.file(partial(self._do, what, paths, folder))

        if marked:
            self._screen.app.push_screen(FileOperationsScreen(what, marked), answered)

    def _do(self, what: str, paths: Sequence[str], folder: str) -> None:
        """Runs in a worker."""
        if what == "trash":
            filed = file_operations.trash(paths)
        else:
            filed = (file_operations.copy_to if what == "copy" else file_operations.move_to)(paths, folder)
        if what == "move":
            self._session.follow((one.path, one.target) for one in filed if not one.error)
        self._session.tell(FilesFiled(what, tuple(filed), folder))

    def take(self, message: FilesFiled) -> None:
        """Say what was done and what was refused; the marks of refused files, and of others marked since, stay."""
        done, refused = report(message.what, message.filed, message.folder)
        self._line.say(done)
        if refused:
            title = f"Not {DONE[message.what]}"
            self._screen.notify(refused, title=title, severity="error", timeout=15, markup=False)
        done_with = {one.path for one in message.filed if not one.error}
        self.unmark(but={hit.path for _, hit in self._results.marks} - done_with)


def report(what: str, filed: Sequence[Filed], folder: str) -> tuple[str, str]:
    """What was done as one sentence, and what was refused, a line for each file; "" where there is none."""
    refused = [one for one in filed if one.error]
    n_done = len(filed) - len(refused)
    where = f" to {short_path(folder)}" if folder else ""
    lines = [f"{short_path(one.path)}: {one.error}" for one in refused[:SHOWN]]
    if len(refused) > SHOWN:
        lines.append(f"and {len(refused) - SHOWN} more")
    return f"{DONE[what]} {count(n_done, 'file')}{where}" if n_done else "", "\n".join(lines)


QUESTIONS = {
    "copy": ("Copy {files} to a folder", "Copy"),
    "move": ("Move {files} to a folder", "Move"),
    "trash": ("Put {files} into the trash?", "To the trash"),
    "open": ("Open {files}?", "Open"),
}
"""operation -> title, and label of the button"""

SEEN = 12
"""paths in view at once; more are scrolled through"""


class FileOperationsScreen(Panel[str | None]):
    """Returns the folder, "" where none is needed, and None when the user says no."""

    AUTO_FOCUS = "#filing-folder, #filing-no"
    CSS_PATH = "panels/panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "No"),
        *BETWEEN_BUTTONS,
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
        """A path, with a note that the whole file is meant if only a part of it was marked."""
        parts = [safe_line(part) for part in self._parts[path] if part]
        return short_path(path) + (f"  (the whole file, not only {', '.join(parts)})" if parts else "")

    @on(Input.Changed, "#filing-folder")
    def _folder_changed(self) -> None:
        self.query_one("#filing-yes", Button).disabled = True
        self.query_one("#filing-note", Static).update("")

    @on(Input.Submitted, "#filing-folder")
    def _folder_given(self) -> None:
        """Say what would be refused, and enable the button for the rest."""
        note, yes = self.query_one("#filing-note", Static), self.query_one("#filing-yes", Button)
        if (folder := self._folder()) is None:
            return
        refused = taken(self._paths, folder)
        names = ", ".join(short_path(path).rsplit("/", 1)[-1] for path in refused)
        note.update(f"Left out, as {short_path(folder)} has these names already: {names}" if refused else "")
        if len(refused) < len(self._paths):
            n_left = len(self._paths) - len(refused)
            new = "" if os.path.isdir(folder) else ", a new folder"
            label = f"{QUESTIONS[self._what][1]} {count(n_left, 'file')} to {short_path(folder)}{new}"
            yes.label = Content(label)  # in a text Textual would take the brackets of a name for markup
            yes.refresh(layout=True)
            yes.disabled = False
            self.query_one("#filing-no", Button).focus()

    @on(Button.Pressed, "#filing-yes")
    def _agree(self) -> None:
        if (folder := self._folder() if self._wants_folder else "") is not None:
            self.dismiss(folder)

    def _folder(self) -> str | None:
        """The folder that was typed; None where it cannot be used (any more), which is then said."""
        try:
            return folder_of(self.query_one("#filing-folder", Input).value)
        except FileOperationError as error:
            self.query_one("#filing-note", Static).update(str(error))
            return None

    @on(Button.Pressed, "#filing-no")
    def _decline(self) -> None:
        self.dismiss(None)
