"""What the rows of a preview are made of: pieces that know their place in the text, so that matches stay marked.

A text as written is two lists of offsets (`Layout`): nothing is copied, and only the rows in view are ever styled.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

import msgspec
from rich.cells import get_character_cell_size

TAB = 4
"""cells that a tab may take at most"""


class Piece(NamedTuple):
    """A part of a row in one style."""

    text: str
    style: str = ""
    """"" for plain, a name of STYLES, the colours of a part of a picture ("#aabbcc #112233", "#aabbcc"), or of blanks
    that stand for a row of one its image in sixels"""
    start: int = -1
    """where its first character stands in the document's text; -1 for what does not stand there"""


Row = tuple[Piece, ...]
SIXELS = "\x1bP"
"""how an image in sixels begins"""
STYLES = (
    "heading", "code", "strong", "emphasis", "quiet", "link", "keyword", "name", "string", "comment", "number", "label",
)  # fmt: skip
"""the names of styles; each is a component class of the preview"""
MOST_AWAY = 4
"""pages that a drawn page may be away from the one drawn last"""


class Unpinned(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of which none stays in view and none is wider than the pane."""

    head: Row = ()
    """a row that stays at the top, as the names of a table's columns"""
    wide: int = 0
    """cells of the widest row where rows are not wrapped, else 0"""


class Layout(Unpinned, frozen=True):
    """The rows of one text as written at one width: row i shows text[starts[i]:ends[i]]."""

    width: int
    """cells"""
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    pages: dict[int, str]
    """row -> name, as "page 7", for the rows that only say where a page begins"""
    spans: Sequence[tuple[int, int, str]] = ()
    """(start, end, style) of parts in colour, ascending, without overlap"""

    def row_of(self, offset: int) -> int:
        """The row that shows the character at `offset`."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def offset_of(self, row: int) -> int:
        """Where in the text a row begins."""
        return self.starts[row]

    def pieces(self, row: int, text: str) -> Row:
        """The row cut where colours change."""
        if row in self.pages:
            return (page_rule(self.pages[row], self.width),)
        position, end = self.starts[row], self.ends[row]
        found: list[Piece] = []
        for left, right, style in self.spans[max(0, bisect_right(self.spans, position, key=itemgetter(0)) - 1) :]:
            if left >= end:
                break
            left, right = max(left, position), min(right, end)
            if left < right:
                found += Piece(text[position:left], "", position), Piece(text[left:right], style, left)
                position = right
        return (*found, Piece(text[position:end], "", position))

    def __len__(self) -> int:
        return len(self.starts)


def page_rule(name: str, width: int) -> Piece:
    """The line that says where a page begins."""
    rule = f"── {name} "
    return Piece(rule + "─" * max(0, width - len(rule)), "quiet")


def lay_out(
    text: str, width: int, *, pages: Sequence[int] = (), named: Callable[[int], str] = "page {}".format,
    is_letter: bool = False,
) -> Layout:  # fmt: skip
    """Wrap `text` at `width` cells, at spaces where there are some, with a row before each page after the first.

    In a letter (`is_letter`) lines that were broken by hand are joined where the paragraph plainly goes on.
    """
    width = max(1, width)
    starts: list[int] = []
    ends: list[int] = []
    page_rows: dict[int, str] = {}
    waiting = [(offset, number) for number, offset in enumerate(pages, start=1) if number > 1]
    waiting.reverse()
    for start, end in _lines(text, [offset for offset, _ in reversed(waiting)], is_letter=is_letter):
        while waiting and waiting[-1][0] <= start:
            page_rows[len(starts)] = named(waiting.pop()[1])
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


class Rendered(Unpinned, frozen=True):
    """The rows of a text that is not shown as written."""

    width: int
    """cells that it was made for"""
    rows: tuple[Row, ...]
    starts: tuple[int, ...]
    """per row, where in the text it stands, ascending"""

    def row_of(self, offset: int) -> int:
        """The row that shows the character at `offset`, or stands nearest before it."""
        row = max(0, bisect_right(self.starts, offset) - 1)
        while (
            row
            and self.starts[row - 1] == self.starts[row]
            and not any(
                piece.start <= offset < piece.start + len(piece.text) for piece in self.rows[row] if piece.start >= 0
            )
        ):
            row -= 1
        return row

    def offset_of(self, row: int) -> int:
        return self.starts[row]

    def pieces(self, row: int, text: str) -> Row:
        return self.rows[row]

    def __len__(self) -> int:
        return len(self.rows)


class PagePictures(Unpinned, frozen=True):
    """The pages of a document as pictures, one below the other; each is drawn once it comes into view."""

    width: int
    page_height: int
    """rows of each page, its number among them"""
    n_pages: int
    begins: tuple[int, ...] = ()
    """where in the text each page begins; () for a document without text"""
    drawn: Mapping[int, tuple[Row, ...]] = msgspec.field(default_factory=dict)
    """page, counted from 0 -> its picture"""

    def row_of(self, offset: int) -> int:
        """The first row of the page that the character at `offset` stands on."""
        return min(max(0, bisect_right(self.begins, offset) - 1), self.n_pages - 1) * self.page_height

    def offset_of(self, row: int) -> int:
        """Where in the text the page of a row begins."""
        page = row // self.page_height
        return self.begins[page] if page < len(self.begins) else 0

    def pieces(self, row: int, text: str) -> Row:
        """The number of a page, then its picture, row by row."""
        page, line = divmod(row, self.page_height)
        if line == 0:
            return (page_rule(f"page {page + 1}", self.width),)
        picture = self.drawn.get(page, ((Piece("…", "quiet"),),))
        return picture[line - 1] if line <= len(picture) else ()

    def in_view(self, row: int, height: int) -> range:
        """The pages of which `height` rows from `row` on show something."""
        return range(row // self.page_height, min(self.n_pages, (row + height - 1) // self.page_height + 1))

    def with_page(self, page: int, picture: tuple[Row, ...]) -> PagePictures:
        """The same with one page more, and without those that are far from it."""
        near = {other: rows for other, rows in self.drawn.items() if abs(other - page) <= MOST_AWAY}
        return msgspec.structs.replace(self, drawn=near | {page: picture})

    def __len__(self) -> int:
        return self.n_pages * self.page_height


class Headed(msgspec.Struct, frozen=True):
    """Rows with some others above them: what the document is, before its text."""

    above: tuple[Row, ...]
    below: Layout | Rendered | Headed

    @property
    def width(self) -> int:
        return self.below.width

    @property
    def head(self) -> Row:
        return self.below.head

    @property
    def wide(self) -> int:
        return self.below.wide

    def row_of(self, offset: int) -> int:
        """As that of the text, further down."""
        return len(self.above) + self.below.row_of(offset)

    def offset_of(self, row: int) -> int:
        """The text begins at 0, and so does what stands above it."""
        return self.below.offset_of(row - len(self.above)) if row >= len(self.above) and len(self.below) else 0

    def pieces(self, row: int, text: str) -> Row:
        return self.above[row] if row < len(self.above) else self.below.pieces(row - len(self.above), text)

    def __len__(self) -> int:
        return len(self.above) + len(self.below)


Rows = Layout | Rendered | Headed | PagePictures
"""what the preview can show"""


def wrap_pieces(pieces: Iterable[Piece], width: int, *, first: Row = (), rest: Row = ()) -> list[Row]:
    """Pieces in rows of at most `width` cells, broken at blanks; `first` and `rest` stand before the rows."""
    held = [piece for piece in pieces if piece.text]
    line = "".join(piece.text for piece in held).replace("\n", " ")
    room = max(1, width - max(cells(first), cells(rest)))
    rows: list[Row] = []
    ends = list(accumulate(len(piece.text) for piece in held))
    for start, end in wrapped(line, 0, len(line), room):
        rows.append((*(rest if rows else first), *_between(held, ends, start, end)))
    return rows or [first]


def _between(pieces: Sequence[Piece], ends: Sequence[int], start: int, end: int) -> Iterable[Piece]:
    """The parts of pieces, laid end to end up to `ends`, that stand between two places."""
    for i in range(bisect_right(ends, start), min(bisect_left(ends, end) + 1, len(ends))):
        piece, begin = pieces[i], ends[i] - len(pieces[i].text)
        left, right = max(start - begin, 0), min(end - begin, len(piece.text))
        if left < right:
            yield Piece(piece.text[left:right], piece.style, piece.start + left if piece.start >= 0 else -1)


def cells(row: Iterable[Piece]) -> int:
    return sum(text_cells(piece.text) for piece in row)


def text_cells(text: str) -> int:
    """Cells of a text as the preview shows it: character by character, a tab as `TAB`, a line end as a blank."""
    if text.isascii() and "\t" not in text:
        return len(text)
    return sum(
        TAB if character == "\t" else 1 if character == "\n" else get_character_cell_size(character)
        for character in text
    )
