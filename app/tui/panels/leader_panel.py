"""What may follow the leader key: every action with its letter, in columns; the next key does it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from app.tui.keys import BY_ID, Action, after_leader, keys_of, letter_of

COLUMN = 23
"""cells of one column"""


class LeaderPanel(ModalScreen[str]):
    """Gives the id of the action whose key was pressed; "" for none."""

    CSS_PATH = "panels.tcss"

    def __init__(self, keymap: Mapping[str, str], *, without: frozenset[str]) -> None:
        super().__init__()
        self._without = without
        self._actions = {key: action for key, action in after_leader(keymap).items() if action.id not in without}
        self._ending = {"escape", "ctrl+c", *keys_of(BY_ID["leader"], keymap)}
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="leader-panel", can_focus=False):
            yield Static(id="leader-keys", markup=False)

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        actions = list(dict.fromkeys(self._actions.values()))
        shown = [(self._display(letter_of(action, self._keymap)), action) for action in actions]
        self.query_one("#leader-keys", Static).update(in_columns(shown, max(1, (self.size.width - 4) // COLUMN)))

    def _display(self, key: str) -> str:
        return self.app.get_key_display(Binding(key, ""))

    def on_key(self, event: events.Key) -> None:
        """Any key ends this: one of an action does it, another one is forgotten."""
        event.stop()
        event.prevent_default()
        if event.key in ("pagedown", "pageup") and self.query_one("#leader-panel").max_scroll_y:
            self.query_one("#leader-panel").scroll_relative(y=5 if event.key == "pagedown" else -5, animate=False)
            return
        action = None if event.key in self._ending else self._actions.get(event.key)
        self.dismiss(action.id if action else "")


def in_columns(actions: list[tuple[str, Action]], n_columns: int) -> Text:
    """The keys and titles, down each column in turn."""
    n_rows = -(-len(actions) // n_columns)
    text = Text(no_wrap=True)
    for row in range(n_rows):
        for key, action in actions[row::n_rows]:
            letter = key.rjust(4) + " "
            text.append(letter, style="bold")
            text.append(action.title + " " * max(1, COLUMN - cell_len(letter) - cell_len(action.title)))
        text.append("\n")
    text.append("Any of these keys does it now; Esc closes this.", style="dim")
    return text
