"""The preview: what the selected document is, where in it we are, and its text with its matches, row by row."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widgets import Static

from app.search.results import Hit, Preview, title_of
from app.tui.keys import bindings_of
from app.tui.line_view import LineView
from app.tui.messages import PageDrawn, PagesInView, PreviewResized, PreviewScrolled
from app.tui.preview.preview_rows import SIXELS, STYLES, TAB, PagePictures, Row, Rows
from app.tui.result_rows import mailbox_of
from console.printable import safe_line, safe_text
from console.wording import columns, count, fit, fit_path, short_path, size
from indexer.documents import page_name

SIDEWAYS = 8
"""cells that a wide table moves at a key press"""


class PreviewBody(LineView, can_focus=True):
    """A wrapped text that scrolls, and a current match."""

    HELP = "The text of the selected result. n and N go from match to match; Esc goes back to the search box."
    COMPONENT_CLASSES: ClassVar[set[str]] = {"preview--match", "preview--current"} | {
        f"preview--{name}" for name in STYLES
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("preview")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.preview: Preview | None = None
        self._rows: Rows | None = None
        self._starts: list[int] = []
        self._left = 0
        self.current = -1
        """index of the current match, -1 for none"""
        self.moved = False
        """the user has gone elsewhere in this text"""
        self._styles_by_name: dict[str, Style] = {}
        self._in_view: tuple[range, tuple[int, ...]] = (range(0), ())
        """the pages in view, and those of them that are not drawn yet"""
        self._lines_painted: set[int] = set()

    def show_text(self, preview: Preview | None, rows: Rows | None, *, same: bool = False) -> None:
        """Show a text at the passage of its snippet; with `same`, it is the text shown before, wrapped anew."""
        current = self.current if same else preview.best if preview else 0
        self.moved = self.moved and same
        self._left = self._left if same else 0
        self.preview, self._rows = preview, rows
        self._starts = [start for start, _ in preview.spans] if preview else []
        self.current = min(current, len(self._starts) - 1)
        self._in_view = (range(0), ())
        self.set_length(len(rows) if rows else 0)
        self._show_current(afresh=True)
        self._look_at_pages()

    @property
    def pages(self) -> PagePictures | None:
        """The pages as pictures, where they are shown so."""
        return self._rows if isinstance(self._rows, PagePictures) else None

    def add_page(self, page: int, width: int, picture: tuple[Row, ...]) -> None:
        """Show the picture of a page, unless the pane has another width by now."""
        if self.pages is not None and self.pages.width == width:
            self._rows = self.pages.with_page(page, picture)
            self.repaint()
            self._look_at_pages()

    def _look_at_pages(self) -> None:
        """Say which pages are in view whenever that is another answer than before."""
        if self.pages is not None:
            pages = self.pages.in_view(int(self.scroll_offset.y), max(1, self.size.height))
            now = (pages, tuple(page for page in pages if page not in self.pages.drawn))
            if now != self._in_view:
                self._in_view = now
                self.post_message(PagesInView(now[1]))

    def step_match(self, step: int) -> None:
        """Go to the next match (1) or the previous one (-1), around the ends."""
        if self._starts:
            self.moved = True
            self.current = (self.current + step) % len(self._starts)
            self._show_current()

    @property
    def position(self) -> tuple[int, int]:
        """(line, page) of the current match where it is in view, else of the first row there; 0 where there is none."""
        if self.preview is None or self._rows is None or not len(self._rows):
            return 0, 0
        row = min(int(self.scroll_offset.y), len(self._rows) - 1)
        if self.pages is not None:
            return 0, row // self.pages.page_height + 1
        offset = self._starts[self.current] if self.sees_match else self._rows.offset_of(row)
        page = sum(start <= offset for start in self.preview.pages)
        return self.preview.text.count("\n", 0, offset) + 1, page

    @property
    def sees_match(self) -> bool:
        """Whether the current match is in view."""
        if self._rows is None or self.current < 0:
            return False
        top = int(self.scroll_offset.y)
        return top <= self._rows.row_of(self._starts[self.current]) < top + max(1, self.size.height)

    def on_resize(self) -> None:
        self.set_length(len(self._rows) if self._rows else 0)
        if self._rows is not None and self._rows.width != self.text_width and self.text_width:
            self.post_message(PreviewResized())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._look_at_pages()
        self.post_message(PreviewScrolled())

    def on_mouse_scroll_down(self) -> None:
        self.moved = True

    def on_mouse_scroll_up(self) -> None:
        self.moved = True

    def make_line(self, row: int) -> Strip:
        width, rows, base = self.text_width, self._rows, self.base_style
        if self.preview is None or rows is None or row >= len(rows):
            return Strip.blank(width, base)
        above = rows.head and row == int(self.scroll_offset.y) and rows.offset_of(row) > 0
        pieces = rows.head if above else rows.pieces(row, self.preview.text)
        strip = Strip(
            self._selected(row, [part for piece in pieces for part in self._segments(*piece, base) if part.text], base)
        )
        if rows.wide:
            strip = strip.crop(self.left, self.left + width)
        return strip.adjust_cell_length(width, base)

    def render_line(self, y: int) -> Strip:
        """The line with the place of each piece in the whole, by which the mouse selects text."""
        row = y + int(self.scroll_offset.y)
        return self.make_line(row).apply_offsets(self.left, row)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._lines_painted.update(crop.line_range)
        return super().render_lines(crop)

    def take_images(self) -> str:
        """What shows the images of those rows that were painted since this was asked for, at their places; "" for none.

        Painting the blanks of a row has taken its image away.
        """
        lines, self._lines_painted = self._lines_painted, set()
        if self._rows is None or self.preview is None:
            return ""
        sent, top = "", int(self.scroll_offset.y)
        for y in sorted(line for line in lines if 0 <= line < self.size.height and top + line < len(self._rows)):
            for _, image, _ in self._rows.pieces(top + y, self.preview.text)[:1]:
                if image.startswith(SIXELS):
                    sent += f"\x1b[{self.region.y + y + 1};{self.region.x + 1}H{image}"
        return f"\x1b7{sent}\x1b8" if sent else ""

    @property
    def left(self) -> int:
        """Cells of a wide table that are left of the pane."""
        wide = self._rows.wide if self._rows is not None else 0
        return min(self._left, max(0, wide - self.text_width))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text under the mouse's selection, in the rows as they are shown."""
        if self.preview is None or self._rows is None:
            return None
        lines = []
        for row in range(len(self._rows)):
            span = selection.get_span(row)
            if span is not None:
                pieces = self._rows.pieces(row, self.preview.text)
                line = "".join(" " * len(piece[0]) if is_picture(piece[1]) else shown(piece[0]) for piece in pieces)
                lines.append(line[span[0] : None if span[1] == -1 else span[1]].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.repaint()

    def action_go(self, action: str) -> None:
        sideways = {"preview-left": -SIDEWAYS, "preview-right": SIDEWAYS}
        if action in sideways:
            wide = self._rows.wide if self._rows is not None else 0
            self._left = max(0, min(self._left + sideways[action], wide - self.text_width))
            self.repaint()
            return
        half, page, whole = max(1, self.size.height // 2), max(1, self.size.height - 1), self.virtual_size.height
        lines = {"down": 1, "half-down": half, "page-down": page, "bottom": whole}
        lines |= {"up": -1, "half-up": -half, "page-up": -page, "top": -whole}
        self.scroll_relative(y=lines[action.removeprefix("preview-")], animate=False)

    def _show_current(self, *, afresh: bool = False) -> None:
        """Bring the current match into view, a third from the top; `afresh`: of a text that begins at its first row."""
        y, height = 0 if afresh else int(self.scroll_offset.y), max(1, self.size.height)
        if self._rows is not None and self.current >= 0:
            row = self._rows.row_of(self._starts[self.current])
            lead = 0 if self.pages is not None else height // 3
            y = y if y <= row < y + height else max(0, row - lead)
        self.scroll_to(y=y, animate=False, force=True, immediate=True)
        self.repaint()

    def _segments(self, text: str, name: str, start: int, base: Style) -> Iterator[Segment]:
        """One piece of a row, matches in their own style; `start` is its place in the text, -1 for none."""
        style = self._style_of(name, base)
        position, end = start, start + len(text)
        index = max(0, bisect_left(self._starts, start) - 1) if start >= 0 and self.preview else len(self._starts)
        while index < len(self._starts) and self._starts[index] < end:
            assert self.preview is not None
            left, right = max(start, self._starts[index]), min(end, self.preview.spans[index][1])
            if left < right and left >= position:
                yield Segment(shown(text[position - start : left - start]), style)
                kind = "preview--current" if index == self.current else "preview--match"
                yield Segment(shown(text[left - start : right - start]), self.get_component_rich_style(kind))
                position = right
            index += 1
        yield Segment(shown(text[position - start :]), style)

    def _style_of(self, name: str, base: Style) -> Style:
        """The style of a name, or of two colours."""
        if name.startswith(SIXELS):  # blanks of another picture are other blanks, and are painted
            return base + Style(meta={"image": hash(name)})
        if is_picture(name):
            color, _, behind = name.partition(" ")
            return base + Style(color=color, bgcolor=behind or None)
        if not name:
            return base
        if name not in self._styles_by_name:
            own = self.get_component_rich_style(f"preview--{name}")
            self._styles_by_name[name] = base + own + Style.from_color(None, base.bgcolor)
        return self._styles_by_name[name]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_by_name.clear()

    def _selected(self, row: int, segments: list[Segment], base: Style) -> list[Segment]:
        """The segments of a row, those under the mouse's selection in reverse."""
        span = self.text_selection.get_span(row) if self.text_selection is not None else None
        if span is None:
            return segments
        start, end, position, found = span[0], span[1], 0, []
        for text, own, _ in segments:
            left = min(max(start - position, 0), len(text))
            right = len(text) if end == -1 else min(max(end - position, left), len(text))
            chosen = (own or base) + Style(reverse=not (own or base).reverse)
            found += [Segment(text[:left], own), Segment(text[left:right], chosen), Segment(text[right:], own)]
            position += len(text)
        return [segment for segment in found if segment.text]


def is_picture(style: str) -> bool:
    """Whether a piece of this style is part of a picture."""
    return style.startswith(("#", SIXELS))


def shown(text: str) -> str:
    """A piece of text as the terminal may get it."""
    return safe_text(text).replace("\t", " " * TAB).replace("\n", " ")


class PreviewPane(Vertical):
    """A heading of two lines over the text."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hit: Hit | None = None
        self.loaded: Hit | None = None
        """the hit whose text is shown; behind `hit` while a worker reads"""
        self.body = PreviewBody(id="preview-body")
        self._heading = ("", "")

    def compose(self) -> ComposeResult:
        yield Static(id="preview-title", markup=False)
        yield Static(id="preview-place", markup=False)
        yield self.body

    def expect(self, hit: Hit | None) -> None:
        """The selection moved to this hit; its text comes later, and the old one stays until then."""
        self.hit = hit
        if hit is None:
            self.loaded = None
            self.body.show_text(None, None)
        self.describe()

    def show(self, hit: Hit, preview: Preview, rows: Rows) -> None:
        """Show the text that a worker read, unless the selection has moved on."""
        if self.hit is not None and hit.doc_id == self.hit.doc_id:
            same = self.loaded is not None and self.loaded.doc_id == hit.doc_id and self.body.preview == preview
            self.loaded = hit
            self.body.show_text(preview, rows, same=same)
            self.describe()

    def add_page(self, message: PageDrawn) -> None:
        """Show a page that a worker drew, unless the selection has moved on."""
        if self.loaded is not None and message.hit.doc_id == self.loaded.doc_id:
            self.body.add_page(message.page, message.width, message.picture)

    def on_preview_scrolled(self) -> None:
        self.describe()

    on_resize = on_preview_scrolled

    def step_match(self, step: int) -> None:
        self.body.step_match(step)
        self.describe()

    def describe(self) -> None:
        """Write the heading anew."""
        hit = self.hit
        width = max(10, self.size.width - 2)
        where = fit(self._where(), width)
        room = width - columns(where) - 2
        place = fit_path(short_path(mailbox_of(hit)), room) if hit and room >= 8 else ""
        gap = " " * (width - columns(place) - columns(where))
        heading = (fit(title_of(hit), width) if hit else "", place + (gap + where if where else ""))
        if heading != self._heading:
            self._heading = heading
            for name, line in zip(("#preview-title", "#preview-place"), heading, strict=True):
                self.query_one(name, Static).update(Text(line, no_wrap=True), layout=False)

    def _where(self) -> str:
        """match 2 of 9 · page 4."""
        hit, preview = self.loaded, self.body.preview
        if hit is None or preview is None or self.hit is None or hit.doc_id != self.hit.doc_id:
            return ""
        line, page = self.body.position
        parts = []
        if preview.spans:
            n_matches = count(len(preview.spans))
            elsewhere = "1 match" if n_matches == "1" else f"{n_matches} matches"
            parts.append(f"match {self.body.current + 1} of {n_matches}" if self.body.sees_match else elsewhere)
        elif not preview.text:
            parts.append(size(hit.size))
        n_pages = self.body.pages.n_pages if self.body.pages is not None else len(preview.pages)
        if preview.text or self.body.pages is not None:
            last = page_name(hit.type, n_pages).removeprefix("page ")
            parts.append(f"{page_name(hit.type, page)} of {last}" if n_pages else f"line {count(line)}")
        if preview.note:
            parts.append(safe_line(preview.note))
        return " · ".join(parts)
