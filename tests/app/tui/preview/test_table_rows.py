"""Tables: columns aligned, cells cut, quoted cells whole, each cell at its place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.tui.preview.table_rows import WIDEST, delimited_rows

TEXT = 'name,amount,remark\nAnn,9.50,"a, b"\n"Zoë\nLee",1200,' + "x" * 50 + "\n"


def test_columns_are_aligned() -> None:
    """Numbers to the right, what is too long ends in an ellipsis, a quoted cell may hold separators."""
    rendered = delimited_rows(TEXT, 80)
    assert rendered is not None
    rows = ["".join(piece.text for piece in row).rstrip() for row in rendered.rows]
    assert rows[0] == "name     amount  remark"
    assert rows[1] == "Ann        9.50  a, b"
    assert rows[2].endswith("1200  " + "x" * (WIDEST - 1) + "…")
    assert rendered.head == rendered.rows[0]
    assert rendered.wide == 7 + 2 + 6 + 2 + WIDEST + 2
    assert rendered.row_of(TEXT.index("1200")) == 2
    assert rendered.row_of(TEXT.index("9.50")) == 1


def test_separators_are_found_and_a_text_is_no_table() -> None:
    """Semicolons and tabs as well as commas; without one of them there is no table."""
    semicolons = delimited_rows("a;b\n1;2\n", 80)
    tabs = delimited_rows("a\tb\n1\t2\n", 80)
    assert semicolons is not None
    assert tabs is not None
    assert len(semicolons) == len(tabs) == 2
    assert delimited_rows("plain words\n", 80) is None
    assert delimited_rows("", 80) is None


def test_a_sheet_has_its_name_above_and_its_columns_in_place() -> None:
    """The name of a sheet widens no column; an empty cell on the left is one."""
    rendered = delimited_rows("A name of a sheet\na\tb\n\tcc\n", 80, separators="\t")
    assert rendered is not None
    rows = ["".join(piece.text for piece in row).rstrip() for row in rendered.rows]
    assert rows == ["A name of a sheet", "a  b", "   cc"]
    assert rendered.head == rendered.rows[1]


@given(st.text(st.sampled_from('ab,"\n;\r漢 1'), max_size=80))
def test_any_text_keeps_its_places(text: str) -> None:
    """Whatever the quotes, what is shown of a cell stands at its place."""
    rendered = delimited_rows("a,b\n" + text, 40)
    assert rendered is not None
    for row in rendered.rows:
        for piece in row:
            assert piece.start < 0 or ("a,b\n" + text)[piece.start : piece.start + len(piece.text)] == piece.text


def test_a_file_of_separators_alone_is_no_table() -> None:
    """It is shown as it is written."""
    assert [delimited_rows(text, 40) for text in (",,,\n", "|", '""\n,', "\n;;\n")] == [None] * 4
