"""Colours of source, around the place that is shown first."""

from __future__ import annotations

from itertools import pairwise

from app.tui.preview.rendering import BEFORE, BEHIND, source_colours


def test_python() -> None:
    """A keyword, a name, a number and a comment, each in its span."""
    text = "def one():\n    return 1  # a number\n"
    spans = {text[start:end]: style for start, end, style in source_colours("/a/b.py", text, 0)}
    assert spans == {"def": "keyword", "one": "name", "return": "keyword", "1": "number", "# a number": "comment"}


def test_only_the_part_around_the_place_is_read() -> None:
    """Of a long file so much as BEFORE and BEHIND say, in ascending spans; an unknown language has no colours."""
    line = "value = 'text'\n"
    text = line * 20_000
    place = len(text) // 2
    spans = source_colours("x.py", text, place)
    assert place - BEFORE - len(line) <= spans[0][0] <= place
    assert place < spans[-1][1] <= place + BEHIND
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert source_colours("x.unknown", "def one(): pass", 0) == []
