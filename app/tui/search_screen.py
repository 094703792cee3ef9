"""The search screen: hands what the user does to the session, and shows what comes back.

Handlers alone change what is shown; nothing here waits, and no rule about ranking or learning lives here.

While the hand is typing, the last word may go on; when it rests, it is a whole word. A cursor that the user has not
moved stays on the first row, and a page that is being read is never exchanged without a key press. Syncing with the
group happens in a worker of its own, so that nothing else waits for the network.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hits, Provider
from textual.command import Hit as CommandHit
from textual.containers import Container, Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from app.search.results import ORDERS, Facets, IndexStatus, ResultPage, SearchRequest
from app.tui.explain_pane import ExplainPane
from app.tui.facet_bar import FACETS, FacetBar
from app.tui.hint_line import HintLine
from app.tui.keys import BY_ID, actions_of, keys_of
from app.tui.messages import (
    Answered,
    ConsentWanted,
    EngineReady,
    Explained,
    FacetChosen,
    Failed,
    HandedOver,
    HistoryAsked,
    HistoryRead,
    HitChosen,
    HitSelected,
    IndexChanged,
    Learned,
    Moved,
    NotOpened,
    PreviewMade,
    PreviewResized,
    Progressed,
    RowsShown,
    SnippetsMade,
    SuggestionTaken,
    Synced,
    TerminalWanted,
)
from app.tui.opening import Opening
from app.tui.parts import ProgressLine, Setup
from app.tui.preview import PreviewBody, PreviewPane
from app.tui.query_input import QueryInput, Recall
from app.tui.results_list import ResultsList
from app.tui.session import Session, same_question
from app.tui.status_line import ORDER_NAMES, StatusLine
from app.tui.welcome import Welcome
from app.wording import short_path

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync

IDLE_SECONDS = 0.7
"""rest after which the last word is taken as finished"""
REST_SECONDS = 0.08
"""rest of the cursor after which the preview is read"""
LOOK_SECONDS = 3.0
"""time between two looks at the index for commits of other processes"""
SYNC_LOOK_SECONDS = 60.0
"""time between two looks at whether a sync is due"""
SIDE_SHARES = (30, 40, 50, 60, 70)
"""per cent of the body that the side pane takes"""
HIDDEN = ("app.focus", "screen.copy_text")
"""Textual's own actions that need no line in the help"""


class SearchCommands(Provider):
    """The command palette: every action of the search screen by name, and each order."""

    async def discover(self) -> Hits:
        for name, help_text, action in self._commands():
            yield DiscoveryHit(name, partial(self._run, action), help=help_text)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, help_text, action in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield CommandHit(score, matcher.highlight(name), partial(self._run, action), help=help_text)

    def _commands(self) -> Iterator[tuple[str, str, str]]:
        """(name, help, action) of each command."""
        for action in actions_of("search"):
            place = "app" if action.id == "quit" else "screen"
            yield action.title, action.description, f"{place}.{action.id.replace('-', '_')}"
        for order in ORDERS:
            yield f"Order: {ORDER_NAMES[order]}", "Sort the results so.", f"screen.order_by('{order}')"

    async def _run(self, action: str) -> None:
        await self.screen.run_action(action)


