"""The conversation with the engine: which question is the newest, which page is shown, what was opened on it.

Every call to the engine happens in a lane, a worker thread with a short queue that can drop jobs which were
overtaken before they began, so that no key press ever waits for an answer; every answer comes back as a message. Three
promises: an overtaken answer is never posted, opening a hit records exactly one click, and a page on which something
was opened is left exactly once.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs
from textual.message import Message

from app.external_programs import How
from app.search.results import Hit, ResultPage, SearchRequest
from app.tui import messages
from app.tui.terminal.terminal_capabilities import TerminalCapabilities
from console.printable import safe_line

Job = Callable[[], object]


class Lane:
    """A thread that runs jobs one after another."""

    def __init__(self, name: str, *, failed: Callable[[str, Exception], None]) -> None:
        """`failed(name, error)` is called in the thread when a job raises; the lane goes on."""
        self._name = name
        self._failed = failed
        self._jobs: deque[Job] = deque()
        self._latest: Job | None = None
        self._wake = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"foltr-{name}", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Run `job` after all that wait already."""
        with self._wake:
            if not self._closed:
                self._jobs.append(job)
                self._wake.notify()

    def replace(self, job: Job) -> None:
        """Run `job` after those that were `put`, and forget the one given here before if it has not begun."""
        with self._wake:
            if not self._closed:
                self._latest = job
                self._wake.notify()

    def close(self, *, finish: bool, seconds: float) -> None:
        """Take no more jobs; wait up to `seconds` for the running one, and with `finish` for all that wait."""
        with self._wake:
            self._closed = True
            if not finish:
                self._jobs.clear()
                self._latest = None
            self._wake.notify()
        self._thread.join(seconds)

    def _next(self) -> Job | None:
        with self._wake:
            while not self._jobs and self._latest is None and not self._closed:
                self._wake.wait()
            if self._jobs:
                return self._jobs.popleft()
            job, self._latest = self._latest, None
            return job

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception as error:  # reported to the screen, which shows it; the next job may well succeed
                self._failed(self._name, error)


if TYPE_CHECKING:
    from pathlib import Path

    from app.learning.outcomes import Outcome
    from app.search.search import Search
    from app.tui.preview.picture_preview import Pictures
    from app.tui.preview.preview_rows import PagePictures

CLOSING_SECONDS = 3.0
"""how long leaving the program waits until the last lesson is stored"""
SNIPPET_SECONDS = 0.02
"""how long a page may wait for its first snippets; those of long texts follow it"""


