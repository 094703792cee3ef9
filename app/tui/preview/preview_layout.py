"""Wrapping a document's text to the width of the preview pane, away from the screen's thread.

A layout is two lists of offsets: row i shows text[starts[i]:ends[i]]. Nothing is copied, so a text of 4 MB costs
little more than its own size, and only the rows in view are ever styled.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import get_character_cell_size

TAB = 4
"""cells that a tab may take at most"""


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of one text at one width."""

    width: int
    """cells"""
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    pages: dict[int, int]
    """row -> page number, for the rows that only say where a page begins"""

    def row_of(self, offset: int) -> int:
        """The row that shows the character at `offset`."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def offset_of(self, row: int) -> int:
        """Where in the text a row begins."""
        return self.starts[row]

    def pieces(self, row: int, text: str) -> tuple[tuple[str, str, int]]:
        """The row as one piece: its text, its style, and where it stands in `text` (-1: nowhere)."""
        if row in self.pages:
            rule = f"── page {self.pages[row]} "
            return ((rule + "─" * max(0, self.width - len(rule)), "quiet", -1),)
        return ((text[self.starts[row] : self.ends[row]], "", self.starts[row]),)

    @property
    def head(self) -> tuple[()]:
        """Nothing stays at the top of a text."""
        return ()

    @property
    def wide(self) -> int:
        """No row is wider than the pane."""
        return 0

    def __len__(self) -> int:
        return len(self.starts)


def lay_out(text: str, width: int, *, pages: Sequence[int] = (), is_letter: bool = False) -> Layout:
    """Wrap `text` at `width` cells, at spaces where there are some, with a row before each page after the first.

    In a letter (`is_letter`) lines that were broken by hand are joined where the paragraph plainly goes on.
    """
    width = max(1, width)
    starts: list[int] = []
    ends: list[int] = []
    page_rows: dict[int, int] = {}
    waiting = [(offset, number) for number, offset in enumerate(pages, start=1) if number > 1]
    waiting.reverse()
    for start, end in _lines(text, [offset for offset, _ in reversed(waiting)], is_letter=is_letter):
        while waiting and waiting[-1][0] <= start:
            page_rows[len(starts)] = waiting.pop()[1]
            starts.append(start)
            ends.append(start)
        for row_start, row_end in wrapped(text, start, end, width):
            starts.append(row_start)
            ends.append(row_end)
    return Layout(width=width, starts=tuple(starts), ends=tuple(ends), pages=page_rows)


BROKEN_AT = range(55, 82)
"""characters of a line that was broken by hand or by a mail program"""


def _end_of_line(text: str, start: int, *, is_letter: bool) -> int:
    """Where the line that begins at `start` ends, with those that it was broken into."""
    end = text.find("\n", start)
    while (
        is_letter and end > 0 and end - start in BROKEN_AT and text[start] != ">" and text[end + 1 : end + 2].isalnum()
    ):
        start, end = end + 1, text.find("\n", end + 1)
    return len(text) if end < 0 else end


def _lines(text: str, cuts: Sequence[int], *, is_letter: bool) -> Iterator[tuple[int, int]]:
    """[start, end) of each line without its line end; a page that begins inside a line begins a new one."""
    start, next_cut = 0, 0
    while start < len(text):
        end = _end_of_line(text, start, is_letter=is_letter)
        while next_cut < len(cuts) and cuts[next_cut] <= start:
            next_cut += 1
        if next_cut < len(cuts) and start < cuts[next_cut] <= end:
            yield start, cuts[next_cut]
            start = cuts[next_cut]
        else:
            yield start, end
            start = end + 1


def wrapped(text: str, start: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    """[start, end) of each row of one line; an empty line is one empty row. A blank at the end may not fit."""
    line = text[start:end].replace("\n", " ")
    plain = line.isascii() and "\t" not in line
    if plain and len(line) <= width:
        yield start, end
        return
    position = 0
    while position < len(line):
        stop = position + width if plain else _fitting(line, position, width)
        if stop < len(line):
            blank = line.rfind(" ", position + 1, stop + 1)
            stop = blank + 1 if blank > position + width // 3 else stop
        stop = min(stop, len(line))
        yield start + position, start + stop
        position = stop


def _fitting(line: str, position: int, width: int) -> int:
    """Where a row that begins at `position` must end so that its characters take at most `width` cells."""
    cells = 0
    for index in range(position, len(line)):
        cells += TAB if line[index] == "\t" else get_character_cell_size(line[index])
        if cells > width:
            return max(index, position + 1)
    return len(line)
