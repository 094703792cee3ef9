"""The search screen: hands what the user does to the session, and shows what comes back.

Handlers alone change what is shown; nothing here waits, and no rule about ranking or learning lives here.

While the hand is typing, the last word may go on; when it rests, it is a whole word. A cursor that the user has not
moved stays on the first row, and a page that is being read is never exchanged without a key press.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Protocol, runtime_checkable

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from app.search.results import ORDERS, Facets, Hit, IndexStatus, ResultPage, SearchRequest
from app.tui.explain_pane import ExplainPane
from app.tui.facet_bar import FACETS, FacetBar
from app.tui.filing_away import DONE, FilingAway, report
from app.tui.group_syncing import GroupSyncing
from app.tui.hint_line import HintLine
from app.tui.key_line import KeyLine
from app.tui.keys import BY_ID, actions_of, is_letter, keys_of
from app.tui.messages import (
    Answered,
    ConsentWanted,
    Copied,
    EngineReady,
    Explained,
    FacetChosen,
    Failed,
    FilesFiled,
    HandedOver,
    HistoryAsked,
    HistoryRead,
    HitChosen,
    HitSelected,
    IndexChanged,
    Learned,
    Moved,
    NotOpened,
    PageDrawn,
    PagesInView,
    PreviewMade,
    PreviewResized,
    Progressed,
    RecentRead,
    RowsShown,
    SnippetsMade,
    SuggestionTaken,
    Synced,
    TerminalWanted,
)
from app.tui.opening import Opening
from app.tui.palette import SearchCommands
from app.tui.parts import ProgressLine, Setup
from app.tui.picking import LEFT
from app.tui.preview import PreviewBody, PreviewPane
from app.tui.query_input import QueryInput, Recall
from app.tui.remembered import Remembered
from app.tui.results_list import ResultsList
from app.tui.session import Session, same_question
from app.tui.side_pane import WIDE, SidePane
from app.tui.status_line import ORDER_NAMES, StatusLine
from app.tui.terminal_traits import without_late_answers
from app.tui.welcome import Welcome
from console.wording import short_path

IDLE_SECONDS = 0.7
"""rest after which the last word is taken as finished"""
LOOK_SECONDS = 3.0
"""time between two looks at the index for commits of other processes"""
TALL = 36
"""lines from which on the examples stand above the recent files"""


@runtime_checkable
class ChoosesTheme(Protocol):
    """An application that can go back to the theme of the settings."""

    def forget_choices(self) -> None: ...


class SearchScreen(Screen[None]):
    """The one screen most people ever see."""

    COMMANDS: ClassVar = {SearchCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 -- declared so by Textual
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(a.keys, a.id.replace("-", "_"), a.title, show=False, id=a.id, tooltip=a.description)
        for a in actions_of("search")
        if a.id != "quit"  # the application's own, so that it works everywhere
    ]

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self.setup = setup
        self.settings = setup.settings
        self.session = Session(
            setup.open_engine,
            self.post_message,
            pictures=setup.settings.screen.pictures,
            terminal=setup.terminal.name,
        )
        self.recall = Recall()
        self.opening = Opening(self, setup, self.session, self.recall)
        self.filing = FilingAway(self, self.session)
        self.side = SidePane(self, setup, self.session)
        self.syncing = GroupSyncing(self, self.session, setup.group)
        before = setup.remembered
        kept = before.filters if setup.picking is None else {}
        self.filters = {facet: kept.get(facet, "") for facet in FACETS}
        """what the results are narrowed to, by facet"""
        self.filters["folder"] = setup.folder or self.filters["folder"]
        self.order = before.order if before.order in ORDERS and setup.picking is None else "learned"
        self.status: IndexStatus | None = None
        self.progress = ProgressLine("", -1, False)
        self._typing: Timer | None = None
        self._last_key = 0.0
        self._unbidden = 0
        """the newest question that no key press asked"""
        self._offered = False
        """whether the status line says that there are newer results"""
        self.without = setup.picking.without if setup.picking else frozenset[str]()
        """actions that do nothing here"""
        self._recent: ResultPage | None = None
        """what was opened and changed lately"""
        self._leaving = False
        """Escape was pressed where there was nothing to go back from"""
        self._as_typed = ""
        """the text whose correction the user does not want"""
        self._thread_shown = ("", "")
        """the query that showed a thread, and the one before it"""

    def compose(self) -> ComposeResult:
        self.side.take_place()
        with Horizontal(id="top"):
            yield Static("❯", id="prompt")
            yield QueryInput(actions=self._keys_in_the_box(), id="query")
        yield HintLine(id="hint")
        yield FacetBar(self.filters, id="facets")
        with Container(id="body"):
            with Vertical(id="found"):
                yield Welcome(id="welcome")
                yield ResultsList(id="results", now=self.setup.now)
            with Vertical(id="side"):
                yield PreviewPane(id="preview")
                yield ExplainPane(id="explain")
        learning = self.setup.settings.learning
        yield StatusLine(id="status", exploring=learning.exploration > 0, learning=learning.enabled)
        yield KeyLine(self.setup.keymap, self.shown_key, without=self.without)

    def on_mount(self) -> None:
        if self.setup.picking is not None:
            self.query_one(KeyLine).rename("open", "Choose")
        self.query_one(Welcome).show_start(None, self.progress)
        self.query_one(StatusLine).show_index(None)
        self.side.lay_out(explain=False)
        self.query_one(QueryInput).focus()
        self.app.app_resume_signal.subscribe(self, lambda _: self.side.terminal_was_lent())
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """After the first frame: open the index, ask for folders where there are none, read the past queries."""
        settle_memory()
        self.session.start()
        self.session.run(self._read_history)
        if self.setup.terminal.typed:
            self.set_query(self.setup.terminal.typed)
        if any(self.filters.values()) and not self.setup.folder:
            self.query_one(StatusLine).say(f"only {self.narrowing()}, as last time")
        for problem in self.setup.problems:
            self.notify(problem, severity="warning", timeout=10, markup=False)
        if self.setup.picking is not None:
            self.set_query(self.setup.picking.query)
        elif self.setup.indexing.has_index() or self.setup.folder:
            self.start_indexing((self.setup.folder,) if self.setup.folder else ())
        else:
            from app.tui.first_start import FirstStart  # as all screens that are seldom seen

            self.app.push_screen(FirstStart(self.setup.indexing.suggest), self._folders_chosen)
        self.set_interval(LOOK_SECONDS, self.session.look_again)
        self.syncing.begin()

    def to_remember(self) -> Remembered:
        """Panes, order and filters as they are; a folder that was named at the start is not one of them."""
        setting = self.settings.screen.preview
        shown = self.side.wanted["wide"]
        filters = {facet: value for facet, value in self.filters.items() if value}
        if self.setup.folder:
            filters.pop("folder", None)
        return Remembered(
            preview=None if shown == setting else shown,
            preview_over=setting if shown != setting else True,
            preview_below=self.side.wanted["narrow"],
            share=self.side.share,
            order=self.order,
            filters=filters,
        )

    def action_forget_screen(self) -> None:
        """Theme, panes, order and filters as the settings say, now and at the next start."""
        self.filters.update(dict.fromkeys(FACETS, ""), folder=self.setup.folder)
        if isinstance(self.app, ChoosesTheme):
            self.app.forget_choices()
        self.side.forget()
        self.action_order_by("learned")
        self.query_one(StatusLine).say("theme, panes, order and filters are those of the settings")

    def start_indexing(self, folders: Sequence[str], *, retry_failures: bool = False) -> None:
        """Index in the background, in a worker, for starting takes a moment as well."""
        begin = partial(self.setup.indexing.start, folders, self._report_progress, retry_failures=retry_failures)
        self.session.run(begin)

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
        self.side.lay_out()

    # asking

    def set_query(self, text: str) -> None:
        """Put a text in the search box, as if it had been typed."""
        box = self.query_one(QueryInput)
        box.value = text
        box.cursor_position = len(text)
        box.focus()

    def narrowing(self) -> str:
        """What the results are narrowed to, in words."""
        parts = [self.filters["type"], short_path(self.filters["folder"]), self.filters["time"]]
        return ", ".join(part for part in parts if part)

    def narrow(self, facet: str, value: str) -> None:
        """Narrow to a facet's value, or with "" no longer."""
        self.query_one(FacetBar).narrow(facet, value)
        self.ask_again()

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        """The first key after a pause asks at once; those that follow quickly wait until the hand rests."""
        stop_timer(self._typing)
        if self.setup.terminal.is_late and (text := without_late_answers(event.value)) != event.value:
            event.input.value = text
            return
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
            if text.strip() or self.query_one(ResultsList).moved:  # Enter in an empty box opens nothing by mistake
                self.action_open()
        elif text.strip():
            stop_timer(self._typing)
            self.ask()

    def _ask_while_typing(self) -> None:
        self.ask(as_you_type=True)
        self._typing = self.set_timer(IDLE_SECONDS, self._ask_when_idle)

    def _ask_when_idle(self) -> None:
        """The last word is finished now; but a page that is being read stays as it is."""
        page, box = self.session.page, self.query_one(QueryInput)
        if not box.browsing_history and box.value.strip():
            self.recall.rested_on(box.value.strip())
        if page is not None and page.request.as_you_type and not self.is_reading:
            self.ask(unbidden=True)

    def ask(self, *, as_you_type: bool = False, unbidden: bool = False) -> None:
        """Ask for what is typed, narrowed and ordered as chosen; `unbidden`: the user has not asked for this."""
        text = self.query_one(QueryInput).value
        if text.strip():
            narrowed, results = self.filters, self.query_one(ResultsList)
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
                n_rows=results.rows_in_view + 1,
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
        return self.shown_key(keys[0]) if keys else ""

    def shown_key(self, key: str) -> str:
        """A key as people write it."""
        return self.app.get_key_display(Binding(key, ""))

    def _keys_in_the_box(self) -> dict[str, str]:
        """The screen's actions by key, of those that type nothing; the box itself makes sense of Enter."""
        return {
            key: action.id.replace("-", "_")
            for action in actions_of("search")
            for key in keys_of(action, self.setup.keymap)
            if action.id not in ("open", "quit") and not is_letter(key)
        }

    def clear(self) -> None:
        """Nothing is asked: show how to begin."""
        self.session.forget_question()
        self.session.shown(None)
        self._show_page(None)
        self.query_one(HintLine).show_page(None, key="", width=0)
        self.query_one(FacetBar).show_facets(Facets())
        self.show_start()

    @property
    def is_reading(self) -> bool:
        """The user is past typing: moved the cursor, scrolled the list or the preview, or went to another part."""
        lists = self.query_one(ResultsList).is_read or self.query_one(PreviewBody).moved
        return lists or not self.query_one(QueryInput).has_focus

    def show_welcome(self) -> None:
        """What is said above the recent files, or alone where there are none."""
        recent = self._recent is not None and bool(self._recent.hits)
        self.query_one(Welcome).show_start(
            self.status, self.progress, searches=self.recall.newest[:5], recent=recent, brief=self.size.height < TALL
        )

    def show_start(self) -> None:
        self.show_welcome()
        keys = (self.key_of(action) for action in ("leader", "failures"))
        self.query_one(StatusLine).show_index(self.status, key=" ".join(keys))
        recent = self._recent
        if recent is None or not recent.hits:
            self.show_found(False)
            return
        results = self.query_one(ResultsList)
        if results.page is not recent:
            self.session.shown(recent)
            self._show_page(recent, keep=results.selected if results.moved else None)
        self.show_found(True, recent=True)

    def _show_page(self, page: ResultPage | None, *, keep: Hit | None = None, rows: SnippetsMade | None = None) -> None:
        """Show a page, and what stands over its preview in the same frame."""
        results = self.query_one(ResultsList)
        results.show_page(page, keep=keep, rows=rows)
        self.side.expect(results.selected)

    @on(RecentRead)
    def _recent_read(self, message: RecentRead) -> None:
        self._recent = message.page
        if not self.query_one(QueryInput).value.strip():
            self.show_start()

    def show_found(self, found: bool, *, recent: bool = False) -> None:
        self.query_one(ResultsList).display = found
        self.query_one(Welcome).display = not found or recent
        self.set_class(found, "-found")
        self.set_class(recent, "-recent")

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
        self.session.want_recent()
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
        self._show_page(page, keep=keep, rows=message.rows)
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
    def _selected(self) -> None:
        """Another page may have come while this was on its way."""
        self.side.expect(self.query_one(ResultsList).selected)

    @on(PreviewResized)
    def _preview_resized(self) -> None:
        self.side.read()

    @on(PreviewMade)
    def _preview_made(self, message: PreviewMade) -> None:
        self.side.show(message)

    @on(PagesInView)
    def _pages_in_view(self, message: PagesInView) -> None:
        self.side.want_pages(message)

    @on(PageDrawn)
    def _page_drawn(self, message: PageDrawn) -> None:
        self.side.add_page(message)

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
        self.query_one(StatusLine).show_doing(message.line.text, busy=message.line.busy)
        before, self.progress = self.progress, message.line
        if message.line.generation != before.generation:
            self.session.look_again()
        if self.query_one(Welcome).display and not self.query_one(QueryInput).value.strip():
            self.show_welcome()

    @on(IndexChanged)
    def _index_changed(self, message: IndexChanged) -> None:
        self.status = message.status
        self.session.want_recent()
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

    def action_next(self) -> None:
        self.query_one(ResultsList).move(1)

    def action_previous(self) -> None:
        self.query_one(ResultsList).move(-1)

    def action_mark(self) -> None:
        self._mark(1)

    def action_mark_back(self) -> None:
        self._mark(-1)

    def action_unmark(self) -> None:
        self.query_one(ResultsList).clear_marks()
        self._show_marks()

    def _mark(self, step: int) -> None:
        """Turn the mark of the selected result, and go so many rows on."""
        if "mark" in self.without:
            return
        results = self.query_one(ResultsList)
        results.turn_mark()
        results.move(step)
        self._show_marks()

    def _show_marks(self) -> None:
        self.query_one(StatusLine).show_marked(len(self.query_one(ResultsList).marks))

    def action_leader(self) -> None:
        from app.tui.leader_panel import LeaderPanel

        self.app.push_screen(LeaderPanel(self.setup.keymap, without=self.without), self._after_leader)

    async def _after_leader(self, action: str | None) -> None:
        """Do what was chosen: an action of the results, or one of the whole screen."""
        if not action:
            return
        name = action.replace("-", "_")
        if BY_ID[action].scope == "list":
            await self.app.run_action(name, self.query_one(ResultsList))
        else:
            await self.run_action(f"app.{name}" if action == "quit" else name)

    def action_palette(self) -> None:
        self.app.action_command_palette()

    def action_next_part(self) -> None:
        """The next part that is shown and can have the focus, as Tab does in forms."""
        self.focus_next()

    def action_to_preview(self) -> None:
        self.side.focus()

    def action_to_results(self) -> None:
        self.query_one(ResultsList).focus()

    # the selected result

    def action_open(self) -> None:
        """Open the selected result; a picker takes it, or those that are marked, and ends."""
        if self.setup.picking is None:
            self.opening.begin(self.settings.open.enter)
        else:
            self.app.exit(self.opening.choose(self.setup.picking, self.filing.marked))

    def action_edit(self) -> None:
        self.opening.begin("editor")

    def action_page(self) -> None:
        self.opening.begin("pager")

    def action_folder(self) -> None:
        self.opening.begin("folder")

    def action_copy(self) -> None:
        self.opening.copy_paths(self.filing.marked)

    def action_open_all(self) -> None:
        self.filing.ask("open", lambda _: self.opening.begin_all(self.settings.open.enter, self.filing.marked))

    def action_copy_files(self) -> None:
        self.filing.ask("copy")

    def action_move_files(self) -> None:
        self.filing.ask("move")

    def action_trash(self) -> None:
        self.filing.ask("trash")

    @on(FilesFiled)
    def _files_filed(self, message: FilesFiled) -> None:
        """Say what was done and what was not, and ask anew: some rows may be gone or elsewhere now."""
        done, refused = report(message.what, message.filed, message.folder)
        self.query_one(StatusLine).say(done)
        if refused:
            title = f"Not {DONE[message.what]}"
            self.notify(refused, title=title, severity="error", timeout=15, markup=False)
        self.query_one(ResultsList).clear_marks(but={one.path for one in message.filed if one.error})
        self._show_marks()
        self.action_refresh()

    @on(HitChosen)
    def _chosen(self) -> None:
        self.action_open()

    @on(Copied)
    def _copied(self, message: Copied) -> None:
        self.opening.copied(message)

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
        self.side.turn_preview()

    def action_explain(self) -> None:
        self.side.turn_explanation()

    def action_wider(self) -> None:
        self.side.widen(1)

    def action_narrower(self) -> None:
        self.side.widen(-1)

    def action_source(self) -> None:
        self.side.turn_source()

    def action_pages(self) -> None:
        self.side.turn_pages()

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

    def action_text_down(self) -> None:
        self._scroll_preview(1)

    def action_text_up(self) -> None:
        self._scroll_preview(-1)

    def _scroll_preview(self, direction: int) -> None:
        body = self.query_one(PreviewBody)
        body.scroll_relative(y=direction * max(1, body.size.height // 2), animate=False)

    def action_search(self) -> None:
        """Go to the search box, whose text the next letter replaces; Up in the empty box brings it back."""
        box = self.query_one(QueryInput)
        box.focus()
        box.action_select_all()

    def action_back(self) -> None:
        """One step back: to the search box, then an empty box, then no filters; twice in an empty box leaves."""
        box = self.query_one(QueryInput)
        if not box.has_focus:
            box.focus()
        elif self.setup.picking is not None:
            self.app.exit(LEFT)
        elif box.value:
            self.recall.add(box.value.strip())
            box.value = ""
        elif any(self.filters.values()):
            for facet in FACETS:
                self.query_one(FacetBar).narrow(facet, "")
            self.query_one(StatusLine).say("filters taken away")
        elif box.pressed_again and self._leaving:
            self.app.exit(0)
        else:
            self._leaving = True
            self.query_one(StatusLine).say(f"{self.key_of('back')} again leaves")
            return
        self._leaving = False

    def action_stats(self) -> None:
        from app.tui.stats_screen import StatsScreen

        read = self.setup.read_stats
        self.app.push_screen(StatsScreen(lambda: (*read(), *self.session.pending_outcomes())))

    def action_failures(self) -> None:
        from app.tui.failures_screen import FailuresScreen

        self.app.push_screen(FailuresScreen(self.session.failures), self._after_failures)

    def _after_failures(self, chosen: str | None) -> None:
        if chosen == "*":
            self.query_one(StatusLine).say("reading again what could not be read")
            self.start_indexing((), retry_failures=True)
        elif chosen:
            self.opening.show_folder(chosen)

    def action_help(self) -> None:
        """Help for the part that has the focus, with the keys as they are now and that work there."""
        from app.tui.help_screen import HelpScreen

        focused, typing = self.focused, isinstance(self.focused, Input)
        scope = "list" if isinstance(focused, ResultsList) else "filter" if isinstance(focused, FacetBar) else "search"
        scope = "preview" if isinstance(focused, PreviewBody) else scope
        rows = []
        for action in (*(actions_of(scope) if scope != "search" else ()), *actions_of("search")):
            keys = [key for key in keys_of(action, self.setup.keymap) if not (typing and is_letter(key))]
            if keys and action.id not in self.without:
                rows.append((" ".join(self.shown_key(key) for key in keys), action.description))
        self.app.push_screen(HelpScreen(focused.HELP if focused is not None and focused.HELP else "", rows))

    # the group

    @on(ConsentWanted)
    def _consent_wanted(self, message: ConsentWanted) -> None:
        self.syncing.ask(message)

    @on(Synced)
    def _synced(self, message: Synced) -> None:
        self.syncing.synced(message)


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