class Session:
    """One user at one engine. All methods return at once; only the screen's thread calls them."""

    def __init__(
        self,
        open_engine: Callable[[], Search],
        post: Callable[[Message], object],
        *,
        pictures: str = "off",
        terminal: TerminalCapabilities | None = None,
    ) -> None:
        """`pictures` is a value of `screen.pictures`, `terminal` what is known of the terminal."""
        self._open_engine = open_engine
        self._pictures_wanted, self._terminal = pictures, terminal or TerminalCapabilities()
        self._pictures: Pictures | None = None
        self._overtaken = threading.Event()
        """set when the preview that is being made is no longer wanted"""
        self._post_to_screen = post
        self._engine: Search | None = None
        self._closed = False
        self.sequence = 0
        self.page: ResultPage | None = None
        self._opened: ResultPage | None = None
        names = ("search", "machines", "snippets", "preview", "record", "files", "sync")
        self._lanes = {name: Lane(name, failed=self._failed) for name in names}

    def start(self) -> None:
        """Open the index, away from the screen's thread."""
        self._lanes["search"].put(self._open)

    def ask(self, request: SearchRequest, *, n_rows: int = 0, width: int = 160) -> int:
        """Ask a question; it replaces the one that waits, and the answer to any earlier one is dropped.

        The first `n_rows` rows get snippets of `width` characters as far as SNIPPET_SECONDS allow. Nobody waits for
        other machines: a page with their results follows that of this one.
        """
        self.sequence += 1
        self._lanes["search"].replace(self._asking(partial(self._answer_here, self.sequence, request, n_rows, width)))
        return self.sequence

    def forget_question(self) -> None:
        """Drop the answers still to come, as when the search box was cleared."""
        self.sequence += 1

    def shown(self, page: ResultPage | None) -> None:
        """Note that this page is shown now; leave the page on which something was opened if the question differs."""
        if self._opened is not None and (page is None or not same_question(page.request, self._opened.request)):
            self.leave()
        self.page = page

    def opened(self, hit: Hit, *, on: ResultPage | None = None) -> None:
        """Record one click on a hit of the page shown, or of an earlier one."""
        page = on or self.page
        if page is not None:
            if self._opened is not None and self._opened is not page:
                self.leave()
            self._opened = page
            self.work(lambda engine: engine.opened(page, hit))

    def leave(self) -> None:
        """Learn from the page on which something was opened, if there is one."""
        page, self._opened = self._opened, None
        if page is not None:
            self.work(partial(self._leave, page))

    def want_snippets(self, page: ResultPage, rows: tuple[int, ...], width: int) -> None:
        own = tuple(row for row in rows if not page.hits[row].machine)
        for lane, some in (("snippets", own), ("machines", tuple(row for row in rows if row not in own))):
            if some:
                self._lanes[lane].put(self._asking(partial(self._make_snippets, page, some, width)))

    def want_preview(
        self, hit: Hit, width: int, *, snippet_width: int, as_written: bool = False, turned: bool = False
    ) -> None:
        """The text of a hit in rows of `width` cells, and where in it the snippet of that width is."""
        if self.page is not None:
            self._overtaken.set()
            self._overtaken = threading.Event()
            form = partial(self._make_preview, as_written=as_written, turned=turned, stop=self._overtaken)
            self._lanes["preview"].replace(self._asking(partial(form, self.page, hit, width, snippet_width)))

    def want_page(self, hit: Hit, page: int, pages: PagePictures) -> None:
        """The picture of a page, counted from 0, of a document whose other pages are shown."""
        self._lanes["preview"].put(partial(self._draw_page, hit, page, pages, self._overtaken))

    @property
    def shows_pages(self) -> bool:
        """Whether pictures of pages are legible here; assumed until something was shown."""
        return self._pictures is None or self._pictures.is_legible

    def terminal_was_lent(self) -> None:
        """Note that another program had the terminal, which no longer holds our pictures."""
        self._lanes["preview"].put(lambda: self._pictures.forget() if self._pictures is not None else None)

    def want_explanation(self, hit: Hit) -> None:
        if self.page is not None:
            page = self.page
            explain = self._asking(lambda engine: self.tell(messages.Explained(engine.explain(page, hit))))
            self._lanes["preview"].replace(explain)

    def look_again(self) -> None:
        """See whether the index has a newer commit."""
        self.work(self._look_again)

    def run(self, job: Job) -> None:
        """Run any other job after the clicks and lessons that wait."""
        self._lanes["record"].put(job)

    def file(self, job: Job) -> None:
        """Copy, move or trash files, however long that takes; nothing else waits for it."""
        self._lanes["files"].put(job)

    def work(self, job: Callable[[Search], object]) -> None:
        """Run a job on the engine, once it is open, after the clicks and lessons that wait."""
        self._lanes["record"].put(self._asking(job))

    def _asking(self, job: Callable[[Search], object]) -> Job:
        """A job of a lane; nothing where the engine is not open."""
        return lambda: job(self._engine) if self._engine is not None else None

    def sync(self, job: Job) -> None:
        """Run a job that waits for the network; nothing else ever waits for it."""
        self._lanes["sync"].replace(job)

    def pending_outcomes(self) -> list[Outcome]:
        """Outcomes of what was opened but not learned from yet; waits for clicks on their way: for a worker."""
        arrived = threading.Event()
        self.run(arrived.set)
        arrived.wait(CLOSING_SECONDS)
        return self._engine.pending_outcomes() if self._engine is not None else []

    def want_recent(self) -> None:
        """What was opened and changed lately, for the empty screen."""
        self.work(lambda engine: self.tell(messages.RecentRead(engine.recent())))

    def failures(self) -> list[tuple[str, str]]:
        """The files that could not be read, and why; waits for the catalogue, so it is called in a worker."""
        return self._engine.failures() if self._engine is not None else []

    def follow(self, moves: Iterable[tuple[str, str]]) -> None:
        """Let what was learned about files follow their moves; inside a job of `file`."""
        if self._engine is not None:
            self._engine.follow(moves)

    def text_of(self, page: ResultPage, hit: Hit) -> str:
        """The extracted text of a hit; waits, for use inside a job of `run`."""
        return self._engine.preview(page, hit).text if self._engine is not None else ""

    def here(self, page: ResultPage, data_dir: Path, hit: Hit, how: How) -> tuple[Hit, How]:
        """The hit to open, fetched here if it is on another machine; waits, for use inside a job of `run`."""
        return self._engine.here(page, hit, how, data_dir) if self._engine is not None and hit.machine else (hit, how)

    def close(self) -> None:
        """Leave the page, wait for the last lesson, close the engine."""
        if self._closed:
            return
        self.leave()
        self.sequence += 1
        self._overtaken.set()
        self._closed = True
        for name in ("sync", "machines"):  # what was sent without an answer will be asked for again
            self._lanes[name].close(finish=False, seconds=0)
        for name in ("search", "snippets", "preview"):
            self._lanes[name].close(finish=False, seconds=CLOSING_SECONDS / 3)
        if self._pictures is not None:
            self._pictures.close()
        self._lanes["files"].close(finish=True, seconds=CLOSING_SECONDS)
        self.work(lambda engine: engine.close())
        self._lanes["record"].close(finish=True, seconds=CLOSING_SECONDS)

    def _open(self) -> None:
        engine = self._open_engine()
        status = engine.status()
        self._engine = engine
        self.tell(messages.EngineReady(status, engine.unkept))

    def _answer_here(self, sequence: int, request: SearchRequest, n_rows: int, width: int, engine: Search) -> None:
        self._answer(sequence, structs.replace(request, on=()), n_rows, width, engine)
        if request.on and sequence == self.sequence:
            self._lanes["machines"].replace(self._asking(partial(self._answer, sequence, request, n_rows, width)))

    def _answer(self, sequence: int, request: SearchRequest, n_rows: int, width: int, engine: Search) -> None:
        if sequence != self.sequence:
            return
        page, end = engine.search(request), time.monotonic() + SNIPPET_SECONDS
        made, reasons = {}, {}
        for row, hit in enumerate(page.hits[:n_rows]):
            if sequence != self.sequence or time.monotonic() > end:
                break
            made[row], reasons[row] = engine.snippet(page, hit, width), engine.why(page, hit)
        if sequence == self.sequence:
            self.tell(messages.Answered(sequence, page, messages.SnippetsMade(page, made, reasons)))

    def _make_snippets(self, page: ResultPage, rows: tuple[int, ...], width: int, engine: Search) -> None:
        if page is self.page:
            made = {row: engine.snippet(page, page.hits[row], width) for row in rows}
            reasons = {row: engine.why(page, page.hits[row]) for row in rows}
            self.tell(messages.SnippetsMade(page, made, reasons))

    def _make_preview(
        self, page: ResultPage, hit: Hit, width: int, snippet_width: int, engine: Search,
        *, as_written: bool, turned: bool, stop: threading.Event,
    ) -> None:  # fmt: skip
        from app.tui.preview.rendering import render  # loaded for the first text

        pictures = self._shown_pictures()
        preview = engine.preview(page, hit, snippet_width)
        show = partial(pictures.show, hit.path, width, stop)
        turned = turned and pictures.is_legible  # pages of blocks cannot be read
        rows = render(hit, preview, width, as_written=as_written, turned=turned, show=show)
        self.tell(messages.PreviewMade(hit, preview, rows, pictures.take_unsent()))

    def _draw_page(self, hit: Hit, page: int, pages: PagePictures, stop: threading.Event) -> None:
        if not stop.is_set():
            pictures = self._shown_pictures()
            picture = pictures.show(hit.path, pages.width, stop, page, height=pages.page_height - 1)
            self.tell(messages.PageDrawn(hit, page, pages.width, picture.rows, pictures.take_unsent()))

    def _shown_pictures(self) -> Pictures:
        """Made only for the first preview, as tmux may have to be asked."""
        if self._pictures is None:
            from app.tui.preview.picture_preview import Pictures, way_of

            way = way_of(self._pictures_wanted, self._terminal, os.environ)
            self._pictures = Pictures(way, cell=self._terminal.cell)
        return self._pictures

    def _leave(self, page: ResultPage, engine: Search) -> None:
        if sentence := engine.leave(page):
            self.tell(messages.Learned(sentence))

    def _look_again(self, engine: Search) -> None:
        if engine.refresh():
            self.tell(messages.IndexChanged(engine.status()))

    def _failed(self, what: str, error: Exception) -> None:
        self.tell(messages.Failed(what, safe_line(f"{error}") or type(error).__name__))

    def tell(self, message: Message) -> None:
        """Post to the screen from a worker; dropped once the screen is closing."""
        if not self._closed:
            try:
                self._post_to_screen(message)
            except RuntimeError:  # the event loop ended between the question and the answer
                self._closed = True


def same_question(one: SearchRequest, other: SearchRequest) -> bool:
    """Whether two requests ask the same thing, however it was typed and ordered."""
    narrowed = (one.type, one.folder, one.time) == (other.type, other.folder, other.time)
    return narrowed and one.text.split() == other.text.split()
