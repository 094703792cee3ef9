"""The actions of the screen in lists: the help for where the focus is, and what may follow the leader key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from app.tui.key_queue import Panel
from app.tui.keys import ACTIONS, BY_ID, Action, after_leader, keys_of, letter_of

QUERIES = (
    ("wind turbine", "both words; fewer if few documents have both"),
    ('"wind turbine"', "this phrase"),
    ("wind OR solar", "either; also AND, NOT, ( )"),
    ("-nuclear", "without this word"),
    ("turb*", "words that begin like this"),
    ("=running", "exactly this form, not run or runs"),
    ("title: name: path: from:", "only there: title:lease"),
    ("type:pdf ext:md lang:de", "kind of document, name ending, language"),
    ("dir:projects", "in this folder or below"),
    ("modified:last-week", "also today, 2024, >2024-01, 2024-01..2024-03"),
    ("size:>1mb", "also <10kb"),
    ("artist: camera: tag: taken:", "properties: taken:2026-05"),
)
LEARNING = (
    "Text decides first. What you open moves up a little for this and similar queries, and for documents like it; "
    "one stray opening hardly counts, two or three do. It stays on this device and, with `devices`, on your others. If "
    "you join a group, noised changes of the weights leave it (`foltr-search privacy`). `foltr-search model` shows, "
    "saves or resets what was learned, and x on a result says what moved it."
)


class HelpScreen(Panel[None]):
    """A panel over the screen; any of the keys that opened it closes it."""

    shows = True
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
            yield Static(Text("\nQuery language", style="bold"))
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


KeyOf = tuple[str, Action]


class LeaderPanel(Panel[str]):
    """Gives the id of the action whose key was pressed, or that was clicked; "" or None for none."""

    shows = True
    CSS_PATH = "panels.tcss"

    def __init__(self, keymap: Mapping[str, str], *, without: frozenset[str]) -> None:
        super().__init__()
        self._actions = {key: action for key, action in after_leader(keymap).items() if action.id not in without}
        self._ending = {"escape", "ctrl+c", *keys_of(BY_ID["leader"], keymap)}
        self._keymap = keymap
        self._columns: list[list[KeyOf]] = []

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="leader-panel", can_focus=False):
            yield Static(id="leader-keys", markup=False)

    def on_resize(self) -> None:
        actions = list(dict.fromkeys(self._actions.values()))
        keys = (Binding(letter_of(action, self._keymap), "") for action in actions)
        shown = [(self.app.get_key_display(key), action) for key, action in zip(keys, actions, strict=True)]
        self._columns = in_columns(shown, self.size.width - 4)
        self.query_one("#leader-keys", Static).update(as_text(self._columns))

    on_mount = on_resize

    def on_click(self, event: events.Click) -> None:
        """One on an action is its key."""
        x, row = event.screen_offset - self.query_one("#leader-keys").region.offset
        for column in self._columns if min(x, row) >= 0 else ():
            if 0 <= x < sum(widths(column)) and row < len(column):
                self.dismiss(column[row][1].id)
            x -= sum(widths(column))

    def on_key(self, event: events.Key) -> None:
        """Any key ends this: one of an action does it, another one is forgotten."""
        event.stop()
        event.prevent_default()
        if event.key in ("pagedown", "pageup") and self.query_one("#leader-panel").max_scroll_y:
            self.query_one("#leader-panel").scroll_relative(y=5 if event.key == "pagedown" else -5, animate=False)
            return
        action = None if event.key in self._ending else self._actions.get(event.key)
        self.dismiss(action.id if action else "")


def in_columns(actions: Sequence[KeyOf], room: int) -> list[list[KeyOf]]:
    """Down each column in turn, in as few rows as `room` cells allow."""
    for n_rows in range(1, len(actions)):
        columns = [list(actions[at : at + n_rows]) for at in range(0, len(actions), n_rows)]
        if sum(sum(widths(column)) for column in columns) <= room:
            return columns
    return [list(actions)]


def widths(column: Sequence[KeyOf]) -> tuple[int, int]:
    """Cells of a column's keys, and of its titles with the gap behind them."""
    return max(cell_len(key) for key, _ in column) + 1, max(cell_len(action.title) for _, action in column) + 2


def as_text(columns: Sequence[Sequence[KeyOf]]) -> Text:
    text = Text(no_wrap=True)
    for row in range(len(columns[0])):
        for column in columns:
            for key, action in column[row : row + 1]:
                of_key, of_title = widths(column)
                text.append(" " * (of_key - 1 - cell_len(key)) + key + " ", style="bold")
                text.append(action.title + " " * (of_title - cell_len(action.title)))
        text.append("\n")
    text.append("Any of these keys does it now; Esc closes this.", style="dim")
    return text
