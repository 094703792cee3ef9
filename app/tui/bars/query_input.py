"""The search box: a line of text that hands the keys of the list on to it, and walks through past queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from console.printable import safe_line

PAGE = 5
"""rows that Page Up and Page Down move by from the search box"""


class QueryInput(Input):
    """Where the query is typed; arrows move through the results meanwhile."""

    HELP = (
        "The search box. Results appear as you type; the arrows choose one and Enter opens it. Up in the empty box "
        "brings past queries back. Esc clears the box, then removes filters, and twice in an empty box it leaves."
    )

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Open", show=True)]
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)
    """a longer text moves nothing: without this each letter lays the whole screen out anew"""

    def __init__(self, *, actions: Mapping[str, str], move: Callable[[int], None], id: str | None = None) -> None:
        """`actions` are those of the screen by key, which go before the box's own; `move` goes so many results on."""
        super().__init__(placeholder="Search your files", id=id, compact=True, select_on_focus=False)
        self._actions, self._move_results = actions, move
        self.recall = Recall()
        self._last_key = ""
        self.browsing_history = False
        self.pressed_again = False
        """the key is the one that was pressed here before it"""

    def validate_value(self, value: str) -> str:
        """What was pasted or is recalled, without anything that the terminal would obey."""
        return safe_line(value.replace("\xad", ""))

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return not key.startswith("alt+") and super().check_consume_key(key, character)

    async def on_key(self, event: events.Key) -> None:
        self.pressed_again, self._last_key = event.key == self._last_key, event.key
        if event.key.startswith("alt+"):  # most terminals send the letter along, which Input would type
            event.character = None
        rows = {"up": -1, "down": 1, "pageup": -PAGE, "pagedown": PAGE}.get(event.key)
        if rows is None:
            self.browsing_history = False
            await self._act_at_once(event)
            return
        event.stop()
        event.prevent_default()
        if event.key in ("up", "down") and (self.browsing_history or (not self.value and event.key == "up")):
            self._recall(back=event.key == "up")
        else:
            self._move_results(rows)

    def on_paste(self, event: events.Paste) -> None:
        """All lines become one; Input would take the first alone. What no query holds would slow each key."""
        from indexer.query.parse import MAX_CHARACTERS

        event.text = " ".join(event.text.splitlines())[: MAX_CHARACTERS + 1]

    def set_text(self, text: str) -> None:
        """As if it had been typed here."""
        self.value = text
        self.cursor_position = len(text)
        self.focus()

    def begin_anew(self) -> None:
        """Go here; the next letter replaces the text, and Up in the empty box brings it back."""
        self.focus()
        self.action_select_all()

    def _recall(self, *, back: bool) -> None:
        text = self.recall.step(back=back)
        if text is not None:
            self.set_text(text)
            self.browsing_history = bool(text)

    async def _act_at_once(self, event: events.Key) -> None:
        """Do what a key means that types nothing, before the box takes it for one of its own."""
        if event.key in self._actions:
            event.stop()
            event.prevent_default()
            await self.screen.run_action(self._actions[event.key])


class Recall:
    """A place in a list of past queries, newest first; -1 stands before the newest."""

    def __init__(self) -> None:
        self._queries: list[str] = []
        self._at = -1
        self._was_used = True
        """the newest was opened from, or comes from a former session: nothing takes its place"""

    def fill(self, queries: Sequence[str]) -> None:
        """The kept queries come after those of this session; stand before the newest."""
        self._queries = list(dict.fromkeys((*self._queries, *queries)))
        self._at = -1

    def add(self, query: str) -> None:
        """A query was used just now; it moves to the front when it was there already."""
        self._queries = list(dict.fromkeys(filter(None, (query, *self._queries))))
        self._at, self._was_used = -1, True

    def rested_on(self, query: str) -> None:
        """The hand rested on this text: a query too, in the place of the one it goes on from or was cut from."""
        newest = self._queries[0] if self._queries else ""
        if not self._was_used and (query.startswith(newest) or newest.startswith(query)):
            del self._queries[:1]
        used = self._was_used and query == newest
        self.add(query)
        self._was_used = used

    @property
    def newest(self) -> tuple[str, ...]:
        return tuple(self._queries)

    def step(self, *, back: bool) -> str | None:
        """The query before or after; "" after the newest; None where there is no further one."""
        at = self._at + (1 if back else -1)
        if not -1 <= at < len(self._queries):
            return None
        self._at = at
        return self._queries[at] if at >= 0 else ""
