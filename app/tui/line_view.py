"""A scrolling list of lines that repaints only the lines that changed and never lays the screen out anew.

Textual lays the whole screen out when the scrollable size changes, and repaints a whole widget when anything in it
changes. Here room for the scroll bar is always reserved, so a longer text moves nothing; and as one page of results
differs from the next in few lines, a remote terminal gets little to draw.
"""

from __future__ import annotations

from typing import Self

from rich.style import Style
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip


class LineView(ScrollView):
    """Base class of widgets that make their lines one by one (`make_line`)."""

    DEFAULT_CSS = "LineView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }"
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._painted: dict[int, Strip] = {}
        """the lines in view as they were last made, by their place in it"""
        self._base: Style | None = None

    @property
    def base_style(self) -> Style:
        """`rich_style`, for which Textual asks all the widgets around, looked up once."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def make_line(self, row: int) -> Strip:
        """Line `row` of all that can be scrolled through, `text_width` cells wide; blank past the end."""
        raise NotImplementedError

    @property
    def text_width(self) -> int:
        """Cells of a line: all but the scroll bar."""
        return max(0, self.scrollable_content_region.width)

    def set_length(self, n_lines: int) -> None:
        """Set how many lines can be scrolled through."""
        height = max(n_lines, self.size.height)
        if self.virtual_size != (self.text_width, height):
            self.virtual_size = Size(self.text_width, height)
            bar = self.vertical_scrollbar
            bar.window_size, bar.window_virtual_size = self.size.height, height

    def repaint(self) -> None:
        """Paint the lines in view that have changed."""
        top, changed = int(self.scroll_offset.y), []
        for y in range(self.size.height):
            line = self.make_line(top + y)
            if self._painted.get(y) != line:
                self._painted[y] = line
                changed.append(y)
        if changed:
            super().refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def refresh(self, *regions: Region, **what: bool) -> Self:
        """As in every widget, but lines are made anew when anything other than `repaint` asks for it."""
        if regions:
            for y in {y for region in regions for y in region.line_range}:
                self._painted.pop(y, None)
        else:
            self._forget()
        return super().refresh(*regions, **what)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._forget()

    def _forget(self) -> None:
        self._painted.clear()
        self._base = None

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines as they are, without Textual's checks of each for borders, padding and opacity: there are none."""
        top, width, text_width = int(self.scroll_offset.y), self.region.width, self.text_width
        filters, background = self.get_line_filters(), self.background_colors[1]
        lines = []
        for y in crop.line_range:
            line = self._painted.get(y)
            if line is None or line.cell_length != text_width:
                line = self._painted[y] = self.make_line(top + y)
            line = line.adjust_cell_length(width, self.base_style)
            for line_filter in filters:
                line = line.apply_filter(line_filter, background)
            lines.append(line)
        return lines if crop.column_span == (0, width) else [line.crop(*crop.column_span) for line in lines]

    def render_line(self, y: int) -> Strip:
        """The line at a place, as Textual asks for it where the mouse is."""
        return self.make_line(y + int(self.scroll_offset.y))
