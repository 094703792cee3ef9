"""Help for the part of the screen that has the focus: what it is, its keys as they are set now, the query language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from app.tui.keys import ACTIONS

QUERIES = (
    ("wind turbine", "both words; some when few documents hold both"),
    ('"wind turbine"', "this phrase"),
    ("wind OR solar", "either; also AND, NOT, ( )"),
    ("-nuclear", "without this word"),
    ("turb*", "any word that begins so"),
    ("=running", "this very form, not run or runs"),
    ("title: name: path: from:", "only there: title:lease"),
    ("type:pdf ext:md lang:de", "kind of document, name ending, language"),
    ("dir:projects", "in this folder or below"),
    ("modified:last-week", "also today, 2024, >2024-01, 2024-01..2024-03"),
    ("size:>1mb", "also <10kb"),
    ("artist: camera: tag: taken:", "what describes it: taken:2026-05"),
)
LEARNING = (
    "Text decides first. What you open moves up a little for this and similar questions, and for documents like it; "
    "one stray opening hardly counts, two or three do. It stays on this device, unless you join a group: then noised "
    "changes of the weights leave it (`foltr-search privacy`). `foltr-search model` shows, saves or resets what was "
    "learned, and x on a result says what moved it."
)


class HelpScreen(ModalScreen[None]):
    """A panel over the screen; any of the keys that opened it closes it."""

    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark,enter", "dismiss", "Close"),
        Binding("down,j", "scroll(1)", "Down", show=False),
        Binding("up,k", "scroll(-1)", "Up", show=False),
        Binding("pagedown,space", "scroll(10)", "Page down", show=False),
        Binding("pageup", "scroll(-10)", "Page up", show=False),
    ]

    def __init__(self, about: str, keys: Sequence[tuple[str, str]]) -> None:
        """`about` says what the focused part is; `keys` are (keys, description)."""
        super().__init__()
        self._about = about
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help-panel"):
            yield Static(Text(self._about + "\n"))
            yield Static(Text("Keys", style="bold"))
            yield Static(_in_columns(self._keys, 17, ("bold", "")))
            yield Static(Text("\nWhat can be asked", style="bold"))
            yield Static(_in_columns(QUERIES, 26, ("", "dim")))
            yield Static(Text("\nHow the order learns", style="bold"))
            yield Static(Text(LEARNING))
            yield Static(Text("\nNames for screen.keys", style="bold"))
            yield Static(Text(", ".join(action.id for action in ACTIONS), style="dim"))

    def action_scroll(self, lines: int) -> None:
        self.query_one("#help-panel", VerticalScroll).scroll_relative(y=lines, animate=False)


def _in_columns(pairs: Sequence[tuple[str, str]], width: int, styles: tuple[str, str]) -> Table:
    """Two columns, the first of so many cells at least; what is too long goes on below in its own."""
    grid = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column(style=styles[0], min_width=width + 2)
    grid.add_column(style=styles[1], ratio=1)
    for left, right in pairs:
        grid.add_row(f"  {left}", right)
    return grid
