"""Text in terminal columns: wide and combining characters count as they are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.commands.columns import columns, counted, fit, fit_left, wrap

texts = st.text(st.sampled_from("ab é漢字\u0301 /"), max_size=60)


@pytest.mark.parametrize(("text", "width"), [("", 0), ("abc", 3), ("漢字", 2 + 2), ("e\u0301", 1), ("ab漢", 1 + 1 + 2)])
def test_columns_of_wide_and_combining_characters(text: str, width: int) -> None:
    """A wide character takes two columns, a combining one none."""
    assert columns(text) == width


def test_cutting_says_that_it_cut() -> None:
    """What fits stays, what does not ends (or begins) with an ellipsis."""
    assert (fit("heron", 5), fit("heron", 4), fit("漢字漢", 4)) == ("heron", "her…", "漢…")
    assert (fit_left("/a/heron", 8), fit_left("/a/heron", 6)) == ("/a/heron", "…heron")


@given(texts, st.integers(0, 40))
def test_nothing_is_wider_than_it_may_be(text: str, width: int) -> None:
    """No cut text takes more columns than it was given."""
    assert columns(fit(text, width)) <= width
    assert columns(fit_left(text, width)) <= width


@given(texts, st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    """Each line fits, lines come in order, and between two lines lie only blanks."""
    lines = wrap(text, width)
    assert all(columns(text[start:end]) <= width for start, end in lines)
    edges = [0, *(edge for line in lines for edge in line), len(text)]
    assert edges == sorted(edges)
    assert all(not text[a:b].strip(" ") for a, b in zip(edges[::2], edges[1::2], strict=True))


def test_counted_knows_one() -> None:
    """One is singular, anything else plural."""
    assert [counted(n, "pick") for n in (0, 1, 2000)] == ["0 picks", "1 pick", "2,000 picks"]
