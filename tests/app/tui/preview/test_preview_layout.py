"""Wrapping of previews: nothing lost, nothing too wide, found again by offset."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from app.tui.preview.preview_layout import TAB, lay_out

TEXTS = st.text(st.sampled_from("ab \t\nä漢\u0301"), max_size=120)


@given(TEXTS, st.integers(2, 20))
def test_rows_fit_and_lose_nothing(text: str, width: int) -> None:
    """Every character but the line ends is in exactly one row, and no row is too wide but for a blank at its end."""
    layout = lay_out(text, max(width, TAB))
    rows = [text[start:end] for start, end in zip(layout.starts, layout.ends, strict=True)]
    assert "".join(rows) == text.replace("\n", "")
    assert all(cell_len(row.removesuffix(" ").replace("\t", " " * TAB)) <= max(width, TAB) for row in rows)


@given(TEXTS.filter(bool), st.data())
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
    assert layout.pages == {1: 2, 3: 3}
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
