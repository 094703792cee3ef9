"""What a line of Markdown is: the same for titles, tags, snippets and the preview."""

from __future__ import annotations

import pytest

from app.search.headings import heading_over
from app.search.snippets import without_marks as without_line_marks
from app.tui.preview.markdown_rows import markdown_rows
from indexer.extract.markup.notes import extract_markdown
from indexer.extract.source import Limits, Source
from indexer.text.markdown import CODE, FENCE, FRONT_MATTER, HASHES, UNDERLINE, without_marks

CODE_IN_A_LIST = "Backup\n\n1. Run\n\n   ```sh\n   # mount #disk [[first]]\n   ```\n\nend\n"


def test_all_readers_of_notes_see_the_same_block_of_code() -> None:
    """A comment in an indented fence is no title, no heading over the lines below, no tag and no link."""
    (note,) = extract_markdown(Source("a.md", data=CODE_IN_A_LIST.encode()), Limits()).documents
    assert (note.title, note.properties) == ("", ())
    assert heading_over(CODE_IN_A_LIST, CODE_IN_A_LIST.count("\n"), "a.md") == ""
    styles = {piece.style for row in markdown_rows(CODE_IN_A_LIST, 60).rows for piece in row if "mount" in piece.text}
    assert styles == {"code"}
    assert len(without_line_marks(CODE_IN_A_LIST)) == len(CODE_IN_A_LIST)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n```\nb\n```\nc", "a\n\nc"),
        ("a\n  ~~~ sh\nb\n```\n  ~~~\nc", "a\n\nc"),
        ("a\n````\n```\nb\n````\nc", "a\n\nc"),
        ("a\n```\nb", "a\n"),
        ("a `b` ``c ` d`` e", "a   e"),
        ("a ``` b", "a ``` b"),
    ],
)
def test_code_is_found(text: str, left: str) -> None:
    """By fences of either sign, closed by one that is as long, or by nothing; and by backquotes in a line."""
    assert CODE.sub("", text) == left


def test_lines_that_say_what_they_are() -> None:
    """Fences with their language, headings by hashes and by a line below, a head between lines."""
    assert (FENCE.match("   ```python x") or "")[2] == "python"
    assert [bool(HASHES.match(line)) for line in ("# a", "   ###### a", "#a", "    # a", "####### a")] == [True] * 2 + [
        False
    ] * 3
    assert [bool(UNDERLINE.match(line)) for line in ("===", " ---  ", "--", "-=-")] == [True, True, False, False]
    assert [(FRONT_MATTER.match(text) or "-")[0][:3] for text in ("---\na: b\n---\n", "+++\n+++", "a\n---\n---")] == [
        "---", "+++", "-",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("[A](b.md) *c* `d`", "A c d"),
        ("[[note|a name]] {#place}", "a name"),
        ("snake_case _it_", "snake_case it"),
        ("[Draft] a", "[Draft] a"),
    ],
)
def test_a_heading_is_read_without_its_signs(heading: str, words: str) -> None:
    """Links say what they show."""
    assert without_marks(heading) == words
