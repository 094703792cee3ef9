"""Opening a result in the user's own program, in a worker; for one that needs the terminal the screen steps aside.

A pager would show the bytes of a PDF or of a mailbox, so it is given the extracted text instead, in a file that only
the user can read and that is deleted when the pager ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from textual.app import SuspendNotSupported
from textual.message import Message
from textual.screen import Screen

from app.loose_mail import loose_mail
from app.opener import How, NoDisplayError, OpenError, address_of, is_plain, plan, run
from app.search.description import headed
from app.search.results import Hit, ResultPage
from app.settings import Settings
from app.tui.marks import Marked
from app.tui.messages import Copied, Failed, HandedOver, NotOpened, TerminalWanted
from app.tui.parts import Setup
from app.tui.picking import CHOSEN, NOTHING, Picking
from app.tui.preview import PreviewPane
from app.tui.query_input import Recall
from app.tui.results_list import ResultsList, title_of
from app.tui.session import Session
from app.tui.status_line import StatusLine
from indexer.text.printable import display_path, safe_line


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the document to go; 0 where unknown."""

    line: int = 0
    page: int = 0


def hand_over(
    hit: Hit, how: How, *, place: Place, settings: Settings, data_dir: Path, text_of: Callable[[Hit], str]
) -> Message:
    """Start the program for a hit, or say that it needs the terminal, or why it cannot be started.

    Runs in a worker. `text_of` gives the extracted text, for a pager.
    """
    plain = is_plain(hit.type, hit.part)
    temporary, above, mail = "", 0, None
    to_pager = partial(hand_over, hit, "pager", place=place, settings=settings, data_dir=data_dir, text_of=text_of)
    try:
        if how == "pager" and not plain:
            text = text_of(hit)
            shown = headed(hit, text)
            above = shown.count("\n") - text.count("\n")
            temporary = _private_copy(shown, data_dir)
        mail = loose_mail(hit, data_dir) if how == "system" else None
        line = place.line + above if place.line and (plain or temporary) else 0
        command = plan(
            temporary or hit.path, how, settings=settings, line=line, page=place.page, mail=mail,
            address=address_of(hit.type, hit.properties),
        )  # fmt: skip
        if command.needs_terminal:
            return TerminalWanted(hit, command, temporary)
        run(command)
    except NoDisplayError as error:
        if not text_of(hit).strip():
            return NotOpened(hit, str(error))
        return to_pager()
    except (OpenError, OSError) as error:
        _delete(temporary)
        if mail is not None and not settings.open.mail:
            return to_pager()
        return NotOpened(hit, str(error))
    return HandedOver(hit, Path(command.argv[0]).name)


def finish(wanted: TerminalWanted) -> int:
    """Run a program that needs the terminal, wait for its end and give its exit code; raises OpenError."""
    try:
        return run(wanted.command)
    finally:
        _delete(wanted.temporary)


