"""The search screen: hands what the user does to the session, and shows what comes back.

Handlers alone change what is shown; nothing here waits, and no rule about ranking or learning lives here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import Footer, Static

from app.tui.asking import is_unfinished, stop_timer
from app.tui.commands import SearchCommands
from app.tui.engine import ProgressLine
from app.tui.explain_pane import ExplainPane
from app.tui.facet_bar import FacetBar
from app.tui.first_start import FirstStart
from app.tui.group_syncing import GroupSyncing
from app.tui.hint_line import HintLine
from app.tui.keys import BY_ID, actions_of, keys_of
from app.tui.messages import (
    Answered,
    EngineReady,
    Explained,
    FacetChosen,
    Failed,
    HistoryRead,
    HitSelected,
    IndexChanged,
    Learned,
    Moved,
    PreviewMade,
    PreviewResized,
    Progressed,
    RowsShown,
    SnippetsMade,
    SuggestionTaken,
)
from app.tui.preview_pane import PreviewPane
from app.tui.query_input import QueryInput
from app.tui.results_list import ResultsList
from app.tui.session import same_question
from app.tui.status_line import StatusLine
from app.tui.welcome import Welcome

REST_SECONDS = 0.08
"""rest of the cursor after which the preview is read"""
LOOK_SECONDS = 3.0
"""time between two looks at the index for commits of other processes"""


class SearchScreen(GroupSyncing):
    """The one screen most people ever see."""

    COMMANDS: ClassVar = {SearchCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (96, "-wide")]  # noqa: RUF012 -- declared so by Textual
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(a.keys, a.id.replace("-", "_"), a.title, show=a.shown, id=a.id, tooltip=a.description)
        for a in actions_of("search")
        if a.id != "quit"  # the application's own, so that it works everywhere
    ]

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Static("❯", id="prompt")
            yield QueryInput(id="query")
        yield HintLine(id="hint")
        yield FacetBar(id="facets")
        with Container(id="body"):
            with Vertical(id="found"):
                yield Welcome(id="welcome")
                yield ResultsList(id="results", now=self.setup.now)
            with Vertical(id="side"):
                yield PreviewPane(id="preview")
                yield ExplainPane(id="explain")
        learning = self.setup.settings.learning
        yield StatusLine(id="status", exploring=learning.exploration > 0, learning=learning.enabled)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._resting: Timer | None = None
        self.query_one(Welcome).show_start(None, self.progress)
        self.query_one(StatusLine).show_index(None)
        self.show_side()
        self.query_one(QueryInput).focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """After the first frame: open the index, ask for folders where there are none, read the past queries."""
        self.session.start()
        self.session.run(self._read_history)
        for problem in self.setup.problems:
            self.notify(problem, severity="warning", timeout=10, markup=False)
        if self.setup.indexing.has_index() or self.setup.folder:
            self.start_indexing((self.setup.folder,) if self.setup.folder else ())
        else:
            self.app.push_screen(FirstStart(self.setup.indexing.suggest), self._folders_chosen)
        self.set_interval(LOOK_SECONDS, self.session.look_again)
        self.begin_syncing()

    def start_indexing(self, folders: Sequence[str]) -> None:
        """Index in the background, in a worker, for starting takes a moment as well."""
        self.session.run(partial(self.setup.indexing.start, folders, self._report_progress))

    def _report_progress(self, line: ProgressLine) -> None:
        """Called in a worker."""
        self.session.tell(Progressed(line))

    def _folders_chosen(self, folders: tuple[str, ...] | None) -> None:
        if folders:
            self.start_indexing(folders)

    def _read_history(self) -> None:
        """Runs in a worker."""
        self.session.tell(HistoryRead(tuple(self.setup.history.queries())))

    def on_resize(self) -> None:
        self.show_side(explain=self.query_one(ExplainPane).display)

    # answers

    @on(EngineReady)
    def _ready(self, message: EngineReady) -> None:
        self.status = message.status
        if self.query_one(QueryInput).value.strip():
            self.ask(as_you_type=True)
        else:
            self.show_start()

    @on(Answered)
    def _answered(self, message: Answered) -> None:
        page, old = message.page, self.session.page
        if message.sequence != self.session.sequence:
            return
        again = old is not None and same_question(old.request, page.request)
        if is_unfinished(old, page):
            return
        results = self.query_one(ResultsList)
        keep = results.selected if again else None
        self.session.shown(page)
        results.show_page(page, keep=keep)
        narrowed = self.narrowing()
        self.query_one(StatusLine).show_page(page, narrowed=narrowed)
        suggestion_key = keys_of(BY_ID["suggestion"], self.setup.keymap)
        key = self.app.get_key_display(Binding(suggestion_key[0], "")) if suggestion_key else ""
        self.query_one(HintLine).show_page(page, key=key, width=max(20, self.size.width - 4))
        self.query_one(FacetBar).show_facets(page.facets, self.narrowed)
        if not page.hits:
            self.query_one(Welcome).show_nothing(page, narrowed=narrowed, indexing=self.progress.busy)
        self.show_found(bool(page.hits))

    @on(RowsShown)
    def _rows_shown(self, message: RowsShown) -> None:
        self.session.want_snippets(message.page, message.rows, message.width)

    @on(SnippetsMade)
    def _snippets_made(self, message: SnippetsMade) -> None:
        self.query_one(ResultsList).add_snippets(message.page, message.snippets)

    @on(HitSelected)
    def _selected(self, message: HitSelected) -> None:
        self.query_one(PreviewPane).expect(message.hit)
        stop_timer(self._resting)
        if message.hit is not None:
            self._resting = self.set_timer(REST_SECONDS, self.read_side)

    @on(PreviewResized)
    def _preview_resized(self) -> None:
        self.read_side()

    @on(PreviewMade)
    def _preview_made(self, message: PreviewMade) -> None:
        self.query_one(PreviewPane).show(message.hit, message.preview, message.layout)

    @on(Explained)
    def _explained(self, message: Explained) -> None:
        self.query_one(ExplainPane).show(message.explanation)

    @on(Learned)
    def _learned(self, message: Learned) -> None:
        self.query_one(StatusLine).say(message.sentence)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if self.status is None and message.what == "search":
            self.query_one(Welcome).show_trouble(message.error)
            self.query_one(StatusLine).say("the index cannot be searched")
        else:
            self.notify(message.error, title=f"{message.what} failed", severity="error", markup=False)

    # the index

    @on(Progressed)
    def _progressed(self, message: Progressed) -> None:
        self.query_one(StatusLine).show_doing(message.line.text)
        self.progress = message.line
        if message.line.generation != self.generation:
            self.generation = message.line.generation
            self.session.look_again()
        if self.query_one(Welcome).display and not self.query_one(QueryInput).value.strip():
            self.query_one(Welcome).show_start(self.status, message.line)

    @on(IndexChanged)
    def _index_changed(self, message: IndexChanged) -> None:
        self.status = message.status
        if not self.query_one(QueryInput).value.strip():
            self.show_start()
        elif self.is_reading:
            self.query_one(StatusLine).say("the index has changed, F5 asks again")
        else:
            self.ask_again()

    # moving about

    @on(Moved)
    def _moved(self, message: Moved) -> None:
        self.query_one(ResultsList).move(message.rows)

    @on(FacetChosen)
    def _facet_chosen(self, message: FacetChosen) -> None:
        self.narrow(message.facet, message.value)

    @on(SuggestionTaken)
    def _suggestion_taken(self, message: SuggestionTaken) -> None:
        self.set_query(message.text)
