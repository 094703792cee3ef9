"""The side pane: preview or explanation of the selected result, beside the results or below them, and in which form."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer

from app.search.results import Hit
from app.tui.bars.query_input import QueryInput
from app.tui.bars.status_lines import StatusLine
from app.tui.messages import Explained, PageDrawn, PagesInView, PreviewMade, PreviewResized
from app.tui.preview.explain_pane import ExplainPane
from app.tui.preview.preview_pane import PreviewPane
from app.tui.results_list import ResultsList
from app.tui.screen_setup import Setup
from app.tui.session import Session

REST_SECONDS = 0.08
"""rest of the cursor after which the preview is read"""
SHARES = (30, 40, 50, 60, 70)
"""per cent of the body that the side pane takes"""
MIDDLE = 2
"""index of the share that it has by itself"""
WIDE = 96
"""cells from which on it stands beside the results"""
LEAST_LINES = 14
"""of a narrow screen: with fewer there is no preview below the results, and the explanation takes their place"""


@runtime_checkable
class ReachesTerminal(Protocol):
    """An application that can give its terminal what is not text."""

    def send(self, sequences: str) -> None: ...


class SidePane(Vertical):
    """Finds its place on the screen, and asks for what it shows."""

    def __init__(
        self, setup: Setup, session: Session, results: ResultsList, box: QueryInput, line: StatusLine, *, id: str
    ) -> None:
        super().__init__(id=id)
        self.preview = PreviewPane(id="preview")
        self.explanation = ExplainPane(id="explain")
        self._session, self._results, self._box, self._line = session, results, box, line
        self._settings = setup.settings.screen
        before = setup.remembered
        self.wanted = {"wide": before.preview_for(self._settings.preview), "narrow": before.preview_below}
        """whether it is shown, beside the results and below them"""
        self.share = max(0, min(len(SHARES) - 1, before.share))
        """index into SHARES"""
        self._resting: Timer | None = None
        self._as_written = False
        """the preview shows texts as written, not as they are meant"""
        self.is_open = False
        """it has a place, and is seen while there are results"""
        self._turned = False
        """the preview shows PDFs with text by their pages, and those without by their text"""

    def compose(self) -> ComposeResult:
        yield self.preview
        yield self.explanation

    @property
    def is_explaining(self) -> bool:
        return self.explanation.display

    @property
    def _shape(self) -> str:
        return "narrow" if 0 < self.screen.size.width < WIDE else "wide"

    @property
    def _has_room(self) -> bool:
        return self._shape == "wide" or self.screen.size.height >= LEAST_LINES

    # its place

    def lay_out(self, *, explain: bool | None = None) -> None:
        """Beside the results, below them where the screen is narrow, or not at all; None: what it shows stays."""
        screen, explain = self.screen, self.is_explaining if explain is None else explain
        self.border_title = "Why it stands there" if explain else "Preview"
        self.preview.display = not explain
        self.explanation.display = explain
        self.is_open = self.wanted[self._shape] and (self._has_room or explain)
        self.display = self.is_open and self._results.display
        share = f"{SHARES[self.share]}%" if self._has_room else "100%"
        self.styles.width, self.styles.height = ("100%", share) if self._shape == "narrow" else (share, "100%")
        if not self.is_open and screen.focused is not None and self in screen.focused.ancestors:
            self._box.focus()
        screen.call_after_refresh(self.read)

    def show_beside(self, found: bool) -> None:
        """Be seen, if it has a place, beside results that are there."""
        self.display = self.is_open and found

    def forget(self) -> None:
        """As the settings say, of the size that it has by itself."""
        self.wanted, self.share = {"wide": self._settings.preview, "narrow": False}, MIDDLE
        self.lay_out(explain=False)

    def widen(self, steps: int) -> None:
        """Take more of the body, or less."""
        self.share = max(0, min(len(SHARES) - 1, self.share + steps))
        self.lay_out()

    def turn_preview(self) -> None:
        """Show or hide the preview; from the explanation, go back to it."""
        self.wanted[self._shape] = self.is_explaining or not self.wanted[self._shape]
        if self.wanted[self._shape] and not self._has_room:
            self._line.say(f"no room: a narrow screen needs {LEAST_LINES} lines for it")
        self.lay_out(explain=False)

    def turn_explanation(self) -> None:
        """Show the explanation, or go back to the preview."""
        explaining = self.is_explaining and self.is_open
        self.wanted[self._shape] = True
        self.lay_out(explain=not explaining)

    def focus_shown(self) -> None:
        """Go to what it shows."""
        if self.is_open:
            (self.explanation if self.is_explaining else self.preview.body).focus()

    def scroll_half(self, way: str) -> None:
        """Half a page "up" or "down" in what it shows."""
        if self.is_explaining:
            lines = max(1, self.explanation.size.height // 2)
            self.explanation.scroll_relative(y=lines if way == "down" else -lines, animate=False)
        else:
            self.preview.body.action_go(f"preview-half-{way}")

    # what it shows

    def expect(self, hit: Hit | None) -> None:
        """The selection moved to this hit; what is shown of it is asked for once the cursor rests."""
        self.preview.expect(hit)
        if self._resting is not None:
            self._resting.stop()
        if hit is not None:
            self._resting = self.screen.set_timer(REST_SECONDS, self.read)

    @on(PreviewResized)
    def read(self) -> None:
        """Ask for what it shows of the selected result."""
        hit = self._results.selected
        if hit is None or not self.is_open:
            return
        if self.is_explaining:
            self._session.want_explanation(hit)
        elif width := self.preview.body.text_width:
            form = {"as_written": self._as_written, "turned": self._turned}
            self._session.want_preview(hit, width, snippet_width=self._results.snippet_width, **form)

    def turn_source(self) -> None:
        """Show texts as written, or as they are meant."""
        self._as_written = not self._as_written
        self._line.say("preview as written" if self._as_written else "preview rendered")
        self.read()

    def turn_pages(self) -> None:
        """Show the pages of PDFs as pictures, or their text."""
        hit = self._results.selected
        if hit is None or hit.type != "pdf" or hit.part:
            self._line.say("only a PDF has pages to be shown as pictures")
        elif not self._session.shows_pages:
            self._line.say("this terminal cannot show a readable page, so this is its text")
        else:
            self._turned = not self._turned
            self.read()

    @on(PreviewMade)
    def show(self, message: PreviewMade) -> None:
        self._send(message.sent)
        self.preview.show(message.hit, message.preview, message.rows)

    @on(PagesInView)
    def want_pages(self, message: PagesInView) -> None:
        """Ask for pages that came into view, unless the selection has moved on."""
        pane = self.preview
        pages = pane.body.pages
        if pane.loaded is not None and pane.loaded == pane.hit and pages is not None:
            for page in message.missing:
                self._session.want_page(pane.loaded, page, pages)

    @on(PageDrawn)
    def add_page(self, message: PageDrawn) -> None:
        self._send(message.sent)
        self.preview.add_page(message)

    @on(Explained)
    def explain(self, message: Explained) -> None:
        self.explanation.show(message.explanation)

    def terminal_was_lent(self) -> None:
        """Another program had the terminal: what it shows of pictures is sent anew."""
        self._session.terminal_was_lent()
        self.read()

    def _send(self, sequences: str) -> None:
        """Give the terminal its pictures, before the text that refers to them."""
        if sequences and isinstance(self.screen.app, ReachesTerminal):
            self.screen.app.send(sequences)