def _private_copy(text: str, data_dir: Path) -> str:
    with tempfile.NamedTemporaryFile("w", dir=data_dir, suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


def _delete(path: str) -> None:
    if path:
        Path(path).unlink(missing_ok=True)


class Opening:
    """Opens the selected result of a screen, and tells the session once it was opened."""

    def __init__(self, screen: Screen[None], setup: Setup, session: Session, recall: Recall) -> None:
        self._screen, self._setup, self._session, self._recall = screen, setup, session, recall
        self._pages: dict[tuple[str, str], ResultPage] = {}
        """the page that each result was opened from"""

    def begin(self, how: How) -> None:
        """Hand the selected result over, in a worker; what became of it comes back as a message."""
        hit, page = self._selected, self._session.page
        if hit is not None and page is not None:
            self._begin(hit, how, page, self._place_of(hit))

    def begin_all(self, how: How, marked: Sequence[Marked]) -> None:
        """Hand all of these over, one after another."""
        for page, hit in sorted(marked, key=lambda one: one[0].page_id):
            self._begin(hit, how, page, Place())

    def choose(self, picking: Picking, marked: Sequence[Marked]) -> int:
        """Take these for another program, in their order; gives the exit code.

        Each counts as opened on the page on which it was marked.
        """
        for page, hit in sorted(marked, key=lambda one: one[0].page_id):
            self._session.opened(hit, on=page)
        picking.paths = tuple(dict.fromkeys(hit.path for _, hit in marked))
        return CHOSEN if picking.paths else NOTHING

    def _begin(self, hit: Hit, how: How, page: ResultPage, place: Place) -> None:
        self._pages[hit.path, hit.part] = page
        self._session.run(partial(self._hand_over, hit, how, page=page, place=place))

    def _hand_over(self, hit: Hit, how: How, *, page: ResultPage, place: Place) -> None:
        """Runs in a worker."""
        done = hand_over(
            hit,
            how,
            place=place,
            settings=self._setup.settings,
            data_dir=self._setup.data_dir,
            text_of=partial(self._session.text_of, page),
        )
        self._session.tell(done)

    def succeeded(self, message: HandedOver) -> None:
        """The program was started."""
        self._record(message.hit)
        self._say(f"opened {title_of(message.hit)} with {safe_line(message.program)}")

    def step_aside(self, message: TerminalWanted) -> None:
        """Leave the terminal to a program until it ends; the screen comes back as it was."""
        try:
            with self._screen.app.suspend():
                code = finish(message)
        except (OpenError, SuspendNotSupported) as error:
            self.failed(str(error))
            return
        self._record(message.hit)
        ended = f" (it ended with code {code})" if code else ""
        self._say(f"opened {title_of(message.hit)}{ended}")

    def failed(self, error: str) -> None:
        """Say why nothing was opened; the row may have to say that its file is gone."""
        self._screen.notify(safe_line(error), title="Not opened", severity="error", markup=False)
        self._screen.query_one(ResultsList).refresh()

    def show_folder(self, path: str) -> None:
        """Open the folder of a file that is no result."""
        self._session.run(partial(self._show_folder, path))

    def _show_folder(self, path: str) -> None:
        """Runs in a worker."""
        try:
            run(plan(path, "folder", settings=self._setup.settings))
        except OpenError as error:
            self._session.tell(Failed("opening the folder", str(error)))

    def copy_paths(self, marked: Sequence[Marked]) -> None:
        """Copy the paths, one on each line; the screen hears of it once it is done."""
        paths = list(dict.fromkeys(hit.path for _, hit in marked))
        if paths:
            self._screen.app.copy_to_clipboard("\n".join(paths))

    def copied(self, message: Copied) -> None:
        """Say what was copied, and how: a terminal that was asked to take it does not answer."""
        lines = message.text.splitlines()
        what = display_path(lines[0]) if len(lines) == 1 else f"{len(lines)} lines"
        how = f"by {message.by}" if message.by else "sent to the terminal, which says not whether it took it"
        self._say(f"copied {what} ({how})")

    def _record(self, hit: Hit) -> None:
        """One click, and one past query: for this session, and for those who keep them."""
        page = self._pages.pop((hit.path, hit.part), None)
        if page is not None:
            self._session.opened(hit, on=page)
            query = page.request.text.strip()
            self._recall.add(query)
            if self._setup.settings.history.enabled:
                self._session.run(partial(self._setup.history.add, query))

    @property
    def _selected(self) -> Hit | None:
        return self._screen.query_one(ResultsList).selected

    def _place_of(self, hit: Hit) -> Place:
        """The match that is shown in the preview, else the one in the snippet."""
        preview = self._screen.query_one(PreviewPane)
        if preview.loaded is not None and preview.loaded.doc_id == hit.doc_id and preview.display:
            line, page = preview.body.position
            return Place(line, page)
        results = self._screen.query_one(ResultsList)
        snippet = results.snippet_of(results.cursor)
        return Place(snippet.line, snippet.page) if snippet else Place()

    def _say(self, sentence: str) -> None:
        self._screen.query_one(StatusLine).say(sentence)
