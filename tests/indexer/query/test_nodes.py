"""Every tree has a canonical text, and it means the same."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexer.query.nodes import And, Filter, Node, Not, Or, Phrase, Query, Word, render
from indexer.query.parse import parse
from tests.indexer.query.typed import NOW, any_text, queryish


@settings(max_examples=250, deadline=None)
@given(any_text | queryish, st.booleans())
@example("ext:a AND ext:b OR ext:c", False)
@example("a AND", False)
@example("EXT:.*", False)
@example("NOT --x", False)
@example("-AND", False)
@example('NOT(NOT"0', False)
@example('IS:UNREAD has:tag thread:a@b links:"A b"', False)
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


@settings(max_examples=150, deadline=None)
@given(st.recursive(words | phrases | filters, grow, max_leaves=12))
def test_every_tree_has_a_text(tree: Node) -> None:
    """parse(render(tree)) is the tree, for any tree of words, phrases, filters and operators."""
    assert parse(render(Query("", tree)), now=NOW).root == tree
