"""The heading over a line, in four ways of writing notes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.headings import heading_among, heading_over

MARKDOWN = (
    "# Title\na\n## The *first* part #\nb\n```sh\n# no heading\n```\nc\n\nSecond\n------\nd\n### [A link](x.md)\ne\n"
)
ORG = "#+title: T\n* TODO First :work:\na\n#+begin_src sh\n* no heading\n#+end_src\nb\n** Second\nc\n"
RST = "Title\n=====\n\na\n\nPart\n----\n\nb\n"
ADOC = "= Title\n\na\n\n== Part\n\n----\n== no heading\n----\nb\n"


@pytest.mark.parametrize(
    ("text", "name", "word", "heading"),
    [
        (MARKDOWN, "a.md", "a", ""),
        (MARKDOWN, "a.md", "b", "The first part"),
        (MARKDOWN, "a.md", "c", "The first part"),
        (MARKDOWN, "a.md", "d", "Second"),
        (MARKDOWN, "a.md", "e", "A link"),
        (ORG, "a.org", "a", "First"),
        (ORG, "a.org", "b", "First"),
        (ORG, "a.org", "c", "Second"),
        (RST, "a.rst", "a", ""),
        (RST, "a.rst", "b", "Part"),
        (ADOC, "a.adoc", "a", ""),
        (ADOC, "a.adoc", "b", "Part"),
        ("only text\nb", "a.md", "b", ""),
        ("## The `max_file_mb` _of_ one\nb", "a.md", "b", "The max_file_mb of one"),
    ],
)
def test_the_heading_over_a_line(text: str, name: str, word: str, heading: str) -> None:
    """The nearest one, without its marks; none in code; the note's own title is none."""
    line = text.split("\n").index(word) + 1
    assert heading_over(text, line, name, title="title") == heading


def test_the_heading_among_known_places() -> None:
    """Of a page whose headings begin at 2 and 8: none before the first, a heading's own line counts, no title."""
    text = "a\nOne b\nTwo\nc"
    assert [heading_among(text, line, (2, 8)) for line in (1, 2, 3, 4)] == ["", "One b", "Two", "Two"]
    assert heading_among(text, 2, (2, 8), title="one B") == heading_among(text, 2, ()) == ""
    assert [heading_among(text, 2, (2, 8), title=title) for title in ("One", "One b - Site", "Two")] == [
        "",
        "",
        "One b",
    ]
    assert heading_among(text, 3, (2, 8), title="Two thirds") == "Two"
    assert heading_among(text, 3, (2, 8), title="Two \u2014 Site") == ""
    assert heading_among(text, 3, (2, 8), title="Two") == ""
    long = "a\nLog\nFruit: apples"
    assert [heading_among(long, 2, (2, 6), title=title) for title in ("Catalogue", "Log")] == ["Log", ""]
    assert heading_among(long, 3, (2, 6), title="Fruit") == "Fruit: apples"
    links = ["Part\u00b6", "Part #", "Part#", "C#"]
    assert [heading_among(f"a\n{one}", 2, (2,)) for one in links] == ["Part", "Part", "Part", "C#"]


def test_a_match_in_a_heading_is_under_it() -> None:
    """Its own line counts."""
    assert heading_over("text\n# One\n", 2, "a.md") == "One"
    assert heading_over("text\n# One\n", 1, "a.md") == ""


@given(
    st.text(alphabet="#*=-`~\n ab:[]", max_size=120), st.integers(1, 20), st.sampled_from(["md", "org", "rst", "adoc"])
)
def test_any_text_has_a_heading_or_none(text: str, line: int, ending: str) -> None:
    """One line of the text at most, whatever it is made of."""
    assert "\n" not in heading_over(text, line, f"a.{ending}")


@pytest.mark.parametrize(("line", "ending"), [("#", "md"), ("*", "org"), ("=", "adoc"), ("# #", "md"), ("# [", "md")])
def test_a_heading_that_goes_on_for_ever_takes_no_longer(line: str, ending: str) -> None:
    """A line of blanks, signs or brackets is gone through once; what is behind them is seldom of its heading."""
    started = time.process_time()
    for filling in (" ", line[-1], f" {line[-1]}"):
        heading_over(f"{line} a{filling * 60_000}b\nword\n", 2, f"note.{ending}")
    heading_among("a" + " " * 60_000 + "b\nword", 2, (0,))
    assert time.process_time() - started < 5
