"""Asking: from the keys in the search box to the question that is sent.

While the hand is typing, the last word counts as a beginning; when it rests, as a whole word. A page that is being
read is never exchanged for another without a key press.
"""

from __future__ import annotations

import time

from textual import on
from textual.timer import Timer
from textual.widgets import Input

from app.search.results import Facets, ResultPage, SearchRequest
from app.tui.facet_bar import FacetBar
from app.tui.hint_line import HintLine
from app.tui.messages import HistoryAsked, HistoryRead
from app.tui.query_input import QueryInput
from app.tui.results_list import ResultsList
from app.tui.screen_actions import ScreenActions
from app.tui.session import same_question
from app.tui.setup import Setup
from app.tui.status_line import StatusLine
from app.tui.welcome import Welcome

IDLE_SECONDS = 0.7
"""rest after which the last word is taken as finished"""


class Asking(ScreenActions):
    """A screen with a search box."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._typing: Timer | None = None
        self._last_key = 0.0

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        """The first key after a pause asks at once; those that follow quickly wait until the hand rests."""
        stop_timer(self._typing)
        pause, now = self.settings.search.debounce_ms / 1000, time.monotonic()
        rested, self._last_key = now - self._last_key >= pause, now
        if not event.value.strip():
            self.clear()
        elif rested:
            self._ask_while_typing()
        else:
            self._typing = self.set_timer(pause, self._ask_while_typing)

    @on(Input.Submitted, "#query")
    def _entered(self) -> None:
        """Enter opens what is shown for what is typed; when that is not there yet, it asks at once."""
        page = self.session.page
        text = self.query_one(QueryInput).value
        if page is not None and page.request.text.split() == text.split():
            self.action_open()
        elif text.strip():
            stop_timer(self._typing)
            self.ask()

    def _ask_while_typing(self) -> None:
        self.ask(as_you_type=True)
        self._typing = self.set_timer(IDLE_SECONDS, self._ask_when_idle)

    def _ask_when_idle(self) -> None:
        """The last word is finished now; but a page that is being read stays as it is."""
        page = self.session.page
        if page is not None and page.request.as_you_type and not self.is_reading:
            self.ask()

    def ask(self, *, as_you_type: bool = False) -> None:
        """Ask for what is typed, narrowed and ordered as chosen."""
        text = self.query_one(QueryInput).value
        if text.strip():
            request = SearchRequest(
                text,
                order=self.order,
                limit=self.settings.search.limit,
                as_you_type=as_you_type,
                type=self.narrowed["type"],
                folder=self.narrowed["folder"],
                time=self.narrowed["time"],
            )
            self.session.ask(request)

    def ask_again(self) -> None:
        """Ask the same anew, because the order, the filters or the index are others."""
        page = self.session.page
        self.ask(as_you_type=page.request.as_you_type if page else True)

    def clear(self) -> None:
        """Nothing is asked: show how to begin."""
        self.session.forget_question()
        self.session.shown(None)
        self.query_one(ResultsList).show_page(None)
        self.query_one(HintLine).show_page(None, key="", width=0)
        self.query_one(FacetBar).show_facets(Facets(), self.narrowed)
        self.show_start()

    @property
    def is_reading(self) -> bool:
        """The user is past typing: the cursor was moved, or another part has the focus."""
        results = self.query_one(ResultsList)
        return results.cursor > 0 or not self.query_one(QueryInput).has_focus

    def show_start(self) -> None:
        self.query_one(Welcome).show_start(self.status, self.progress)
        self.query_one(StatusLine).show_index(self.status)
        self.show_found(False)

    def show_found(self, found: bool) -> None:
        self.query_one(ResultsList).display = found
        self.query_one(Welcome).display = not found
        self.set_class(found, "-found")

    @on(HistoryAsked)
    def _history_asked(self, message: HistoryAsked) -> None:
        text = self.recall.step(back=message.back)
        if text is not None:
            self.set_query(text)
            self.query_one(QueryInput).browsing_history = bool(text)

    @on(HistoryRead)
    def _history_read(self, message: HistoryRead) -> None:
        self.recall.fill(message.queries)


def is_unfinished(old: ResultPage | None, page: ResultPage) -> bool:
    """Whether the last word of `old` was surely not finished.

    As a whole word it is then in far fewer documents, or so few hold all the words that others had to be added. The
    results for its beginning, which are on the screen, are worth more than those of `page`.
    """
    if old is None or page.request.as_you_type or not old.request.as_you_type:
        return False
    same = same_question(old.request, page.request) and old.request.order == page.request.order
    return same and (page.n_matches * 2 < old.n_matches or (page.relaxed and not old.relaxed))


def stop_timer(timer: Timer | None) -> None:
    """Stop a timer that may never have been started."""
    if timer is not None:
        timer.stop()
