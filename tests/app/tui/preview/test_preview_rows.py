"""Pieces of rows know where they come from, however they are wrapped, coloured or headed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.tui.preview.preview_layout import lay_out
from app.tui.preview.preview_rows import Coloured, Headed, Piece, Rendered, text_cells, wrap_pieces

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
    rows = Coloured(lay_out(text, 19), spans, [start for start, _, _ in spans])
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
