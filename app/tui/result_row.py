"""One result as three lines of text: title and marks, snippet, path with type and date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from app.search.results import Hit, Snippet
from app.tui.wording import day, fit, fit_path, safe_line, short_path

HEIGHT = 3
"""lines of one result"""


@dataclass(frozen=True, slots=True)
class RowStyles:
    """The styles of one row, each complete."""

    base: Style
    bar: Style
    title: Style
    snippet: Style
    match: Style
    dim: Style
    mark: Style
    warning: Style


def title_of(hit: Hit) -> str:
    """The title, or the name of the file where a document has none; a part of a file says which."""
    name = hit.title or short_path(hit.path).rsplit("/", 1)[-1]
    return safe_line(name).strip() or "untitled"


def marks_of(hit: Hit, order: str) -> str:
    """What is special about a result: places gained or lost against BM25, copies, a file that is gone."""
    marks = []
    if hit.missing:
        marks.append("file is gone")
    if hit.copies:
        marks.append(f"+{len(hit.copies)}")
    moved = hit.bm25_rank - hit.rank
    if order == "learned" and moved and hit.bm25_rank > 0:
        marks.append(f"↑{moved}" if moved > 0 else f"↓{-moved}")
    return "  ".join(marks)


def row_lines(
    hit: Hit, *, snippet: Snippet | None, order: str, width: int, styles: RowStyles, now: float, chosen: bool
) -> tuple[Strip, Strip, Strip]:
    """The three lines of one result, each exactly `width` cells wide."""
    bar = ("▌ " if chosen else "  ", styles.bar)
    room = max(0, width - 3)
    marks = marks_of(hit, order)
    title_room = room - (cell_len(marks) + 2 if marks else 0)
    title_style = styles.title + Style(strike=True, bold=False) if hit.missing else styles.title
    first = [bar, (fit(title_of(hit), title_room), title_style)]
    right = " · ".join(part for part in (hit.type, day(hit.modified, now)) if part)
    place = short_path(hit.path) + (f" › {safe_line(hit.part)}" if hit.part else "")
    third = [bar, (fit_path(place, max(8, room - cell_len(right) - 2)), styles.dim)]
    return (
        _line(first, [(marks, styles.warning if hit.missing else styles.mark)], width, styles.base),
        _snippet_line(bar, snippet, room=room, width=width, styles=styles),
        _line(third, [(right, styles.dim)], width, styles.base),
    )


def _line(left: Iterable[tuple[str, Style]], right: Iterable[tuple[str, Style]], width: int, base: Style) -> Strip:
    """`left` from the left edge and `right` up to one cell before the right edge."""
    lefts = [(text, style) for text, style in left if text]
    rights = [(text, style) for text, style in right if text]
    used = sum(cell_len(text) for text, _ in (*lefts, *rights))
    gap = [(" " * max(1, width - 1 - used), base)]
    strip = Strip([Segment(text, style) for text, style in (*lefts, *gap, *rights)])
    return strip.adjust_cell_length(width, base)


def _snippet_line(
    bar: tuple[str, Style], snippet: Snippet | None, *, room: int, width: int, styles: RowStyles
) -> Strip:
    text = Text(safe_line(snippet.text) if snippet else "", style=styles.snippet)
    for start, end in snippet.spans if snippet else ():
        text.stylize(styles.match, start, end)
    text.truncate(room, overflow="ellipsis")
    line = Text.assemble(bar, text)
    return Strip([*_segments(line)]).adjust_cell_length(width, styles.base)


def _segments(text: Text) -> Iterable[Segment]:
    """The segments of a text that was already cut to its room, without a console's own wrapping."""
    cuts = sorted({0, len(text.plain), *(edge for span in text.spans for edge in (span.start, span.end))})
    for start, end in pairwise(cuts):
        over = (span.style for span in text.spans if span.start <= start and end <= span.end)
        style = Style.combine([Style.null(), *(one for one in over if isinstance(one, Style))])
        yield Segment(text.plain[start:end], style)
