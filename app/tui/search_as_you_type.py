"""Which question the screen asks, and when: while typing, after a pause, and again when order, filters or index change.

While typing, the last word is a prefix; after a pause it is whole. A page being read never changes without a key press.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from textual.timer import Timer

from app.search.results import ORDERS, ResultPage, SearchRequest
from app.tui.bars.facet_bar import FACETS
from app.tui.bars.query_input import QueryInput
from app.tui.bars.status_lines import ORDER_NAMES, StatusLine
from app.tui.messages import Answered, LikeFound, SnippetsMade
from app.tui.preview.side_pane import SidePane
from app.tui.results_list import ResultsList
from app.tui.screen_setup import Setup
from app.tui.session import Session, same_question
from console.wording import short_path

IDLE_SECONDS = 0.7
"""pause, with its page in view, after which the last word is taken as finished"""


class Questions:
    """Makes questions from the search box, the order and the filters, and decides which answers are wanted."""

    def __init__(
        self, setup: Setup, session: Session, box: QueryInput, results: ResultsList, side: SidePane, line: StatusLine,
        key_of: Callable[[str], str],
    ) -> None:  # fmt: skip
        self._session, self._box, self._results, self._side, self._line = session, box, results, side, line
        self._settings, self._key_of = setup.settings.search, key_of
        self._on = tuple(setup.settings.devices.ask)
        before, is_picking = setup.remembered, setup.picking is not None
        self.order = ORDERS[0]
        self.filters = {facet: "" if is_picking else before.filters.get(facet, "") for facet in FACETS}
        """what the results are narrowed to, by facet"""
        self.filters["folder"] = setup.folder or self.filters["folder"]
        self._typing: Timer | None = None
        self._last_key = 0.0
        self._unbidden = 0
        """the newest question that was not asked by a key press"""
        self._offered = False
        """whether the status line says that there are newer results"""
        self._late: Answered | None = None
        """what other machines brought while the page of this one was being read"""
        self._as_typed = ""
        """the text for which the user declined a correction"""
        self._turned_to = ("", "")
        """the query that a key made from the selected result, and the query before it"""

    @property
    def narrowing(self) -> str:
        """What the results are narrowed to, in words."""
        parts = [self.filters["type"], short_path(self.filters["folder"]), self.filters["time"]]
        return ", ".join(part for part in parts if part)

    @property
    def is_reading(self) -> bool:
        """Whether the user is past typing: moved the cursor, scrolled list or preview, or went to another part."""
        return self._results.is_read or self._side.preview.body.moved or not self._box.has_focus

    def stop_waiting(self) -> None:
        """Cancel the question that a pause in typing would ask."""
        if self._typing is not None:
            self._typing.stop()

    def while_typing(self) -> None:
        """The first key after a pause asks at once; those that follow quickly wait for the next pause."""
        pause, now = self._settings.debounce_ms / 1000, time.monotonic()
        rested, self._last_key = now - self._last_key >= pause, now
        if rested:
            self.ask(as_you_type=True)
        else:
            self._typing = self._box.set_timer(pause, partial(self.ask, as_you_type=True))

    def _ask_when_idle(self) -> None:
        """Ask with the last word as finished, unless the page is being read."""
        page, text = self._session.page, self._box.value.strip()
        if not self._box.browsing_history and text:
            self._box.recall.rested_on(text)
        if page is not None and page.request.as_you_type and not self.is_reading:
            self.ask(unbidden=True)

    def ask(self, *, as_you_type: bool = False, unbidden: bool = False) -> None:
        """Ask for what is typed, narrowed and ordered as chosen; `unbidden`: the user has not asked for this."""
        text = self._box.value
        if text.strip():
            request = SearchRequest(
                text, order=self.order, limit=self._settings.limit, as_you_type=as_you_type,
                type=self.filters["type"], folder=self.filters["folder"], time=self.filters["time"],
                as_typed=text == self._as_typed, on=() if as_you_type else self._on,
            )  # fmt: skip
            sequence = self._session.ask(
                request, n_rows=self._results.rows_in_view + 1, width=self._results.snippet_width
            )
            self._unbidden = sequence if unbidden else self._unbidden

    def again(self, *, unbidden: bool = False) -> None:
        """Ask the same again, because the order, the filters or the index have changed."""
        page = self._session.page
        self.ask(as_you_type=page.request.as_you_type if page else True, unbidden=unbidden)

    def of_newest(self) -> None:
        """Show what came from other machines meanwhile, else ask again, with the newest state of the index."""
        late = self._late
        if late is not None and late.sequence == self._session.sequence:
            self._session.tell(Answered(late.sequence, late.page, SnippetsMade(late.page, {}, {})))
            return
        self._session.look_again()
        self.ask()

    def order_by(self, order: str) -> None:
        self.order = order
        self._line.say(ORDER_NAMES[order])
        self.again()

    def next_order(self) -> None:
        self.order_by(ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)])

    def take_suggestion(self) -> None:
        """Take the suggested spelling; where it was searched for already, search for what was typed."""
        page = self._session.page
        if page is not None and page.suggestion:
            self._box.set_text(page.suggestion)
        elif page is not None and page.searched:
            self._as_typed = page.request.text
            self.ask()

    def turn_thread(self) -> None:
        """Show the mails of the selected thread one by one; from there, go back to the query before."""
        hit = self._results.selected
        thread = f"thread:{hit.thread}" if hit is not None and hit.n_in_thread > 1 else ""
        self.turn_to(thread, otherwise="no other mail is in a thread with this one")

    def turn_like(self) -> None:
        """Search for documents like the selected one; from there, go back to the query before."""
        hit, typed = self._results.selected, self._box.value
        if hit is None:
            self.turn_to("", otherwise="no result is selected")
        else:
            from app.likeness import query_like  # loads the search, which the first frame does without

            self._session.work(lambda engine: self._session.tell(LikeFound(query_like(engine, hit), typed)))

    def turn_to(self, query: str, *, otherwise: str) -> None:
        """Ask the query made from the selected result; if it is asked already, go back to the query before."""
        made, before = self._turned_to
        is_there = made != "" and self._box.value == made
        if is_there and query in ("", made):
            self._box.set_text(before)
        elif query:
            self._turned_to = (query, before if is_there else self._box.value)
            self._box.set_text(query)
        else:
            self._line.say(otherwise)

    def offer_newer(self) -> None:
        """Say that there are newer results; the page being read stays until a key asks for them."""
        self._line.say(f"newer results: {self._key_of('refresh')}")
        self._offered = True

    def is_wanted(self, answer: Answered) -> bool:
        """Whether an answer is to be shown now; one that would disturb reading is only offered."""
        page, old = answer.page, self._session.page
        if answer.sequence != self._session.sequence or is_unfinished(old, page):
            return False
        is_late, is_asked_for = bool(page.request.on), self._late is not None and page is self._late.page
        if (answer.sequence == self._unbidden or is_late) and self.is_reading and not is_asked_for:
            self._late = answer if is_late else None
            if old is None or [hit.doc_id for hit in old.hits] != [hit.doc_id for hit in page.hits]:
                self.offer_newer()
            return False
        return True

    def shown(self, page: ResultPage) -> None:
        """Note that the newest page is shown: withdraw the offer of newer results, and start waiting for a pause."""
        self._late = None
        if self._offered:
            self._line.say("")
            self._offered = False
        if page.request.as_you_type and page.request.text == self._box.value:  # however long it took: no key came since
            self.stop_waiting()
            self._typing = self._box.set_timer(IDLE_SECONDS, self._ask_when_idle)


def is_unfinished(old: ResultPage | None, page: ResultPage) -> bool:
    """Whether the last word of `old` was surely not finished.

    That is so if, as a whole word, it is in far fewer documents, or so few hold all the words that others were added.
    The results for the prefix, which are on the screen, are then worth more than those of `page`.
    """
    if old is None or page.request.as_you_type or not old.request.as_you_type:
        return False
    return same_list(old, page) and (
        page.n_all_words * 2 < old.n_all_words or (page.relaxed and not old.relaxed and old.n_matches > 0)
    )


def same_list(old: ResultPage, page: ResultPage) -> bool:
    """Whether both answer one question in one order."""
    return same_question(old.request, page.request) and old.request.order == page.request.order
