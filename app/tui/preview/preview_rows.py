"""What the rows of a rendered preview are made of: pieces that know where in the text they come from.

So a match stays marked however its text is shown, and is found again in the rows (`row_of`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace
from rich.cells import get_character_cell_size

from app.tui.preview.preview_layout import TAB, Layout, wrapped


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


class Rendered(Struct, frozen=True):
    """The rows of a text that is not shown as written."""

    width: int
    """cells that it was made for"""
    rows: tuple[Row, ...]
    starts: tuple[int, ...]
    """per row, where in the text it stands, ascending"""
    head: Row = ()
    """a row that stays at the top, as the names of a table's columns"""
    wide: int = 0
    """cells of the widest row where rows are not wrapped, else 0"""

    def row_of(self, offset: int) -> int:
        """The row that shows the character at `offset`, or stands nearest before it."""
        row = max(0, bisect_right(self.starts, offset) - 1)
        while row and self.starts[row - 1] == self.starts[row] and not _holds(self.rows[row], offset):
            row -= 1
        return row

    def offset_of(self, row: int) -> int:
        """Where in the text a row begins."""
        return self.starts[row]

    def pieces(self, row: int, text: str) -> Row:
        """The pieces of one row."""
        return self.rows[row]

    def __len__(self) -> int:
        return len(self.rows)


class Coloured(Struct, frozen=True):
    """Rows as written, parts of them in colour."""

    layout: Layout
    spans: Sequence[tuple[int, int, str]]
    """(start, end, style), ascending, without overlap"""
    starts: Sequence[int]
    """those of `spans`"""
    head: Row = ()
    wide: int = 0

    @property
    def width(self) -> int:
        return self.layout.width

    def row_of(self, offset: int) -> int:
        """As that of the layout."""
        return self.layout.row_of(offset)

    def offset_of(self, row: int) -> int:
        """As that of the layout."""
        return self.layout.offset_of(row)

    def pieces(self, row: int, text: str) -> Row:
        """The row cut where colours change."""
        (whole,) = self.layout.pieces(row, text)
        if whole[2] < 0:
            return (Piece(*whole),)
        position, end = whole[2], whole[2] + len(whole[0])
        found: list[Piece] = []
        for left, right, style in self.spans[max(0, bisect_right(self.starts, position) - 1) :]:
            if left >= end:
                break
            left, right = max(left, position), min(right, end)
            if left < right:
                found.append(Piece(text[position:left], "", position))
                found.append(Piece(text[left:right], style, left))
                position = right
        return (*found, Piece(text[position:end], "", position))

    def __len__(self) -> int:
        return len(self.layout)


def _holds(row: Row, offset: int) -> bool:
    return any(piece.start <= offset < piece.start + len(piece.text) for piece in row if piece.start >= 0)


class PagePictures(Struct, frozen=True):
    """The pages of a document as pictures, one below the other; each is drawn once it comes into view."""

    width: int
    page_height: int
    """rows of each page, its number among them"""
    n_pages: int
    begins: tuple[int, ...] = ()
    """where in the text each page begins; () for a document without text"""
    drawn: Mapping[int, tuple[Row, ...]] = field(default_factory=dict)
    """page, counted from 0 -> its picture"""
    head: Row = ()
    wide: int = 0

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
            rule = f"── page {page + 1} "
            return (Piece(rule + "─" * max(0, self.width - len(rule)), "quiet"),)
        picture = self.drawn.get(page, ((Piece("…", "quiet"),),))
        return picture[line - 1] if line <= len(picture) else ()

    def in_view(self, row: int, height: int) -> range:
        """The pages of which `height` rows from `row` on show something."""
        return range(row // self.page_height, min(self.n_pages, (row + height - 1) // self.page_height + 1))

    def with_page(self, page: int, picture: tuple[Row, ...]) -> PagePictures:
        """The same with one page more, and without those that are far from it."""
        near = {other: rows for other, rows in self.drawn.items() if abs(other - page) <= MOST_AWAY}
        return replace(self, drawn=near | {page: picture})

    def __len__(self) -> int:
        return self.n_pages * self.page_height


class Headed(Struct, frozen=True):
    """Rows with some others above them: what the document is, before its text."""

    above: tuple[Row, ...]
    below: Layout | Rendered | Coloured | Headed

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

    def pieces(self, row: int, text: str) -> Sequence[tuple[str, str, int]]:
        """The pieces of one row."""
        return self.above[row] if row < len(self.above) else self.below.pieces(row - len(self.above), text)

    def __len__(self) -> int:
        return len(self.above) + len(self.below)


Rows = Layout | Rendered | Coloured | Headed | PagePictures
"""what the preview can show"""


def wrap_pieces(pieces: Iterable[Piece], width: int, *, first: Row = (), rest: Row = ()) -> list[Row]:
    """Pieces in rows of at most `width` cells, broken at blanks; `first` and `rest` stand before the rows."""
    held = [piece for piece in pieces if piece.text]
    line = "".join(piece.text for piece in held).replace("\n", " ")
    room = max(1, width - max(cells(first), cells(rest)))
    rows: list[Row] = []
    for start, end in wrapped(line, 0, len(line), room):
        rows.append((*(rest if rows else first), *_between(held, start, end)))
    return rows or [first]


def _between(pieces: Sequence[Piece], start: int, end: int) -> Iterable[Piece]:
    """The parts of pieces, laid end to end, that stand between two places."""
    position = 0
    for piece in pieces:
        left, right = max(start - position, 0), min(end - position, len(piece.text))
        if left < right:
            yield Piece(piece.text[left:right], piece.style, piece.start + left if piece.start >= 0 else -1)
        position += len(piece.text)


def cells(row: Iterable[Piece]) -> int:
    """Cells that pieces take."""
    return sum(text_cells(piece.text) for piece in row)


def text_cells(text: str) -> int:
    """Cells of a text as the preview shows it: character by character, a tab as `TAB`, a line end as a blank."""
    if text.isascii() and "\t" not in text:
        return len(text)
    return sum(
        TAB if character == "\t" else 1 if character == "\n" else get_character_cell_size(character)
        for character in text
    )
