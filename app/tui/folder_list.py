"""A list of folders to tick, told apart by their marks and not by colour alone."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from app.tui.engine import Folder
from app.tui.wording import fit_path, short_path

PATH_WIDTH = 52
"""cells that a path may take"""


class FolderList(OptionList):
    """Space or Enter ticks a folder, or takes the tick away."""

    HELP = "The folders to index. Space chooses, Tab goes on to the box for another folder."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "select", "Choose")]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True)
        self._folders: list[Folder] = []
        self._chosen: set[str] = set()

    @property
    def chosen(self) -> tuple[str, ...]:
        """The paths that are ticked, in the order of the list."""
        return tuple(folder.path for folder in self._folders if folder.path in self._chosen)

    def add(self, folder: Folder, *, chosen: bool) -> None:
        """Add a folder, or tick the one that is there already."""
        if chosen:
            self._chosen.add(folder.path)
        if any(folder.path == other.path for other in self._folders):
            self._draw()
            return
        self._folders.append(folder)
        self.add_option(Option(self._label(folder)))
        self._draw()

    @on(OptionList.OptionSelected)
    def _toggle(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._chosen ^= {self._folders[event.option_index].path}
        self._draw()

    def _draw(self) -> None:
        for index, folder in enumerate(self._folders):
            self.replace_option_prompt_at_index(index, self._label(folder))

    def _label(self, folder: Folder) -> Content:
        mark = "[x]" if folder.path in self._chosen else "[ ]"
        width = max(len(other.counted) for other in self._folders)
        path = fit_path(short_path(folder.path), PATH_WIDTH)
        return Content.assemble(f"{mark} ", (folder.counted.rjust(width), "dim"), f"  {path}")
