"""The search screen: passes what the user does to the session, and shows what comes back.

Only handlers change what is shown; nothing here waits, and no rule about ranking or learning lives here. A cursor
that the user has not moved stays on the first row.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from app.paths import SettingsError
from app.search.index_status import IndexStatus
from app.search.results import ORDERS, Facets, Hit, ResultPage
from app.tui import messages
from app.tui.background_indexing import ProgressLine
from app.tui.bars.facet_bar import FACETS, FacetBar
from app.tui.bars.query_input import QueryInput
from app.tui.bars.status_lines import ORDER_NAMES, HintLine, KeyLine, StatusLine
from app.tui.bars.welcome import Welcome
from app.tui.file_operations_dialog import FileOperations
from app.tui.group_syncing import GroupSyncing
from app.tui.keys import BY_ID, actions_of, actions_there, is_letter, keys_of, typed_action
from app.tui.opening_results import Opening
from app.tui.preview.side_pane import WIDE, SidePane
from app.tui.remembered_choices import Remembered
from app.tui.results_list import ResultsList
from app.tui.screen_setup import LEFT, Setup
from app.tui.search_as_you_type import Questions, same_list
from app.tui.session import Session
from app.tui.terminal.terminal_capabilities import without_late_answers
from console.printable import safe_line
from console.wording import count, short_path

if TYPE_CHECKING:
    from app.tui.panels.list_screens import Wish

LOOK_SECONDS = 3.0
"""time between two looks at the index for commits of other processes"""
OF_ROWS = frozenset({"open", "mark", "mark-back", "next", "previous"})
"""actions that refer to a row of the page"""
FRAMED = 30
"""lines from which on each pane has a whole frame"""
TALL = 36
"""lines from which on the examples stand above the recent files"""


@runtime_checkable
class ChoosesTheme(Protocol):
    """An application that can go back to the theme of the settings."""

    def forget_choices(self) -> None: ...


class SearchScreen(Screen[None]):
    """The one screen most people ever see."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 -- declared so by Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (FRAMED, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(a.keys, f"do('{a.id}')", a.title, show=False, id=a.id, tooltip=a.description)
        for a in actions_of("search")
        if a.id != "quit"  # the application's own, so that it works everywhere
    ]

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self.setup = setup
        self.settings = setup.settings
        self.without = setup.picking.without if setup.picking else frozenset[str]()
        """actions that do nothing here"""
        pictures = setup.settings.screen.pictures
        self.session = Session(setup.open_engine, self._deliver, pictures=pictures, terminal=setup.terminal)
        learning = setup.settings.learning
        self.results = ResultsList(id="results", now=setup.now)
        self.box = QueryInput(actions=self._keys_in_the_box(), move=self._move, id="query")
        self.hint = HintLine(take=self.box.set_text, id="hint")
        self.line = StatusLine(id="status", exploring=learning.exploration > 0, learning=learning.enabled)
        self.side = SidePane(setup, self.session, self.results, self.box, self.line, id="side")
        self.questions = Questions(setup, self.session, self.box, self.results, self.side, self.line, self.key_of)
        self.facets = FacetBar(self.questions.filters, id="facets")
        self.welcome = Welcome(id="welcome")
        self.found = Vertical(id="found")
        self.opening = Opening(self, setup, self.session, self.box.recall, self.results, self.side.preview, self.line)
        self.filing = FileOperations(self, self.session, self.results, self.line)
        self.syncing = GroupSyncing(self, self.session, self.line, setup.group)
        of_side = (messages.PreviewMade, messages.PageDrawn, messages.Explained)
        self._takers: dict[type[Message], Widget] = dict.fromkeys(of_side, self.side)
        self._takers |= {messages.SnippetsMade: self.results, messages.Learned: self.line}
        self._deeds = self._make_deeds()
        self.status: IndexStatus | None = None
        self.progress = ProgressLine("", -1, False)
        self._recent: ResultPage | None = None
        """what was opened and changed lately"""
        self._day = date.today()
        """the day on which what is shown was asked for"""
        self._leaving = False
        """whether Escape was pressed with nothing left to go back from"""
        self._held: list[Callable[[], object]] = []
        """the effects of a picker's keys that came before its rows"""

    def _make_deeds(self) -> dict[str, Callable[[], object]]:
        """What each action of the table does, except those of a focused part."""
        side, results, questions = self.side, self.results, self.questions
        filing, opening = self.filing, self.opening
        return {
            "open": self.open,
            "edit": partial(opening.begin, "editor"),
            "page": partial(opening.begin, "pager"),
            "folder": partial(opening.begin, "folder"),
            "copy": lambda: opening.copy_paths(filing.marked),
            "mark": partial(filing.mark, 1),
            "mark-back": partial(filing.mark, -1),
            "unmark": filing.unmark,
            "open-all": partial(filing.ask, "open", opening.begin_all),
            "copy-files": partial(filing.ask, "copy"),
            "move-files": partial(filing.ask, "move"),
            "trash": partial(filing.ask, "trash"),
            "next": partial(results.move, 1),
            "previous": partial(results.move, -1),
            "order": questions.next_order,
            "preview": side.turn_preview,
            "explain": side.turn_explanation,
            "facets": self._turn_facets,
            "refresh": questions.of_newest,
            "sizes": results.turn_sizes,
            "rows": lambda: results.show_rows(dense=not results.is_dense),
            "thread": questions.turn_thread,
            "like": questions.turn_like,
            "stats": self._show_stats,
            "folders": self._show_folders,
            "failures": self._show_failures,
            "review": lambda: self._show_review(self.box.value),
            "suggestion": questions.take_suggestion,
            "next-match": partial(side.preview.step_match, 1),
            "previous-match": partial(side.preview.step_match, -1),
            "text-down": partial(side.scroll_half, "down"),
            "text-up": partial(side.scroll_half, "up"),
            "source": side.turn_source,
            "pages": side.turn_pages,
            "wider": partial(side.widen, 1),
            "narrower": partial(side.widen, -1),
            "next-part": self.focus_next,
            "to-preview": side.focus_shown,
            "to-results": results.focus,
            "search": self.box.begin_anew,
            "palette": lambda: self.app.action_command_palette(),
            "forget-screen": self._forget_screen,
            "leader": self._show_leader,
            "help": self._show_help,
            "back": self._go_back,
        }

    def action_do(self, action: str) -> None:
        """Do the action of this id, unless it is switched off here."""
        if action not in self.without and not self._is_held(partial(self.action_do, action), action):
            self._deeds[action]()

    def _is_held(self, deed: Callable[[], object], action: str) -> bool:
        """Whether a picker's key that refers to a row was kept until the rows for what is typed are there."""
        page, text = self.session.page, self.box.value
        is_there = not text.strip() or (page is not None and page.request.text.split() == text.split())
        if self.setup.picking is None or is_there or action not in OF_ROWS:
            return False
        self._held.append(deed)
        return True

    def _move(self, rows: int) -> None:
        """Move so many results on, from the search box."""
        if not self._is_held(partial(self._move, rows), "next"):
            self.results.move(rows)

    def _deliver(self, message: Message) -> None:
        """Called in workers: what was made for one part goes to it, the rest to the screen."""
        self._takers.get(type(message), self).post_message(message)

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Static("❯", id="prompt")
            yield self.box
        yield self.hint
        yield self.facets
        with Container(id="body"):
            with self.found:
                yield self.welcome
                yield self.results
            yield self.side
        yield self.line
        opens = "Choose" if self.setup.picking else ""
        yield KeyLine(self.setup.keymap, self.shown_key, without=self.without, opens=opens)

    def on_mount(self) -> None:
        self.welcome.show_start(None, self.progress)
        self.line.show_index(None)
        self.results.show_rows(dense=self.setup.remembered.dense)
        self.query_one("#top").border_title = "Search"
        self.side.lay_out(explain=False)
        self.box.focus()
        self.app.app_resume_signal.subscribe(self, lambda _: self.side.terminal_was_lent())
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """After the first frame: open the index, ask for folders where there are none, read the past queries."""
        settle_memory()
        self.session.start()
        self.session.run(lambda: self.session.tell(messages.HistoryRead(tuple(self.setup.history.queries()))))
        if self.setup.terminal.typed:
            self.box.set_text(self.setup.terminal.typed)
        if any(self.questions.filters.values()) and not self.setup.folder:
            self.line.say(f"only {self.questions.narrowing}, as last time")
        for problem in self.setup.problems:
            self.notify(problem, severity="warning", timeout=10, markup=False)
        if self.setup.picking is not None:
            self.box.set_text(self.setup.picking.query)
        elif self.setup.indexing.has_index() or self.setup.folder:
            self.start_indexing((self.setup.folder,) if self.setup.folder else ())
        else:
            self._ask_for_folders()
        self.set_interval(LOOK_SECONDS, self._look_again)
        self.syncing.begin()

    def to_remember(self) -> Remembered:
        """Panes, rows and filters as they are, without a folder that was named at the start or cannot be stored."""
        setting = self.settings.screen.preview
        shown = self.side.wanted["wide"]
        filters = {facet: value for facet, value in self.questions.filters.items() if value}
        folder = filters.get("folder", "")
        if self.setup.folder or folder.encode(errors="ignore").decode() != folder:  # JSON holds only names in UTF-8
            filters.pop("folder", None)
        return Remembered(
            preview=None if shown == setting else shown,
            preview_over=setting if shown != setting else True,
            preview_below=self.side.wanted["narrow"],
            share=self.side.share,
            dense=self.results.is_dense,
            filters=filters,
        )

    def _forget_screen(self) -> None:
        """Theme, panes, rows, order and filters as the settings say, now and at the next start."""
        self.questions.filters.update(dict.fromkeys(FACETS, ""), folder=self.setup.folder)
        if isinstance(self.app, ChoosesTheme):
            self.app.forget_choices()
        self.side.forget()
        self.results.show_rows(dense=False)
        self.questions.order_by("learned")
        self.line.say("theme, panes, order and filters are as in the settings again")

    def start_indexing(self, folders: Sequence[str], *, retry_failures: bool = False) -> None:
        """Index in the background, started in a worker, as starting takes a moment as well."""

        def report(line: ProgressLine) -> None:
            self.session.tell(messages.Progressed(line))

        self.session.run(partial(self.setup.indexing.start, folders, report, retry_failures=retry_failures))

    def _ask_for_folders(self) -> None:
        from app.tui.panels.first_start import FirstStart  # loaded late, like all screens that are seldom seen

        indexing = self.setup.indexing
        self.app.push_screen(
            FirstStart(indexing.suggest, adding=indexing.has_index()),
            lambda folders: self.start_indexing(folders) if folders else None,
        )

    def on_resize(self) -> None:
        self.side.lay_out()

    # asking

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.questions.stop_waiting()
        self._held.clear()  # they meant rows of another text
        if self.setup.terminal.is_late and (text := without_late_answers(event.value)) != event.value:
            event.input.value = text
        elif event.value.strip():
            self.questions.while_typing()
        else:
            self.clear()

    @on(Input.Submitted, "#query")
    def _entered(self) -> None:
        """Enter opens what is shown for what is typed; when that is not there yet, it asks at once."""
        page = self.session.page
        text = self.box.value
        if self._is_held(self._entered, "open"):
            return
        if page is not None and page.request.text.split() == text.split():
            if text.strip() or self.results.moved:  # Enter in an empty box opens nothing by mistake
                self.open()
        elif text.strip():
            self.questions.stop_waiting()
            self.questions.ask()

    def key_of(self, action: str) -> str:
        """The first key of an action, as it is shown; "" when the user took all of them away."""
        keys = keys_of(BY_ID[action], self.setup.keymap)
        return self.shown_key(keys[0]) if keys else ""

    def shown_key(self, key: str) -> str:
        """A key as people write it."""
        return self.app.get_key_display(Binding(key, ""))

    def _keys_in_the_box(self) -> dict[str, str]:
        """The screen's actions by key, for keys that type nothing; the box itself handles Enter."""
        return {
            key: typed_action(action.id)
            for action in actions_of("search")
            for key in keys_of(action, self.setup.keymap)
            if action.id not in ("open", "quit") and not is_letter(key)
        }

    def clear(self) -> None:
        """Nothing is asked: show how to begin."""
        self.session.forget_question()
        self.session.shown(None)
        self._show_page(None)
        self.hint.show_page(None, key="", width=0)
        self.facets.show_facets(Facets())
        self.show_start()

    def show_welcome(self) -> None:
        """What is said above the recent files, or alone where there are none."""
        recent = self._recent is not None and bool(self._recent.hits)
        self.welcome.show_start(
            self.status,
            self.progress,
            searches=self.box.recall.newest[:5],
            recent=recent,
            brief=self.size.height < TALL,
            key=self.key_of("folders"),
        )

    def show_start(self) -> None:
        self.show_welcome()
        keys = (self.key_of(action) for action in ("leader", "failures"))
        self.line.show_index(self.status, key=" ".join(keys))
        recent = self._recent if self._recent and self._recent.hits else None
        if self.results.page is not recent:
            self.session.shown(recent)
            self._show_page(recent, keep=self.results.selected if self.results.moved else None)
        self.show_found(recent is not None, recent=recent is not None)

    def _show_page(
        self, page: ResultPage | None, *, keep: Hit | None = None, rows: messages.SnippetsMade | None = None
    ) -> None:
        """Show a page, and the heading over its preview in the same frame."""
        self.results.show_page(page, keep=keep, rows=rows)
        self._selected()

    @on(messages.LikeFound)
    def _like_found(self, message: messages.LikeFound) -> None:
        if self.box.value == message.typed:  # else the user went on typing and wants something else
            self.questions.turn_to(message.query, otherwise="no other document has any of its words")

    @on(messages.RecentRead)
    def _recent_read(self, message: messages.RecentRead) -> None:
        self._recent = message.page
        if not self.box.value.strip():
            self.show_start()

    def show_found(self, found: bool, *, recent: bool = False) -> None:
        self.results.display = found
        self.welcome.display = not found or recent
        self.welcome.set_class(recent, "-recent")
        self.side.show_beside(found)

    @on(messages.HistoryRead)
    def _history_read(self, message: messages.HistoryRead) -> None:
        self.box.recall.fill(message.queries)

    # what the workers answer

    @on(messages.EngineReady)
    def _ready(self, message: messages.EngineReady) -> None:
        settle_memory()
        self.status = message.status
        self.session.want_recent()
        if self.setup.review:
            self._show_review(self.setup.review)
        if message.unkept:
            self.line.show_unkept()
            self.notify(message.unkept, severity="warning", timeout=10, markup=False)
        if self.box.value.strip():
            self.questions.ask(as_you_type=True)
        else:
            self.show_start()

    @on(messages.Answered)
    def _answered(self, message: messages.Answered) -> None:
        page, old = message.page, self.session.page
        if not self.questions.is_wanted(message):
            return
        again = old is not None and same_list(old, page)
        keep = self.results.selected if again and self.results.moved else None
        self.session.shown(page)
        self._show_page(page, keep=keep, rows=message.rows)
        narrowed = self.questions.narrowing
        self.line.show_page(page, narrowed=narrowed)
        self.questions.shown(page)
        width = max(20, self.size.width - 4)
        self.hint.show_page(page, key=self.key_of("suggestion"), width=width)
        self.facets.show_facets(page.facets)
        if not page.hits:
            self.welcome.show_nothing(page, narrowed=narrowed, indexing=self.progress.busy, key=self.key_of("folders"))
        self.show_found(bool(page.hits))
        held, self._held = self._held, []
        for deed in held:
            deed()

    @on(messages.RowsShown)
    def _rows_shown(self, message: messages.RowsShown) -> None:
        self.session.want_snippets(message.page, message.rows, message.width)

    @on(messages.HitSelected)
    def _selected(self) -> None:
        """Follow the selection as it is now: another page may have come meanwhile."""
        self.found.border_title = title_of_page(self.results.page, self.results.cursor)
        self.side.expect(self.results.selected)

    @on(messages.Failed)
    def _failed(self, message: messages.Failed) -> None:
        if self.status is None and message.what == "search":
            self.welcome.show_trouble(message.error)
            self.line.say("the index cannot be searched")
        else:
            self.notify(message.error, title=f"{message.what} failed", severity="error", markup=False)
        if message.what == "preview":  # the text that is shown is another document's
            self.side.preview.expect(None)
            self.side.preview.expect(self.results.selected)

    # the index

    @on(messages.Progressed)
    def _progressed(self, message: messages.Progressed) -> None:
        self.line.show_doing(message.line.text, busy=message.line.busy)
        before, self.progress = self.progress, message.line
        if message.line.generation != before.generation:
            self.session.look_again()
        if self.welcome.display and not self.box.value.strip():
            self.show_welcome()

    def _look_again(self) -> None:
        """Look for a newer commit and a new day: rows and facets say what is from today."""
        self.session.look_again()
        if self._day != (today := date.today()):
            self._day = today
            self.results.draw_anew()
            self.session.want_recent()
            if self.box.value.strip() and not self.questions.is_reading:
                self.questions.again(unbidden=True)

    @on(messages.IndexChanged)
    def _index_changed(self, message: messages.IndexChanged) -> None:
        self.status = message.status
        self.session.want_recent()
        if not self.box.value.strip():
            self.show_start()
        elif self.questions.is_reading:
            self.questions.offer_newer()
        else:
            self.questions.again(unbidden=True)

    # moving about

    @on(messages.FacetChosen)
    def _facet_chosen(self, message: messages.FacetChosen) -> None:
        self.facets.narrow(message.facet, message.value)
        self.questions.again()

    def _show_leader(self) -> None:
        from app.tui.panels.action_lists import LeaderPanel

        self.app.push_screen(LeaderPanel(self.setup.keymap, without=self.without), self._after_leader)

    async def _after_leader(self, action: str | None) -> None:
        """Do what was chosen: an action of the results, or one of the whole screen."""
        if action and BY_ID[action].scope == "list":
            self.results.action_go(action)
        elif action:
            await self.app.run_action(typed_action(action), self)

    # the selected result

    @on(messages.HitChosen)
    def open(self) -> None:
        """Open the selected result; a picker takes it, or those that are marked, and ends."""
        if self.setup.picking is None:
            self.opening.begin(self.settings.open.enter)
        else:
            self.app.exit(self.opening.choose(self.setup.picking, self.filing.marked))

    @on(messages.FilesFiled)
    def _files_filed(self, message: messages.FilesFiled) -> None:
        self.filing.take(message)
        self.questions.of_newest()

    @on(messages.Copied)
    @on(messages.HandedOver)
    @on(messages.TerminalWanted)
    @on(messages.NotOpened)
    def _opened(self, message: messages.Handled) -> None:
        self.opening.take(message)

    # the screen itself

    def _turn_facets(self) -> None:
        """Show the filters and go there; from there, hide them."""
        self.facets.display = not (self.facets.display and self.facets.has_focus)
        (self.facets if self.facets.display else self.box).focus()

    def _go_back(self) -> None:
        """One step back: to the search box, then an empty box, then no filters; twice in an empty box leaves."""
        if not self.box.has_focus:
            self.box.focus()
        elif self.setup.picking is not None:
            self.app.exit(LEFT)
        elif self.box.value:
            self.box.recall.add(self.box.value.strip())
            self.box.value = ""
        elif any(self.questions.filters.values()):
            for facet in FACETS:
                self.facets.narrow(facet, "")
            self.line.say("filters removed")
        elif self.box.pressed_again and self._leaving:
            self.app.exit(0)
        else:
            self._leaving = True
            self.line.say(f"{self.key_of('back')} again leaves")
            return
        self._leaving = False

    def _show_stats(self) -> None:
        from app.tui.panels.stats_screen import StatsScreen

        read = self.setup.read_stats
        self.app.push_screen(StatsScreen(lambda: (*read(), *self.session.pending_outcomes())))

    def _show_folders(self) -> None:
        from app.tui.panels.list_screens import FoldersScreen

        self.app.push_screen(FoldersScreen(self.setup.indexing.folders), self._after_list)

    def _show_failures(self) -> None:
        from app.tui.panels.list_screens import FailuresScreen

        self.app.push_screen(FailuresScreen(self.session.failures), self._after_list)

    def _after_list(self, wish: Wish | None) -> None:
        """Do what was wished for on a list of places or of failures."""
        match wish:
            case "add", _:
                self._ask_for_folders()
            case "narrow", folder:
                self.post_message(messages.FacetChosen("folder", folder))
            case "remove", folder:
                try:
                    name, is_out = short_path(folder), self.setup.indexing.forget(folder)
                except (OSError, SettingsError) as error:  # a full disk, say
                    self.notify(safe_line(str(error)), title="Not taken out", severity="error", markup=False)
                    return
                stays = f"{name} is in the settings: take it out of index.roots there"
                self.line.say(f"no longer searched: {name}" if is_out else stays)
                if is_out:
                    self.start_indexing(())
            case "retry", _:
                self.line.say("reading again what could not be read")
                self.start_indexing((), retry_failures=True)
            case "folder", path:
                self.session.run(partial(self.opening.show_folder, path))

    def _show_review(self, which: str | int) -> None:
        from app.tui.review_screen import ReviewScreen

        if self.status is None or (isinstance(which, str) and not which.strip()):
            self.line.say("type what to review first" if self.status else "the index is not open yet")
            return
        leave = (lambda _: self.app.exit(0)) if self.setup.review else None
        self.app.push_screen(ReviewScreen(self.setup, self.session, which), leave)

    def _show_help(self) -> None:
        """Help for the part that has the focus, with the keys as they are now and that work there."""
        from app.tui.panels.action_lists import HelpScreen

        focused = self.focused
        parts = {self.results: "list", self.facets: "filter", self.side.preview.body: "preview"}
        scope = next((scope for part, scope in parts.items() if part is focused), "search")
        rows = [
            (" ".join(map(self.shown_key, keys)), action.description)
            for action, keys in actions_there(scope, self.setup.keymap, typing=isinstance(focused, Input))
            if action.id not in self.without
        ]
        self.app.push_screen(HelpScreen(focused.HELP if focused is not None and focused.HELP else "", rows))

    # the group

    @on(messages.ConsentWanted)
    @on(messages.Synced)
    def _heard_of_group(self, message: messages.ConsentWanted | messages.Synced) -> None:
        self.syncing.take(message)


def title_of_page(page: ResultPage | None, cursor: int) -> Content:
    """Which of how many results is selected, and the order if it is not the usual one."""
    if page is None or not page.hits:
        return Content("")
    if not page.request.text.strip():
        return Content("Lately")
    place = f"Results {count(cursor + 1)} of {count(len(page.hits))}"
    if page.request.order == ORDERS[0]:
        return Content(place)
    return Content.assemble(f"{place} · ", (ORDER_NAMES[page.request.order], "bold $warning"))


def settle_memory() -> None:
    """Exempt all that exists from garbage collection: modules, styles and widgets that stay to the end."""
    gc.freeze()
    gc.enable()
