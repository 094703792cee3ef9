"""The preview: what the selected document is, where in it we are, and its text."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from app.search.results import Hit, Preview
from app.tui.preview_body import PreviewBody
from app.tui.preview_layout import Layout
from app.tui.result_row import title_of
from app.tui.wording import count, fit, fit_path, safe_line, short_path, size


class PreviewPane(Vertical):
    """A heading of two lines over the text."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hit: Hit | None = None
        self.loaded: Hit | None = None
        """the hit whose text is shown; behind `hit` while a worker reads"""

    def compose(self) -> ComposeResult:
        yield Static(id="preview-title", markup=False)
        yield Static(id="preview-place", markup=False)
        yield PreviewBody(id="preview-body")

    @property
    def body(self) -> PreviewBody:
        return self.query_one(PreviewBody)

    def expect(self, hit: Hit | None) -> None:
        """The selection moved to this hit; its text comes later, and the old one stays until then."""
        self.hit = hit
        if hit is None:
            self.loaded = None
            self.body.show_text(None, None)
        self.describe()

    def show(self, hit: Hit, preview: Preview, layout: Layout) -> None:
        """Show the text that a worker read, unless the selection has moved on."""
        if self.hit is not None and hit.doc_id == self.hit.doc_id:
            same = self.loaded is not None and self.loaded.doc_id == hit.doc_id and self.body.preview == preview
            self.loaded = hit
            self.body.show_text(preview, layout, same=same)
            self.describe()

    def step_match(self, step: int) -> None:
        self.body.step_match(step)
        self.describe()

    def describe(self) -> None:
        """Write the heading anew."""
        hit = self.hit
        width = max(10, self.size.width - 2)
        self.query_one("#preview-title", Static).update(fit(title_of(hit), width) if hit else "")
        where = self._where()
        room = max(8, width - len(where) - 2)
        place = fit_path(short_path(hit.path), room) if hit else ""
        gap = " " * max(2, width - len(place) - len(where))
        self.query_one("#preview-place", Static).update(Text(place + (gap + where if where else ""), no_wrap=True))

    def on_resize(self) -> None:
        self.describe()

    def _where(self) -> str:
        """match 2 of 9 · page 4."""
        hit, preview = self.loaded, self.body.preview
        if hit is None or preview is None or self.hit is None or hit.doc_id != self.hit.doc_id:
            return ""
        line, page = self.body.position
        parts = []
        if preview.spans:
            parts.append(f"match {self.body.current + 1} of {count(len(preview.spans))}")
        elif not preview.text:
            parts.append(size(hit.size))
        if preview.text:
            parts.append(f"page {page} of {count(len(preview.pages))}" if preview.pages else f"line {count(line)}")
        if preview.note:
            parts.append(safe_line(preview.note))
        return " · ".join(parts)
