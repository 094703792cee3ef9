"""Syncing with the group while the screen is up, in a worker of its own; before the first time the user is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import Screen
from textual.widgets import Button, Static

from app.tui.bars.status_lines import StatusLine
from app.tui.key_queue import BETWEEN_BUTTONS, Panel
from app.tui.messages import ConsentWanted, Synced
from app.tui.session import Session
from console.printable import safe_line

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync


LOOK_SECONDS = 60.0
"""time between two looks at whether a sync is due"""


class GroupSyncing:
    """Asks the user once, syncs when it is due, and says what came of it."""

    def __init__(
        self, screen: Screen[None], session: Session, line: StatusLine, make: Callable[[], BackgroundSync] | None
    ) -> None:
        """`make` is called in the worker, for it loads what syncing needs; None where the settings ask for no sync."""
        self._screen, self._session, self._line, self._make = screen, session, line, make
        self._group: BackgroundSync | None = None

    def begin(self) -> None:
        """Look at the group now, and then from time to time."""
        if self._make is not None:
            self._session.sync(self._look)
            self._screen.set_interval(LOOK_SECONDS, partial(self._session.sync, self._sync))

    def take(self, message: ConsentWanted | Synced) -> None:
        """Ask the user whether to sync at all, or say what came of a sync."""
        if isinstance(message, ConsentWanted):
            self._screen.app.push_screen(ConsentScreen(message.lines), self._answered)
            return
        self._line.show_group(message.text)
        if message.important:
            self._screen.notify(message.text, title="group", markup=False)

    def _answered(self, agreed: bool | None) -> None:
        if agreed is not None:
            self._session.sync(partial(self._answer_and_sync, agreed))

    # in the worker

    def _look(self) -> None:
        lines = tuple(self._joined().question())
        if lines:
            self._session.tell(ConsentWanted(lines))
        else:
            self._sync()

    def _sync(self) -> None:
        news = self._joined().sync_when_due()
        if news is not None:
            self._session.tell(Synced(news.text, news.important))

    def _answer_and_sync(self, agreed: bool) -> None:
        self._joined().answer(agreed=agreed)
        self._sync()

    def _joined(self) -> BackgroundSync:
        if self._group is None:
            assert self._make is not None
            self._group = self._make()
        return self._group


class ConsentScreen(Panel[bool | None]):
    """Returns True or False, and None when the user wants to be asked later."""

    AUTO_FOCUS = "#consent-no"
    CSS_PATH = "panels/panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Ask me later"),
        *BETWEEN_BUTTONS,
        Binding("up", "read(-1)", "Read on above"),
        Binding("down", "read(1)", "Read on below"),
        Binding("pageup", "read(-10)", "Read on above"),
        Binding("pagedown", "read(10)", "Read on below"),
    ]

    def __init__(self, lines: Sequence[str]) -> None:
        """The question, then what it means."""
        super().__init__()
        self._lines = [safe_line(line) for line in lines]

    def compose(self) -> ComposeResult:
        with Vertical(id="consent-panel"):  # the question and the answers stay in sight whatever is read between them
            yield Static(self._lines[0], id="consent-title", markup=False)
            with VerticalScroll(id="consent-text", can_focus=False):
                yield Static("\n\n".join(self._lines[1:]), id="consent-about", markup=False)
            with Horizontal(id="consent-buttons"):
                yield Button("Agree", id="consent-yes", compact=True)
                yield Button("No", variant="primary", id="consent-no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#consent-no").focus()

    def action_read(self, n_lines: int) -> None:
        self.query_one("#consent-text").scroll_relative(y=n_lines, animate=False)

    @on(Button.Pressed)
    def _answer(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "consent-yes")
