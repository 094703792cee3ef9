"""Words that stand next to each other."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.postings import Ints
from indexer.retrieval.adjacency import MOST_WAYS, adjacent, as_written, holders, in_groups, is_code, phrase_starts
from indexer.storage.index import Index
from indexer.storage.snapshot import PLACE_BITS, AnyTerm, Snapshot

MakeIndex = Callable[..., Index]


def test_a_phrase_starts_where_its_words_stand_in_a_row(make_index: MakeIndex) -> None:
    """ "a b a" starts at 0 and 2 of "a b a b a"; only in the documents asked for."""
    snapshot = make_index(["a b a b a", "b a", "x a b a"]).snapshot()
    assert phrase_starts(snapshot, "body", ["a", "b", "a"]).tolist() == [0, 2, (2 << PLACE_BITS) + 1]
    assert phrase_starts(snapshot, "body", ["x"]).tolist() == [2 << PLACE_BITS]
    assert phrase_starts(snapshot, "body", ["b", "a"]).tolist() == [1, 3, 1 << PLACE_BITS, (2 << PLACE_BITS) + 2]
    assert phrase_starts(snapshot, "body", ["a", "z"]).size == 0
    assert phrase_starts(snapshot, "body", ["z", "a"]).size == 0


def test_any_term_of_a_piece_will_do(make_index: MakeIndex) -> None:
    """a, then b or c: at 0 and 2 of the first document, at 1 of the second; x alone is nowhere before a."""
    snapshot = make_index(["a b a c", "b a b", "c a"]).snapshot()
    assert adjacent(snapshot, "body", [("a",), ("b", "c")]).tolist() == [0, 2, (1 << PLACE_BITS) + 1]
    assert adjacent(snapshot, "body", [("x", "z"), ("a",)]).size == 0


def test_a_number_stands_in_groups(make_index: MakeIndex) -> None:
    """Next to each other and in order, in all ways that occur; what lacks a group, or goes on, is another number."""
    texts = ["call 0664 301 77 25", "0664 3017725", "0664301 7725", "0664 301 77", "7725 0664 301", "0664 301 x 77 25"]
    snapshot = make_index(texts).snapshot()
    ways = {("0664", "301", "77", "25"), ("0664", "3017725"), ("0664301", "7725")}
    assert set(in_groups(snapshot, "body", "06643017725")) == ways
    assert in_groups(snapshot, "body", "06643017726") == []


def test_a_table_of_zeros_has_few_ways(make_index: MakeIndex) -> None:
    """Of thousands of ways in which a table happens to write a number the most frequent are taken."""
    rng = random.Random(1)
    table = " ".join(rng.choice(("0", "00", "000")) for _ in range(8_000))
    snapshot = make_index([table + " 00" * 100]).snapshot()
    found = in_groups(snapshot, "body", "0" * 14)
    assert len(found) == MOST_WAYS
    assert ("00",) * 7 in found


def test_single_digits_are_groups_at_the_ends(make_index: MakeIndex) -> None:
    """As in the numbers of books; elsewhere they would be the digits of a table."""
    snapshot = make_index(["978 3 16 148410 0", "97831 6 1 484100"]).snapshot()
    assert in_groups(snapshot, "body", "9783161484100") == [("978", "3", "16", "148410", "0")]


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=40)


@settings(max_examples=40, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=4), WORDS.map(lambda words: words[:9]))
def test_as_a_look_at_each_place_finds_them(make_index: MakeIndex, texts: list[list[str]], words: list[str]) -> None:
    """Of few words that repeat, in any phrase."""
    wanted = [
        (doc << PLACE_BITS) + at
        for doc, text in enumerate(texts)
        for at in range(len(text))
        if text[at : at + len(words)] == words
    ]
    snapshot = make_index([" ".join(text) for text in texts]).snapshot()
    assert phrase_starts(snapshot, "body", words).tolist() == wanted


def test_a_word_that_repeats_is_read_once(make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand times "the": its places are decoded once, and compared eleven times, for 2^11 > 2000."""
    asked: list[int] = []
    real = Snapshot.all_places

    def counting(self: Snapshot, questions: Sequence[AnyTerm], docs: Ints) -> list[Ints]:
        asked.append(len(questions))
        return real(self, questions, docs)

    monkeypatch.setattr(Snapshot, "all_places", counting)
    snapshot = make_index(["the " * 2_100, "the end"]).snapshot()
    assert phrase_starts(snapshot, "body", ["the"] * 2_000).tolist() == list(range(101))
    assert asked == [1]


