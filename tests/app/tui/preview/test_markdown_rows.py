"""Markdown as people read it, with each character at its place."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.tui.preview.markdown_rows import LONGEST, markdown_rows
from app.tui.preview.preview_rows import cells

TEXT = """# Okapi *BM25*

A `rank` by **Robertson**, see [Wiki](https://example.org) and
snake_case_names.

* one
  - two
1. three
- [x] done

> quoted words

```python
a = "*b*"
```

| k | value |
|---|------:|
| b | 0.75 |

---
"""


def _shown(text: str, width: int = 60) -> list[str]:
    rows = markdown_rows(text, width).rows
    return ["".join(piece.text for piece in row).rstrip() for row in rows]


def test_a_page_of_markdown() -> None:
    """Marks are taken away, paragraphs joined, lists, quotations, code and tables stand as they are meant."""
    assert [row for row in _shown(TEXT) if row] == [
        "# Okapi BM25",
        "A rank by Robertson, see Wiki and snake_case_names.",
        "• one",
        "  • two",
        "1. three",
        "☑ done",
        "▎ quoted words",
        '▏ a = "*b*"',
        "k  value",
        "b   0.75",
        "─" * 40,
    ]


def test_blank_lines_part_blocks_and_are_no_blocks() -> None:
    """None at the beginning (where front matter was), one for several between; every row knows its place."""
    assert _shown("\n\n\none\n\n\n\ntwo\n") == ["one", "", "two"]
    assert markdown_rows("\n\n\none\n\n\n\ntwo\n", 60).starts == (3, 7, 10)


def test_headings_by_a_rule_below_and_code_by_its_indentation() -> None:
    """As in older notes; what goes on under an item of a list is no code."""
    text = "Title\n=====\n\nSub\n---\n\n    a = 1\n\n    b = 2\n\n* one\n\n    more\n"
    assert [row for row in _shown(text) if row] == [
        "# Title",
        "## Sub",
        "▏     a = 1",
        "▏",
        "▏     b = 2",
        "• one",
        "more",
    ]


def test_code_that_is_never_closed_goes_on_to_the_end() -> None:
    """Its last line too, whatever it is; a line that closes is not shown."""
    assert _shown("```\na\nb") == _shown("```\na\nb\n```") == ["▏ a", "▏ b"]
    assert _shown("~~~\na\n...") == ["▏ a", "▏ ..."]
    assert _shown("```") == []


def test_styles() -> None:
    """What was between marks has the style of the marks."""
    styles = {piece.text: piece.style for row in markdown_rows(TEXT, 60).rows for piece in row}
    assert [styles[name] for name in ("rank", "Robertson", "Wiki", "Okapi ", "BM25", 'a = "*b*"')] == [
        "code", "strong", "link", "heading", "heading", "code",
    ]  # fmt: skip


@given(st.text(st.sampled_from("ab *_`#>-|[]()~\n\t1.漢"), max_size=120), st.integers(4, 30))
@example(TEXT, 60)
def test_any_text_keeps_its_places_and_fits(text: str, width: int) -> None:
    """Nothing is shown that does not stand at its place, rows are in order, and no line is lost in a fence."""
    rendered = markdown_rows(text, width)
    assert list(rendered.starts) == sorted(rendered.starts)
    for row in rendered.rows:
        for piece in row:
            assert piece.start < 0 or text[piece.start : piece.start + len(piece.text)].replace("\n", " ") == piece.text
    for offset in range(len(text)):
        assert 0 <= rendered.row_of(offset) < max(1, len(rendered))


def test_long_paragraphs_are_wrapped() -> None:
    """No row is wider than the pane but for the blank at which it was broken."""
    rendered = markdown_rows("* " + "word " * 50, 22)
    assert all(cells(row) <= 23 for row in rendered.rows)
    assert all(row[0].text == "  " for row in rendered.rows[1:])


def test_what_stands_before_a_note_is_one_block() -> None:
    """Properties between lines of `---` are shown as they are, and are no heading; without an end all is shown."""
    assert _shown("---\ntitle: Okapi\n---\nwords") == [*_shown("---\ntitle: Okapi\n---"), "words"]
    assert "title: Okapi" in " ".join(_shown("---\ntitle: Okapi\n"))


@pytest.mark.parametrize("unit", ["[", "[[", "**a ", "__a ", "`a` ", "[a](x"])
def test_a_line_of_signs_is_shown_in_no_time(unit: str) -> None:
    """A worker that looks for the end of each would hold the whole screen up for minutes."""
    started = time.process_time()
    markdown_rows(unit * (LONGEST // len(unit)), 60)
    markdown_rows(f"a|b\n{' ' * 60_000}|x", 60)
    assert time.process_time() - started < 5
