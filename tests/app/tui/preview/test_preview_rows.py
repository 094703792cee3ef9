"""Rows of previews: nothing lost, nothing too wide, found again by offset, however they are wrapped or coloured."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from app.tui.preview.preview_rows import TAB, Headed, Piece, Rendered, lay_out, text_cells, wrap_pieces

TEXTS = st.text(st.sampled_from("ab \tä漢\u0301"), max_size=80)


@given(st.lists(TEXTS, max_size=5), st.integers(6, 20))
def test_wrapping_loses_nothing(texts: list[str], width: int) -> None:
    """Every character is in one row, in order, at its place; no row is too wide but for a blank at its end."""
    whole = "".join(texts)
    pieces, position = [], 0
    for text in texts:
        pieces.append(Piece(text, "", position))
        position += len(text)
    mark = (Piece("> ", "quiet"),)
    rows = wrap_pieces(pieces, width, first=mark, rest=mark)
    assert "".join(piece.text for row in rows for piece in row[1:]) == whole
    assert all(whole[p.start : p.start + len(p.text)] == p.text for row in rows for p in row[1:])
    assert all(text_cells("".join(piece.text for piece in row).removesuffix(" ")) <= width for row in rows)


def test_colours_cut_a_row_where_they_change() -> None:
    """Text without colour between two spans; a span that goes on in the next row is cut at its end."""
    text = "def f(x): return 12345"
    spans = [(0, 3, "keyword"), (10, 16, "keyword"), (17, 22, "number")]
    rows = replace(lay_out(text, 19), spans=spans)
    shown = [[(piece.text, piece.style) for piece in rows.pieces(n, text) if piece.text] for n in range(len(rows))]
    assert shown == [
        [("def", "keyword"), (" f(x): ", ""), ("return", "keyword"), (" ", "")],
        [("12345", "number")],
    ]


def test_rows_above_a_text_move_it_down() -> None:
    """Two rows above: the first row of the text is the third."""
    rows = Headed(((Piece("From Ann"),), ()), lay_out("one\ntwo", 10))
    assert [rows.row_of(offset) for offset in (0, 4)] == [2, 3]
    assert [rows.offset_of(row) for row in range(4)] == [0, 0, 0, 4]
    assert [[text for text, _, _ in rows.pieces(row, "one\ntwo")] for row in range(4)] == [
        ["From Ann"], [], ["one"], ["two"],
    ]  # fmt: skip


def test_an_offset_is_found_in_the_row_that_shows_it() -> None:
    """Of rows that begin at the same place, the one that holds the character."""
    rows = Rendered(9, ((Piece("a", "", 4),), (Piece("b", "", 0),), (Piece("c", "", 9),)), (0, 0, 9))
    assert [rows.row_of(offset) for offset in (0, 4, 9)] == [1, 0, 2]


LINES = st.text(st.sampled_from("ab \t\nä漢\u0301"), max_size=120)


@given(LINES, st.integers(2, 20))
def test_rows_fit_and_lose_nothing(text: str, width: int) -> None:
    """Every character but the line ends is in exactly one row, and no row is too wide but for a blank at its end."""
    layout = lay_out(text, max(width, TAB))
    rows = [text[start:end] for start, end in zip(layout.starts, layout.ends, strict=True)]
    assert "".join(rows) == text.replace("\n", "")
    assert all(cell_len(row.removesuffix(" ").replace("\t", " " * TAB)) <= max(width, TAB) for row in rows)


@given(LINES.filter(bool), st.data())
def test_every_offset_is_in_its_row(text: str, data: st.DataObject) -> None:
    """The row of an offset is the one that shows it; a line end belongs to the row before it."""
    offset = data.draw(st.integers(0, len(text) - 1))
    layout = lay_out(text, 8)
    row = layout.row_of(offset)
    assert layout.starts[row] <= offset
    assert offset < layout.ends[row] or text[offset] == "\n"


def test_rows_break_at_spaces() -> None:
    """A word is not cut where a space is near."""
    layout = lay_out("one two three", 8)
    assert [("one two three")[a:b] for a, b in zip(layout.starts, layout.ends, strict=True)] == ["one two ", "three"]


def test_pages_after_the_first_are_announced() -> None:
    """Each page but the first has a row before it that only says so, even where it begins inside a line."""
    layout = lay_out("aaa\nbbbccc\n", 10, pages=(0, 4, 7))
    assert layout.pages == {1: "page 2", 3: "page 3"}
    assert layout.starts == (0, 4, 4, 7, 7)
    assert layout.row_of(4) == 2
    assert layout.row_of(8) == 4


def test_an_empty_text_has_no_rows() -> None:
    """Nothing is nothing."""
    assert len(lay_out("", 10)) == 0


LETTER = """Dear Ole,

the council has agreed to one turbine, which will be complete in the summer of
next year, and to its
management by us.
> a line that was quoted from the letter before, as long as one of its own lines
> and the next
Anna
"""


def test_a_letter_is_not_wrapped_into_rags() -> None:
    """What was broken near the 72nd column goes on in one row; short lines and quotations stay as they are."""
    layout = lay_out(LETTER, 50, is_letter=True)
    rows = ["".join(text for text, _, _ in layout.pieces(row, LETTER)).replace("\n", " ") for row in range(len(layout))]
    assert rows == [
        "Dear Ole,", "",
        "the council has agreed to one turbine, which will ", "be complete in the summer of next year, and to its",
        "management by us.",
        "> a line that was quoted from the letter before, ", "as long as one of its own lines", "> and the next",
        "Anna",
    ]  # fmt: skip


def test_any_other_text_keeps_its_lines() -> None:
    """The same text, where it is no letter."""
    assert len(lay_out(LETTER, 200)) == LETTER.count("\n")