class SearchScreen(Screen[None]):
    """The one screen most people ever see."""

    COMMANDS: ClassVar = {SearchCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (96, "-wide")]  # noqa: RUF012 -- declared so by Textual
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(a.keys, a.id.replace("-", "_"), a.title, show=a.shown, id=a.id, tooltip=a.description)
        for a in actions_of("search")
        if a.id != "quit"  # the application's own, so that it works everywhere
    ]

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self.setup = setup
        self.settings = setup.settings
        self.session = Session(setup.open_engine, self.post_message)
        self.recall = Recall()
        self.opening = Opening(self, setup, self.session, self.recall)
        self.order = "learned"
        self.status: IndexStatus | None = None
        self.progress = ProgressLine("", -1, False)
        self._side_wanted = {"wide": setup.settings.screen.preview, "narrow": False}
        self._share = 2
        self._typing: Timer | None = None
        self._resting: Timer | None = None
        self._group: BackgroundSync | None = None
        self._last_key = 0.0
        self._unbidden = 0
        """the newest question that no key press asked"""
        self._offered = False
        """whether the status line says that there are newer results"""
        self._as_written = False
        """the preview shows texts as written, not as they are meant"""
        self._as_typed = ""
        """the text whose correction the user does not want"""
        self._thread_shown = ("", "")
        """the query that showed a thread, and the one before it"""

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Static("❯", id="prompt")
            yield QueryInput(id="query")
        yield HintLine(id="hint")
        yield FacetBar(folder=self.setup.folder, id="facets")
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
        self.query_one(Welcome).show_start(None, self.progress)
        self.query_one(StatusLine).show_index(None)
        self.show_side()
        self.query_one(QueryInput).focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """After the first frame: open the index, ask for folders where there are none, read the past queries."""
        settle_memory()
        self.session.start()
        self.session.run(self._read_history)
        for problem in self.setup.problems:
            self.notify(problem, severity="warning", timeout=10, markup=False)
        if self.setup.indexing.has_index() or self.setup.folder:
            self.start_indexing((self.setup.folder,) if self.setup.folder else ())
        else:
            from app.tui.first_start import FirstStart  # as all screens that are seldom seen

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

    # asking

    def set_query(self, text: str) -> None:
        """Put a text in the search box, as if it had been typed."""
        box = self.query_one(QueryInput)
        box.value = text
        box.cursor_position = len(text)
        box.focus()

    @property
    def narrowed(self) -> dict[str, str]:
        """What the results are narrowed to, by facet; the bar of filters keeps it."""
        return self.query_one(FacetBar).active

    def narrowing(self) -> str:
        """What the results are narrowed to, in words."""
        narrowed = self.narrowed
        parts = [narrowed["type"], short_path(narrowed["folder"]), narrowed["time"]]
        return ", ".join(part for part in parts if part)

    def narrow(self, facet: str, value: str) -> None:
        """Narrow to a facet's value, or with "" no longer."""
        self.query_one(FacetBar).narrow(facet, value)
        self.ask_again()

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
            self.ask(unbidden=True)

    def ask(self, *, as_you_type: bool = False, unbidden: bool = False) -> None:
        """Ask for what is typed, narrowed and ordered as chosen; `unbidden`: the user has not asked for this."""
        text = self.query_one(QueryInput).value
        if text.strip():
            narrowed, results = self.narrowed, self.query_one(ResultsList)
            sequence = self.session.ask(
                SearchRequest(
                    text,
                    order=self.order,
                    limit=self.settings.search.limit,
                    as_you_type=as_you_type,
                    type=narrowed["type"],
                    folder=narrowed["folder"],
                    time=narrowed["time"],
                    as_typed=text == self._as_typed,
                ),
                n_rows=results.rows_in_view,
                width=results.snippet_width,
            )
            self._unbidden = sequence if unbidden else self._unbidden

    def ask_again(self, *, unbidden: bool = False) -> None:
        """Ask the same anew, because the order, the filters or the index are others."""
        page = self.session.page
        self.ask(as_you_type=page.request.as_you_type if page else True, unbidden=unbidden)

    def offer_newer(self) -> None:
        """There is another page for this question, and the one that is being read stays until a key asks for it."""
        self.query_one(StatusLine).say(f"newer results: {self.key_of('refresh')}")
        self._offered = True

    def key_of(self, action: str) -> str:
        """The first key of an action, as it is shown; "" when the user took all of them away."""
        keys = keys_of(BY_ID[action], self.setup.keymap)
        return self.app.get_key_display(Binding(keys[0], "")) if keys else ""

    def clear(self) -> None:
        """Nothing is asked: show how to begin."""
        self.session.forget_question()
        self.session.shown(None)
        self.query_one(ResultsList).show_page(None)
        self.query_one(HintLine).show_page(None, key="", width=0)
        self.query_one(FacetBar).show_facets(Facets())
        self.show_start()

    @property
    def is_reading(self) -> bool:
        """The user is past typing: moved the cursor, scrolled the list or the preview, or went to another part."""
        lists = self.query_one(ResultsList).is_read or self.query_one(PreviewBody).moved
        return lists or not self.query_one(QueryInput).has_focus

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

    # what the workers answer

    @on(EngineReady)
    def _ready(self, message: EngineReady) -> None:
        settle_memory()
        self.status = message.status
        if message.unkept:
            self.query_one(StatusLine).show_unkept()
            self.notify(message.unkept, severity="warning", timeout=10, markup=False)
        if self.query_one(QueryInput).value.strip():
            self.ask(as_you_type=True)
        else:
            self.show_start()

    @on(Answered)
    def _answered(self, message: Answered) -> None:
        page, old = message.page, self.session.page
        if message.sequence != self.session.sequence:
            return
        if is_unfinished(old, page):
            return
        results = self.query_one(ResultsList)
        again = old is not None and same_question(old.request, page.request)
        if message.sequence == self._unbidden and self.is_reading:
            if old is None or [hit.doc_id for hit in old.hits] != [hit.doc_id for hit in page.hits]:
                self.offer_newer()
            return
        again = again and old is not None and old.request.order == page.request.order
        keep = results.selected if again and results.moved else None
        self.session.shown(page)
        results.show_page(page, keep=keep, rows=message.rows)
        narrowed = self.narrowing()
        self.query_one(StatusLine).show_page(page, narrowed=narrowed)
        if self._offered:
            self.query_one(StatusLine).say("")
            self._offered = False
        width = max(20, self.size.width - 4)
        self.query_one(HintLine).show_page(page, key=self.key_of("suggestion"), width=width)
        self.query_one(FacetBar).show_facets(page.facets)
        if not page.hits:
            self.query_one(Welcome).show_nothing(page, narrowed=narrowed, indexing=self.progress.busy)
        self.show_found(bool(page.hits))

    @on(RowsShown)
    def _rows_shown(self, message: RowsShown) -> None:
        self.session.want_snippets(message.page, message.rows, message.width)

    @on(SnippetsMade)
    def _snippets_made(self, message: SnippetsMade) -> None:
        self.query_one(ResultsList).add_snippets(message)

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
        self.query_one(PreviewPane).show(message.hit, message.preview, message.rows)

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
        before, self.progress = self.progress, message.line
        if message.line.generation != before.generation:
            self.session.look_again()
        if self.query_one(Welcome).display and not self.query_one(QueryInput).value.strip():
            self.query_one(Welcome).show_start(self.status, message.line)

    @on(IndexChanged)
    def _index_changed(self, message: IndexChanged) -> None:
        self.status = message.status
        if not self.query_one(QueryInput).value.strip():
            self.show_start()
        elif self.is_reading:
            self.offer_newer()
        else:
            self.ask_again(unbidden=True)

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

    # the selected result

    def action_open(self) -> None:
        self.opening.begin(self.settings.open.enter)

    def action_edit(self) -> None:
        self.opening.begin("editor")

    def action_page(self) -> None:
        self.opening.begin("pager")

    def action_folder(self) -> None:
        self.opening.begin("folder")

    def action_copy(self) -> None:
        self.opening.copy_path()

    @on(HitChosen)
    def _chosen(self) -> None:
        self.action_open()

    @on(HandedOver)
    def _handed_over(self, message: HandedOver) -> None:
        self.opening.succeeded(message)

    @on(TerminalWanted)
    def _terminal_wanted(self, message: TerminalWanted) -> None:
        self.opening.step_aside(message)

    @on(NotOpened)
    def _not_opened(self, message: NotOpened) -> None:
        self.opening.failed(message.error)

    # the screen itself

    def action_order(self) -> None:
        self.action_order_by(ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)])

    def action_order_by(self, order: str) -> None:
        self.order = order
        self.query_one(StatusLine).say(ORDER_NAMES[order])
        self.ask_again()

    def action_refresh(self) -> None:
        self.session.look_again()
        self.ask()

    def action_preview(self) -> None:
        """Show or hide the preview; from the explanation, go back to it."""
        explaining = self.query_one(ExplainPane).display
        self._side_wanted[self._shape] = explaining or not self._side_wanted[self._shape]
        self.show_side()

    def action_explain(self) -> None:
        """Show the explanation, or go back to the preview."""
        explaining = self.query_one(ExplainPane).display and self.has_class("-side")
        self._side_wanted[self._shape] = True
        self.show_side(explain=not explaining)

    def show_side(self, *, explain: bool = False) -> None:
        """Lay the side pane out: beside the results, below them where the screen is narrow, or not at all."""
        self.query_one(PreviewPane).display = not explain
        self.query_one(ExplainPane).display = explain
        self.set_class(self._side_wanted[self._shape], "-side")
        share = SIDE_SHARES[self._share]
        side = self.query_one("#side")
        side.styles.width = "100%" if self._shape == "narrow" else f"{share}%"
        side.styles.height = f"{share}%" if self._shape == "narrow" else "100%"
        if not self.has_class("-side") and self.focused is not None and side in self.focused.ancestors:
            self.query_one(QueryInput).focus()
        self.call_after_refresh(self.read_side)

    def read_side(self) -> None:
        """Ask for what the side pane shows of the selected result."""
        hit = self.query_one(ResultsList).selected
        if hit is None or not self.has_class("-side"):
            return
        if self.query_one(ExplainPane).display:
            self.session.want_explanation(hit)
        elif width := self.query_one(PreviewBody).text_width:
            snippet_width = self.query_one(ResultsList).snippet_width
            self.session.want_preview(hit, width, snippet_width=snippet_width, as_written=self._as_written)

    def action_wider(self) -> None:
        self._share = min(len(SIDE_SHARES) - 1, self._share + 1)
        self.show_side(explain=self.query_one(ExplainPane).display)

    def action_narrower(self) -> None:
        self._share = max(0, self._share - 1)
        self.show_side(explain=self.query_one(ExplainPane).display)

    def action_source(self) -> None:
        """Show texts as written, or as they are meant."""
        self._as_written = not self._as_written
        self.query_one(StatusLine).say("preview as written" if self._as_written else "preview rendered")
        self.read_side()

    def action_sizes(self) -> None:
        results = self.query_one(ResultsList)
        results.show_sizes(not results.sized)

    def action_facets(self) -> None:
        """Show the filters and go there; from there, hide them."""
        bar = self.query_one(FacetBar)
        bar.display = not (bar.display and bar.has_focus)
        (bar if bar.display else self.query_one(QueryInput)).focus()

    def action_next_match(self) -> None:
        self.query_one(PreviewPane).step_match(1)

    def action_previous_match(self) -> None:
        self.query_one(PreviewPane).step_match(-1)

    def action_suggestion(self) -> None:
        """Take the suggested spelling; where it was searched for already, search for what was typed."""
        page = self.session.page
        if page is not None and page.suggestion:
            self.set_query(page.suggestion)
        elif page is not None and page.searched:
            self._as_typed = page.request.text
            self.ask()

    def action_thread(self) -> None:
        """Show the mails of the selected thread one by one; from there, go back to the query before."""
        hit, box = self.query_one(ResultsList).selected, self.query_one(QueryInput)
        if box.value == self._thread_shown[0]:
            self.set_query(self._thread_shown[1])
        elif hit is not None and hit.n_in_thread > 1:
            self._thread_shown = (f"thread:{hit.thread}", box.value)
            self.set_query(self._thread_shown[0])
        else:
            self.query_one(StatusLine).say("nothing else in a thread with this one")

    def action_search(self) -> None:
        box = self.query_one(QueryInput)
        box.focus()
        box.action_select_all()

    def action_back(self) -> None:
        """One step back: to the search box, then an empty box, then no filters."""
        box = self.query_one(QueryInput)
        if not box.has_focus:
            box.focus()
        elif box.value:
            box.value = ""
        elif any(self.narrowed.values()):
            for facet in FACETS:
                self.query_one(FacetBar).narrow(facet, "")
            self.query_one(StatusLine).say("filters taken away")
        else:
            self.query_one(StatusLine).say("Ctrl+Q leaves")

    def action_stats(self) -> None:
        from app.tui.stats_screen import StatsScreen

        waiting = "What you opened on this page counts once you search for something else."
        self.app.push_screen(StatsScreen(self.setup.read_stats, note=waiting if self.session.has_opened else ""))

    def action_help(self) -> None:
        """Help for the part that has the focus, with the keys as they are now."""
        from app.tui.help_screen import HelpScreen

        focused = self.focused
        about = focused.HELP if focused is not None and focused.HELP else ""
        rows: dict[str, list[str]] = {}
        for active in self.active_bindings.values():
            binding = active.binding
            if not binding.system and not isinstance(active.node, Input) and not binding.action.startswith(HIDDEN):
                rows.setdefault(binding.tooltip or binding.description, []).append(self.app.get_key_display(binding))
        self.app.push_screen(HelpScreen(about, [(" ".join(keys), what) for what, keys in rows.items()]))

    @property
    def _shape(self) -> str:
        return "narrow" if self.size.width and self.size.width < 96 else "wide"

    # the group

    def begin_syncing(self) -> None:
        """Ask the user where that was never done, then look from time to time whether a sync is due."""
        if self.setup.group is not None:
            self.session.sync(self._look_at_group)
            self.set_interval(SYNC_LOOK_SECONDS, partial(self.session.sync, self._sync))

    def _look_at_group(self) -> None:
        """Runs in the worker of syncs, as all that follows: the first call loads what syncing needs."""
        lines = tuple(self._joined_group().question())
        if lines:
            self.session.tell(ConsentWanted(lines))
        else:
            self._sync()

    def _joined_group(self) -> BackgroundSync:
        if self._group is None:
            assert self.setup.group is not None
            self._group = self.setup.group()
        return self._group

    def _sync(self) -> None:
        news = self._joined_group().sync_when_due()
        if news is not None:
            self.session.tell(Synced(news.text, news.important))

    def _answer_and_sync(self, agreed: bool) -> None:
        self._joined_group().answer(agreed=agreed)
        self._sync()

    @on(ConsentWanted)
    def _consent_wanted(self, message: ConsentWanted) -> None:
        from app.tui.consent_screen import ConsentScreen

        self.app.push_screen(ConsentScreen(message.lines), self._consent_given)

    def _consent_given(self, agreed: bool | None) -> None:
        if agreed is not None:
            self.session.sync(partial(self._answer_and_sync, agreed))

    @on(Synced)
    def _synced(self, message: Synced) -> None:
        self.query_one(StatusLine).show_group(message.text)
        if message.important:
            self.notify(message.text, title="group", markup=False)


def is_unfinished(old: ResultPage | None, page: ResultPage) -> bool:
    """Whether the last word of `old` was surely not finished.

    As a whole word it is then in far fewer documents, or so few hold all the words that others had to be added. The
    results for its beginning, which are on the screen, are worth more than those of `page`.
    """
    if old is None or page.request.as_you_type or not old.request.as_you_type:
        return False
    same = same_question(old.request, page.request) and old.request.order == page.request.order
    return same and (page.n_all_words * 2 < old.n_all_words or (page.relaxed and not old.relaxed and old.n_matches > 0))


def settle_memory() -> None:
    """Garbage is never looked for among what was made so far: modules, styles and widgets that stay to the end."""
    gc.freeze()
    gc.enable()


def stop_timer(timer: Timer | None) -> None:
    """Stop a timer that may never have been started."""
    if timer is not None:
        timer.stop()
