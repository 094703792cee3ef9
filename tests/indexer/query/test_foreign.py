"""Words of other search programs are named, and text that only looks like them is searched for."""

from __future__ import annotations

import pytest

from indexer.query.foreign import foreign_word, is_distance
from indexer.query.nodes import And, Word
from indexer.query.parse import parse


@pytest.mark.parametrize(
    "word",
    ["is:spam", "flag:seen", "has:image", "older_than:2d", "intitle:x", "site:x.org", "sort:date",
     "/foo.*bar/", r"/\d+/i", "~word", "word~", "word~2", "wom?n", "NEAR", "NEAR/5", "w/5"],
)  # fmt: skip
def test_words_of_other_programs_are_not_searched_for(word: str) -> None:
    """One line names the word; the rest of the query holds, and the word is no part of it."""
    query = parse(f"heron {word} stork")
    assert query.root == And((Word("heron"), Word("stork")))
    assert [problem.message.startswith(f"{word}: ") for problem in query.problems] == [True]


@pytest.mark.parametrize(
    "word",
    ["http://x.org/a?b=c", "C:\\path", "12:30", "std::vector", "key:value", "host:port", "data:image/png", "is:foo",
     "/etc/", "/usr/lib/x", "~/x", "PROGRA~1", "x~y", "notes.txt~", "near", "exit:0", "int:x", "sizes:x", "top:x",
     "/regex/", "foo->bar", "--near"],
)  # fmt: skip
def test_text_raises_no_false_alarm(word: str) -> None:
    """Addresses, paths, times, names and lines of files are words."""
    assert foreign_word(word) is None
    query = parse(word)
    assert (query.root, query.problems) == (Word(word), ())


def test_a_phrase_with_a_distance_asks_for_its_words() -> None:
    """All of them, each where it stands in the query."""
    query = parse('title:"new house"~5 x')
    assert query.root == And((Word("new", "title"), Word("house", "title"), Word("x")))
    assert isinstance(query.root, And)
    assert [node.position for node in query.root.children] == [7, 11, 20]
    assert [(problem.position, problem.length) for problem in query.problems] == [(17, 2)]
    assert not is_distance("~x")


def test_what_is_being_typed_may_become_anything() -> None:
    """Nothing is said of the last word before it is finished."""
    assert parse("heron is:spam", as_you_type=True).problems == ()
    assert len(parse("heron is:spam ", as_you_type=True).problems) == 1
