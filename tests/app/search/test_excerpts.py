"""Excerpts in whole lines, within a number of tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.search.excerpts import BYTES_PER_TOKEN, best_excerpt, from_offset, n_tokens

TEXT = "".join(f"line {i} is about something else\n" for i in range(1, 41)).replace("line 20 is", "the heron is")


def test_an_excerpt_is_the_lines_around_the_best_place() -> None:
    """A quarter of the room goes to what stands before: of 4 lines of 32 bytes that are left, the one above."""
    found = best_excerpt(TEXT, ("heron",), tokens=5 * 32 // BYTES_PER_TOKEN + 1)
    assert found.text.splitlines()[:2] == ["line 19 is about something else", "the heron is about something else"]
    assert (found.line, TEXT[: found.end].count("\n")) == (19, 23)


def test_without_a_match_it_is_the_beginning() -> None:
    """As much of it as there is room for."""
    assert best_excerpt("one\ntwo\n", ("heron",), tokens=2).text == "one\n"
    assert best_excerpt("", ("heron",), tokens=2).text == ""


def test_a_line_that_is_too_long_is_cut_between_letters() -> None:
    """Nothing is lost where the next passage begins."""
    text = "né" * 10
    first = from_offset(text, 0, tokens=3)
    assert first.text == "nénénén"[:6]
    assert from_offset(text, first.end, tokens=100).text == text[6:]


@given(st.text(alphabet="ab é漢\n", max_size=200), st.integers(1, 20))
def test_any_text_is_read_whole_in_passages_that_keep_to_their_tokens(text: str, tokens: int) -> None:
    """One after the other they are the text; each takes no more than it may, but for one letter."""
    at, parts = 0, []
    while at < len(text):
        found = from_offset(text, at, tokens=tokens)
        assert found.end > at
        assert found.line == text.count("\n", 0, at) + 1
        assert n_tokens(found.text) <= tokens
        parts.append(found.text)
        at = found.end
    assert "".join(parts) == text
    assert n_tokens(best_excerpt(text, ("ab", "é"), tokens=tokens).text) <= tokens
