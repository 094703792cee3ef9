"""Opening a result in the user's own program, in a worker; for one that needs the terminal the screen steps aside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event

from textual.app import SuspendNotSupported
from textual.message import Message
from textual.screen import Screen

from app.document_to_open import Place, Prepared, prepare
from app.external_programs import How, OpenError, plan
from app.search.results import Hit, ResultPage, title_of
from app.settings import Settings
from app.tui.bars.query_input import Recall
from app.tui.bars.status_lines import StatusLine
from app.tui.messages import Copied, Failed, HandedOver, Handled, NotOpened, TerminalWanted
from app.tui.preview.preview_pane import PreviewPane
from app.tui.results_list import Marked, ResultsList
from app.tui.screen_setup import CHOSEN, NOTHING, Picking, Setup
from app.tui.session import Session
from console.printable import display_path, safe_line


def hand_over(
    hit: Hit, how: How, *, place: Place, settings: Settings, data_dir: Path, text_of: Callable[[Hit], str],
    here: Callable[[Hit, How], tuple[Hit, How]] = lambda hit, how: (hit, how),
) -> Message:  # fmt: skip
    """Start the program for a hit, or say that it needs the terminal, or why it cannot be started.

    Runs in a worker. `text_of` gives the text for a pager or a mail that no program opens; `here` fetches remote files.
    """
    text = partial(text_of, hit)
    try:
        local, how = here(hit, how)
        prepared = partial(prepare, local, place=place, settings=settings, data_dir=data_dir, text_of=text)
        ready = prepared(how)
        if ready.command.needs_terminal:
            return TerminalWanted(hit, ready)
        try:
            ready.run()
        except OpenError:
            if hit.type != "mail" or how != "system" or settings.open.mail:
                raise
            return TerminalWanted(hit, prepared("pager"))
    except OpenError as error:
        return NotOpened(str(error))
    return HandedOver(hit, Path(ready.command.argv[0]).name)


class Opening:
    """Opens the selected result of a screen, and tells the session once it was opened."""

    def __init__(
        self, screen: Screen[None], setup: Setup, session: Session, recall: Recall, results: ResultsList,
        preview: PreviewPane, line: StatusLine,
    ) -> None:  # fmt: skip
        self._screen, self._setup, self._session, self._recall = screen, setup, session, recall
        self._results, self._preview, self._line = results, preview, line
        self._pages: dict[tuple[str, str], ResultPage] = {}
        """the page that each result was opened from"""

    def begin(self, how: How) -> None:
        """Hand the selected result over, in a worker; what became of it comes back as a message."""
        hit, page = self._results.selected, self._session.page
        if hit is not None and page is not None:
            self._begin(hit, how, page, self._place_of(hit))

    def begin_all(self, marked: Sequence[Marked]) -> None:
        """Hand all of these over, one after another, as Enter does."""
        how = self._setup.settings.open.enter
        for page, hit in sorted(marked, key=lambda one: one[0].page_id):
            self._begin(hit, how, page, Place())

    def choose(self, picking: Picking, marked: Sequence[Marked]) -> int:
        """Choose these for another program, by page and mark order; returns the exit code.

        Each counts as opened on the page on which it was marked.
        """
        for page, hit in sorted(marked, key=lambda one: one[0].page_id):
            self._session.opened(hit, on=page)
        picking.paths = tuple(dict.fromkeys(hit.path for _, hit in marked))
        return CHOSEN if picking.paths else NOTHING

    def _begin(self, hit: Hit, how: How, page: ResultPage, place: Place) -> None:
        self._pages[hit.path, hit.part] = page
        give = partial(
            hand_over, hit, how, place=place, settings=self._setup.settings, data_dir=self._setup.data_dir,
            text_of=partial(self._session.text_of, page),
            here=partial(self._session.here, page, self._setup.data_dir),
        )  # fmt: skip
        self._session.run(lambda: self._session.tell(give()))

    def take(self, message: Handled) -> None:
        """Say what became of a result; a program that needs the terminal is started now."""
        match message:
            case Copied():
                self._copied(message)
            case HandedOver():
                self._record(message.hit)
                self._line.say(f"opened {title_of(message.hit)} with {safe_line(message.program)}")
            case TerminalWanted():
                self._step_aside(message)
            case NotOpened():
                self._failed(message.error)

    def _step_aside(self, message: TerminalWanted) -> None:
        """Leave the terminal to a program until it ends; the screen comes back as it was."""
        opened = Event()
        try:
            with self._screen.app.suspend():
                code = message.ready.run(opened=opened.set)
        except (OpenError, SuspendNotSupported) as error:
            self._failed(str(error))
            return
        if not opened.is_set():
            self._failed(f"{display_path(message.ready.command.argv[0])} ended with exit code {code}")
        if message.hit is None or not opened.is_set():
            return
        self._record(message.hit)
        ended = f" (it ended with code {code})" if code else ""
        self._line.say(f"opened {title_of(message.hit)}{ended}")

    def _failed(self, error: str) -> None:
        """Say why nothing was opened; redraw, as the row may have to say that its file is gone."""
        self._screen.notify(safe_line(error), title="Not opened", severity="error", markup=False)
        self._results.refresh()

    def show_folder(self, path: str) -> None:
        """Open the folder of a file that is no result; runs in a worker."""
        try:
            ready = Prepared(plan(path, "folder", settings=self._setup.settings))
            if ready.command.needs_terminal:
                self._session.tell(TerminalWanted(None, ready))
            else:
                ready.run()
        except OpenError as error:
            self._session.tell(Failed("opening the folder", str(error)))

    def copy_paths(self, marked: Sequence[Marked]) -> None:
        """Copy the paths, one on each line; the screen hears of it once it is done."""
        paths = list(dict.fromkeys(hit.path for _, hit in marked))
        if paths:
            self._screen.app.copy_to_clipboard("\n".join(paths))

    def _copied(self, message: Copied) -> None:
        """Say what was copied, and how: a terminal that was asked to take it does not answer."""
        lines = message.text.splitlines()
        what = display_path(lines[0]) if len(lines) == 1 else f"{len(lines)} lines"
        how = f"by {message.by}" if message.by else "sent to the terminal, which does not confirm it"
        self._line.say(f"copied {what} ({how})")

    def _record(self, hit: Hit) -> None:
        """Record one click and one past query: in this session, and in the stored history if that is on."""
        page = self._pages.pop((hit.path, hit.part), None)
        if page is not None:
            self._session.opened(hit, on=page)
            query = page.request.text.strip()
            self._recall.add(query)
            if self._setup.settings.history.enabled:
                self._session.run(partial(self._setup.history.add, query))

    def _place_of(self, hit: Hit) -> Place:
        """The match shown in the preview, else the one in the snippet."""
        preview, results = self._preview, self._results
        if preview.loaded is not None and preview.loaded.doc_id == hit.doc_id and preview.display:
            line, page = preview.body.position
            return Place(line, page)
        snippet = results.snippet_of(results.cursor)
        return Place(snippet.line, snippet.page) if snippet else Place()
