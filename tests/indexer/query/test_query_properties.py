"""Whatever is typed: no exception, bounded work, and a canonical text that means the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexer.query.parse import And, Filter, Node, Not, Or, Phrase, Query, Word, parse, render

NOW = 1_750_000_000.0

any_text = st.text(st.characters(exclude_categories=()), max_size=60)
"""surrogates and control characters too"""
pieces = st.sampled_from(
    ["a", "Foo", "AND", "OR", "NOT", "-", "--x", "(", ")", '"', "“", "”", "=", "*", "title:", "from:", "ext:", "type:",
     "type:mail", "modified:", "modified:2024-01", ">", "<=", "..", "size:", "1mb", "1e9", "7d", "last-week", ",", ":",
     "::", "//", " ", " ", " ", "\t", "\0", "\ud800", "中文", "́", "&", "ß", "tit:", "@5", "dir:", "in:~/x", "lang:en",
     "*.pdf", "（", "：", "name:", "before:"]
)  # fmt: skip
queryish = st.lists(pieces, max_size=25).map("".join)


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=500, deadline=None)
@given(any_text | queryish, st.booleans())
@example("ext:a AND ext:b OR ext:c", False)
@example("a AND", False)
@example("NOT --x", False)
@example("-AND", False)
def test_canonical_text_means_the_same(text: str, as_you_type: bool) -> None:
    """parse(render(query)) gives the same tree, is as plain, and has nothing to complain about but misspelt fields."""
    query = parse(text, now=NOW, as_you_type=as_you_type)
    again = parse(render(query), now=NOW)
    assert again.root == query.root
    assert again.plain == query.plain
    assert render(again) == render(query)


words = st.builds(
    Word,
    st.sampled_from(["a", "Foo", "3.2", "x_y", "日本"]),
    st.sampled_from([None, "title", "body", "name", "path", "from"]),
    st.booleans(),
    st.booleans(),
)
phrases = st.builds(Phrase, st.sampled_from(["a b", "AND", " x (y "]), st.sampled_from([None, "from"]), st.booleans())
bounds = st.none() | st.integers(0, 10**10)
ranges = st.tuples(bounds, bounds).filter(lambda pair: pair != (None, None))
filters = st.one_of(
    st.builds(Filter, st.just("ext"), st.just(""), st.sampled_from(["pdf", "tar.gz"])),
    st.builds(Filter, st.just("dir"), st.just(""), st.sampled_from(["a b", "~/x", "/"])),
    st.builds(Filter, st.just("type"), st.just(""), st.sampled_from(["mail", "source"])),
    st.builds(Filter, st.just("modified"), st.just(""), ranges.map(lambda pair: ordered(pair, 1))),
    st.builds(Filter, st.just("size"), st.just(""), ranges.map(lambda pair: ordered(pair, 0))),
)


def ordered(pair: tuple[int | None, int | None], gap: int) -> tuple[int | None, int | None]:
    low, high = pair
    return (min(low, high), max(low, high) + gap) if low is not None and high is not None else pair


def grow(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    lists = st.lists(children, min_size=2, max_size=3)
    return st.one_of(
        lists.map(lambda some: joined(And, some)),
        lists.map(lambda some: joined(Or, some)),
        children.map(lambda child: child.child if isinstance(child, Not) else Not(child)),
    )


def joined(kind: type[And] | type[Or], some: list[Node]) -> Node:
    flat: list[Node] = []
    for node in some:
        flat.extend(node.children if isinstance(node, kind) else (node,))
    return kind(tuple(flat))


@settings(max_examples=300, deadline=None)
@given(st.recursive(words | phrases | filters, grow, max_leaves=12))
def test_every_tree_has_a_text(tree: Node) -> None:
    """parse(render(tree)) is the tree, for any tree of words, phrases, filters and operators."""
    assert parse(render(Query("", tree)), now=NOW).root == tree


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
