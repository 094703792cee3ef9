"""The search box: a line of text that hands the keys of the list on to it, and walks through past queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from app.tui.messages import HistoryAsked, Moved

PAGE = 5
"""rows that Page Up and Page Down move by from the search box"""


class QueryInput(Input):
    """Where the query is typed; arrows move through the results meanwhile."""

    HELP = "The search box. Results appear as you type; the arrows choose one and Enter opens it."

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Open", show=True)]
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)
    """a longer text moves nothing: without this each letter lays the whole screen out anew"""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(placeholder="Search your files", id=id, compact=True, select_on_focus=False)
        self.browsing_history = False

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return not key.startswith("alt+") and super().check_consume_key(key, character)

    def on_key(self, event: events.Key) -> None:
        if event.key.startswith("alt+"):  # most terminals send the letter along, which Input would type
            event.character = None
        rows = {"up": -1, "down": 1, "pageup": -PAGE, "pagedown": PAGE}.get(event.key)
        if rows is None:
            self.browsing_history = False
            return
        event.stop()
        event.prevent_default()
        if event.key in ("up", "down") and (self.browsing_history or not self.value):
            self.post_message(HistoryAsked(back=event.key == "up"))
        else:
            self.post_message(Moved(rows))


class Recall:
    """A place in a list of past queries, newest first; -1 stands before the newest."""

    def __init__(self) -> None:
        self._queries: list[str] = []
        self._at = -1

    def fill(self, queries: Sequence[str]) -> None:
        """Take the list over, and stand before its newest entry."""
        self._queries = list(queries)
        self._at = -1

    def add(self, query: str) -> None:
        """A query was asked just now; it moves to the front when it was there already."""
        self._queries = [query, *(old for old in self._queries if old != query)]
        self._at = -1

    def step(self, *, back: bool) -> str | None:
        """The query before or after; "" after the newest; None where there is no further one."""
        at = self._at + (1 if back else -1)
        if not -1 <= at < len(self._queries):
            return None
        self._at = at
        return self._queries[at] if at >= 0 else ""
