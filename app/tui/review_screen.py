"""A review on the screen: one document's text with its matches lit, the progress above it, and a key for each answer.

The review itself is worked on in the session's worker; while it makes the next document, keys that answer do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from app.document_to_open import Place
from app.external_programs import OpenError
from app.tui.messages import Notice, NotOpened, PreviewResized, TerminalWanted
from app.tui.opening_results import hand_over
from app.tui.preview.preview_pane import PreviewPane
from app.tui.screen_setup import Setup
from app.tui.session import Session
from console.printable import safe_line
from foltr.errors import FoltrError

if TYPE_CHECKING:
    from app.review.judgements import Answer
    from app.review.review import Proposal, Review
    from app.search.results import Preview
    from app.search.search import Search
    from app.tui.preview.preview_rows import Rows

KEYS = (
    ("y", "matters"), ("n", "not"), ("l", "later"), ("o", "open"), ("u", "undo"), ("Tab", "next"),
    ("Space", "scroll"), ("q", "leave"),
)  # fmt: skip


class NextDocument(Notice):
    """What is to be judged next; no document at the end, and then `line` says why."""

    line: str
    shown: Proposal | None = None
    preview: Preview | None = None
    rows: Rows | None = None


class ReviewScreen(Screen[None]):
    """Has nothing to save when it closes: each answer is on the disk before the next document comes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('yes')", "Matters"),
        Binding("n", "answer('no')", "Does not"),
        Binding("l", "answer('later')", "Later"),
        Binding("o", "open", "Open"),
        Binding("u", "undo", "Undo"),
        Binding("q,escape", "dismiss", "Leave"),
        Binding("tab", "step(1)", "Next match"),
        Binding("shift+tab", "step(-1)", "Previous match"),
        Binding("down,j", "scroll('down')", "Down"),
        Binding("up,k", "scroll('up')", "Up"),
        Binding("space,pagedown", "scroll('page-down')", "Page down"),
        Binding("b,pageup", "scroll('page-up')", "Page up"),
        Binding("home,g", "scroll('top')", "Start"),
        Binding("end,G", "scroll('bottom')", "End"),
    ]

    def __init__(self, setup: Setup, session: Session, which: str | int) -> None:
        """`which` is a query, or the number of a review."""
        super().__init__()
        self._setup, self._session, self._which = setup, session, which
        self._review: Review | None = None
        """made and used in the worker alone"""
        self.shown: Proposal | None = None
        """the document that an answer is for; None while the next one is made"""
        self.pane = PreviewPane(id="preview")
        self.pane.body.can_focus = False

    def compose(self) -> ComposeResult:
        yield Static("Reading the index …", id="review-progress", markup=False)
        yield self.pane
        keys = Text("  ").join(Text.assemble((key, "bold"), f" {title}") for key, title in KEYS)
        yield Static(keys, id="review-keys")

    def on_mount(self) -> None:
        self.call_after_refresh(self._work, self._begin)

    def _work(self, job: Callable[[Search], object]) -> None:
        """Run a job in the worker, then make the next document."""
        self.shown = None
        self._session.work(partial(self._do, job))

    def _do(self, job: Callable[[Search], object], search: Search) -> None:
        """Runs in a worker, as does all that it calls."""
        try:
            job(search)
            self.post_message(self._next())
        except FoltrError as error:
            self.post_message(NextDocument(safe_line(str(error))))

    def _begin(self, search: Search) -> None:
        from app.review.review import Review  # loads numpy, and the index is open by now

        which = self._which
        self._review = Review(search, which) if isinstance(which, int) else Review.of_query(search, which)

    def _next(self) -> NextDocument:
        from app.review.review import progress_line
        from app.tui.preview.rendering import render

        assert self._review is not None, "a job that fails is not followed by a document"
        review, shown = self._review, self._review.next()
        if shown is None:
            return NextDocument(f"{progress_line(review.progress)}: nothing is left to read")
        preview = review.preview(shown)
        rows = render(shown.hit, preview, max(self.pane.body.text_width, 20))
        place = f"document {review.progress.n_read + 1:,} of {review.progress.n_documents:,}"
        line = "  ·  ".join(filter(None, (progress_line(review.progress), place, shown.remark)))
        return NextDocument(line, shown, preview, rows)

    @on(NextDocument)
    def _show(self, message: NextDocument) -> None:
        self.query_one("#review-progress", Static).update(message.line)
        self.shown = message.shown
        self.pane.expect(message.shown.hit if message.shown else None)
        if message.shown and message.preview and message.rows:
            self.pane.show(message.shown.hit, message.preview, message.rows)

    def action_answer(self, answer: Answer) -> None:
        shown, review = self.shown, self._review
        if shown is not None and review is not None:
            self._work(lambda _: review.answer(shown, answer))

    def action_undo(self) -> None:
        if self._review is not None:
            review = self._review
            self._work(lambda _: review.undo())

    @on(PreviewResized)
    def _wrap_anew(self) -> None:
        if self.shown is not None:
            self._work(lambda _: None)

    def action_step(self, step: int) -> None:
        self.pane.step_match(step)

    def action_scroll(self, where: str) -> None:
        self.pane.body.action_go(f"preview-{where}")

    def action_open(self) -> None:
        """Hand the document over, as the search screen does; nothing is learned from it."""
        shown, review, settings = self.shown, self._review, self._setup.settings
        if shown is not None and review is not None:
            give = partial(
                hand_over, shown.hit, settings.open.enter, place=Place(), settings=settings,
                data_dir=self._setup.data_dir, text_of=lambda _: review.preview(shown).text,
            )  # fmt: skip
            self._session.work(lambda _: self.post_message(give()))

    @on(TerminalWanted)
    def _step_aside(self, message: TerminalWanted) -> None:
        try:
            with self.app.suspend():
                message.ready.run()
        except (OpenError, SuspendNotSupported) as error:
            self.post_message(NotOpened(str(error)))

    @on(NotOpened)
    def _not_opened(self, message: NotOpened) -> None:
        self.notify(safe_line(message.error), title="Not opened", severity="error", markup=False)
