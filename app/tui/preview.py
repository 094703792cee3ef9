"""The preview: what the selected document is, where in it we are, and its text with its matches, row by row."""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.strip import Strip
from textual.widgets import Static

from app.search.results import Hit, Preview
from app.tui.keys import actions_of
from app.tui.line_view import LineView
from app.tui.messages import PreviewResized
from app.tui.preview_layout import TAB, Layout
from app.tui.results_list import title_of
from app.wording import columns, count, fit, fit_path, short_path, size
from indexer.text.printable import safe_line, safe_text


class PreviewBody(LineView, can_focus=True):
    """A wrapped text that scrolls, and a current match."""

    HELP = "The text of the selected result. n and N go from match to match; Esc goes back to the search box."
    COMPONENT_CLASSES: ClassVar[set[str]] = {"preview--match", "preview--current", "preview--page"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(action.keys, action.id.replace("-", "_"), action.description, show=False, id=action.id)
        for action in actions_of("preview")
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.preview: Preview | None = None
        self._layout: Layout | None = None
        self._starts: list[int] = []
        self.current = -1
        """index of the current match, -1 for none"""
        self.moved = False
        """the user has gone elsewhere in this text"""

    def show_text(self, preview: Preview | None, layout: Layout | None, *, same: bool = False) -> None:
        """Show a text at the passage of its snippet; with `same`, it is the text shown before, wrapped anew."""
        current = self.current if same else preview.best if preview else 0
        self.moved = self.moved and same
        self.preview, self._layout = preview, layout
        self._starts = [start for start, _ in preview.spans] if preview else []
        self.current = min(current, len(self._starts) - 1)
        self.set_length(len(layout) if layout else 0)
        self._show_current(afresh=True)

    def step_match(self, step: int) -> None:
        """Go to the next match (1) or the previous one (-1), around the ends."""
        if self._starts:
            self.moved = True
            self.current = (self.current + step) % len(self._starts)
            self._show_current()

    @property
    def position(self) -> tuple[int, int]:
        """(line, page) of the current match, or of the first row in view; 0 where there is none."""
        if self.preview is None or self._layout is None or not len(self._layout):
            return 0, 0
        row = min(int(self.scroll_offset.y), len(self._layout) - 1)
        offset = self._starts[self.current] if self.current >= 0 else self._layout.starts[row]
        page = sum(start <= offset for start in self.preview.pages)
        return self.preview.text.count("\n", 0, offset) + 1, page

    def on_resize(self) -> None:
        self.set_length(len(self._layout) if self._layout else 0)
        if self._layout is not None and self._layout.width != self.text_width and self.text_width:
            self.post_message(PreviewResized(self.text_width))

    def on_mouse_scroll_down(self) -> None:
        self.moved = True

    def on_mouse_scroll_up(self) -> None:
        self.moved = True

    def make_line(self, row: int) -> Strip:
        base, width = self.rich_style, self.text_width
        if self.preview is None or self._layout is None or row >= len(self._layout):
            return Strip.blank(width, base)
        if row in self._layout.pages:
            text = f"── page {self._layout.pages[row]} "
            style = self.get_component_rich_style("preview--page")
            return Strip([Segment(text + "─" * max(0, width - len(text)), style)]).adjust_cell_length(width, base)
        segments = self._segments(self._layout.starts[row], self._layout.ends[row], base)
        return Strip(segments).adjust_cell_length(width, base)

    def action_preview_down(self) -> None:
        self.scroll_relative(y=1, animate=False)

    def action_preview_up(self) -> None:
        self.scroll_relative(y=-1, animate=False)

    def action_preview_top(self) -> None:
        self.scroll_to(y=0, animate=False)

    def action_preview_bottom(self) -> None:
        self.scroll_to(y=self.virtual_size.height, animate=False)

    def action_preview_half_down(self) -> None:
        self.scroll_relative(y=max(1, self.size.height // 2), animate=False)

    def action_preview_half_up(self) -> None:
        self.scroll_relative(y=-max(1, self.size.height // 2), animate=False)

    def action_preview_page_down(self) -> None:
        self.scroll_relative(y=max(1, self.size.height - 1), animate=False)

    def action_preview_page_up(self) -> None:
        self.scroll_relative(y=-max(1, self.size.height - 1), animate=False)

    def _show_current(self, *, afresh: bool = False) -> None:
        """Bring the current match into view, a third from the top; `afresh`: of a text that begins at its first row."""
        y, height = 0 if afresh else int(self.scroll_offset.y), max(1, self.size.height)
        if self._layout is not None and self.current >= 0:
            row = self._layout.row_of(self._starts[self.current])
            y = y if y <= row < y + height else max(0, row - height // 3)
        self.scroll_to(y=y, animate=False, force=True, immediate=True)
        self.repaint()

    def _segments(self, start: int, end: int, base: Style) -> list[Segment]:
        """The pieces of one row, matches in their own style."""
        assert self.preview is not None
        text, spans = self.preview.text, self.preview.spans
        index = max(0, bisect_left(self._starts, start) - 1)
        segments, position = [], start
        while index < len(spans) and spans[index][0] < end:
            left, right = max(start, spans[index][0]), min(end, spans[index][1])
            if left < right and left >= position:
                segments.append(Segment(_shown(text[position:left]), base))
                segments.append(Segment(_shown(text[left:right]), self._match_style(index)))
                position = right
            index += 1
        segments.append(Segment(_shown(text[position:end]), base))
        return segments

    def _match_style(self, index: int) -> Style:
        return self.get_component_rich_style("preview--current" if index == self.current else "preview--match")


def _shown(text: str) -> str:
    return safe_text(text).replace("\t", " " * TAB).replace("\n", " ")


class PreviewPane(Vertical):
    """A heading of two lines over the text."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hit: Hit | None = None
        self.loaded: Hit | None = None
        """the hit whose text is shown; behind `hit` while a worker reads"""
        self._heading = ("", "")

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
        where = self._where()
        room = max(8, width - columns(where) - 2)
        place = fit_path(short_path(hit.path), room) if hit else ""
        gap = " " * max(2, width - columns(place) - columns(where))
        heading = (fit(title_of(hit), width) if hit else "", place + (gap + where if where else ""))
        if heading != self._heading:
            self._heading = heading
            for name, line in zip(("#preview-title", "#preview-place"), heading, strict=True):
                self.query_one(name, Static).update(Text(line, no_wrap=True), layout=False)

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