MakeIndex = Callable[..., Index]


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("get_or_create", "get_or_create"), ("core.autocrlf", "core.autocrlf"), ("--no-ff", "--no-ff"),
        ("3.2.20", "3.2.20"), ("/etc/fstab", "/etc/fstab"), ("std::Vector", "std::vector"), ("foo->bar", "foo->bar"),
        ("10.0.0.1", "10.0.0.1"), ("anna@example.org,", "anna@example.org"), ("C:\\x", "c:\\x"), ("U.S.", "u.s"),
        ("covid-19", "covid-19"), ("$HOME", "$home"),
        ("heron", ""), ("heron?", ""), ("well-known", ""), ("input/output", ""), ("O'Reilly", ""), ("e1000e", ""),
        ("2024", ""), ("C++", ""), ("C#", ""), ("東京_x", ""), ("हिन्दी", ""), ("naïve.", ""),
    ],
)  # fmt: skip
def test_joined_words_are_meant_as_written(typed: str, written: str) -> None:
    """Without what stands around them in a sentence; words of prose, and of scripts with marks, are not."""
    assert as_written(typed) == written


def test_what_looks_like_code() -> None:
    """camelCase, capitals, letters with digits."""
    assert [w for w in ("getFile", "TabSize", "ENOENT", "e1000e", "0x7f") if not is_code(w)] == []
    assert [w for w in ("Heron", "heron", "USA", "2024", "PhDs".lower(), "Ärger") if is_code(w)] == []


def test_who_holds_a_word_as_written(make_index: MakeIndex) -> None:
    """In any case, with no letter, digit or _ beside it; more may follow a beginning."""
    written = ["a.foo_bar()", "foo_bars", "my_foo_bar", "FOO_BAR", "foo bar"]
    snapshot = make_index(written).snapshot()
    read: list[int] = []

    def texts(doc_ids: Sequence[int]) -> Iterable[tuple[int, str]]:
        read.extend(doc_ids)
        return [(i, written[i]) for i in doc_ids]

    found = {"body": (np.array([0, 1, 2, 3, 4]), np.ones(5))}
    assert holders(snapshot, found, texts, "foo_bar").tolist() == [0, 3]
    assert read[0] == 3  # the only one with the term itself
    read.clear()
    assert holders(snapshot, found, texts, "foo_bar()").tolist() == [0]
    assert read[0] == 3  # that term is the longest of a call's
    assert holders(snapshot, found, texts, "foo_bar", prefix=True).tolist() == [0, 1, 3]
    assert holders(snapshot, found, lambda ids: [], "foo_bar").size == 0


def test_a_flag_is_read_before_texts_full_of_its_letters(make_index: MakeIndex) -> None:
    """`-Os` is a term of its own: of thousands of texts with "os" not all are read."""
    written = ["os os os", "the OS os", "compiled long ago, for size alone, with CFLAGS=-Os"]
    read: list[int] = []

    def texts(doc_ids: Sequence[int]) -> Iterable[tuple[int, str]]:
        read.extend(doc_ids)
        return [(i, written[i]) for i in doc_ids]

    found = {"body": (np.array([0, 1, 2]), np.array([3.0, 2.0, 1.0]))}
    assert holders(make_index(written).snapshot(), found, texts, "-os").tolist() == [2]
    assert read[0] == 2
