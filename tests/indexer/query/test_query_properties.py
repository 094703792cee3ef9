"""Whatever is typed: no exception, and bounded work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexer.query.nodes import And, Node, Not, Or, Phrase, Word
from indexer.query.parse import parse
from tests.indexer.query.typed import NOW, any_text, queryish


@settings(max_examples=150, deadline=None)
@given(any_text | queryish, st.booleans())
@example("\ud800:\0", False)
@example('title:"', True)
@example("modified:..", False)
@example("size:" + "9" * 40, False)
@example("modified:999999y", False)
def test_never_raises(text: str, as_you_type: bool) -> None:
    """Any text gives a query whose problems and nodes lie inside it."""
    query = parse(text, now=NOW, as_you_type=as_you_type)
    assert len(query.problems) <= 5
    for problem in query.problems:
        assert 0 <= problem.position <= len(text)
        assert problem.position + problem.length <= len(text)
        assert "\n" not in problem.message
    for node in nodes(query.root):
        assert 0 <= node.position <= node.position + node.length <= len(text)
        if isinstance(node, Word | Phrase):
            assert text[node.position : node.position + node.length].lower() == node.text.lower()


@pytest.mark.parametrize(
    "piece", ["a ", "(", ")", '"', "-", "NOT ", "a OR ", "title:", "title:(", "ext:a,", "a", "\0", "*"]
)
def test_a_hundred_thousand_characters(piece: str) -> None:
    """Very long queries are cut, not refused."""
    query = parse(piece * (100_000 // len(piece)), now=NOW)
    assert query.problems
    assert sum(1 for _ in nodes(query.root)) <= 300


def nodes(root: Node | None) -> Iterator[Node]:
    if root is None:
        return
    yield root
    if isinstance(root, And | Or):
        for child in root.children:
            yield from nodes(child)
    elif isinstance(root, Not):
        yield from nodes(root.child)
