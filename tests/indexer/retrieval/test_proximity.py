"""How close together the words of a query stand, against all pairs of positions compared one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.query.parse import parse
from indexer.retrieval.concepts import ConceptLookup, concepts_of
from indexer.retrieval.feature_values import FAR, MAX_CONCEPTS, Nearness, nearness
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import sequence

MakeIndex = Callable[..., Index]
WORDS = ["a", "b", "c", "x"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=1, max_size=6)


def measure(snapshot: Snapshot, query: str, docs: Sequence[int], field: str = "body") -> Nearness:
    concepts = concepts_of(parse(query), ConceptLookup(snapshot, ()))
    return nearness(snapshot, concepts, [field], np.array(docs, dtype=np.int64))[0]


def one(make_index: MakeIndex, query: str, text: str) -> tuple[float, float, float, float]:
    found = measure(make_index([text]).snapshot(), query, [0])
    return float(found.phrase[0]), float(found.ordered[0]), float(found.near[0]), float(found.early[0])


def pair_by_pair(query: list[str], text: list[str]) -> tuple[float, float, float, float]:
    """The slow twin of one document."""
    places = [[i for i, word in enumerate(text) if word == asked] for asked in query[:MAX_CONCEPTS]]
    early = max((1 / (1 + own[0] / 50) for own in places if own), default=0.0)
    if len(places) < 2:
        return 0.0, 0.0, 0.0, early
    after = [min((r - p for p in left for r in right if r > p), default=FAR) for left, right in pairwise(places)]
    before = [min((p - r for p in left for r in right if p > r), default=FAR) for left, right in pairwise(places)]

    def close(gaps: list[int]) -> float:
        return sum(1 / gap if gap < FAR else 0.0 for gap in gaps) / len(gaps)

    whole = any(text[i : i + len(places)] == query[:MAX_CONCEPTS] for i in range(len(text)))
    phrase = 1.0 if whole else 0.5 * sum(gap == 1 for gap in after) / len(after)
    return phrase, close(after), close([min(pair) for pair in zip(after, before, strict=True)]), early


def test_the_words_in_a_row(make_index: MakeIndex) -> None:
    """ "a b" at the 3rd word: a phrase, gap 1 in order, and a first word at position 2."""
    assert one(make_index, "a b", "x x a b") == (1.0, 1 / 1, 1 / 1, 1 / (1 + 2 / 50))


def test_the_words_apart_and_turned_round(make_index: MakeIndex) -> None:
    """b 3 before a and 4 after it: ordered 1/4, near 1/3."""
    assert one(make_index, "a b", "b x x a x x x b") == (0.0, 1 / 4, 1 / 3, 1.0)


def test_one_pair_of_two_in_a_row(make_index: MakeIndex) -> None:
    """a b is one of two neighbouring pairs, b c is 2 apart: half of a half, and means over the pairs."""
    phrase, ordered, near, early = one(make_index, "a b c", "a b x c")
    assert (phrase, ordered, near, early) == (0.5 * 1 / 2, (1 / 1 + 1 / 2) / 2, (1 / 1 + 1 / 2) / 2, 1.0)


def test_words_far_apart_are_not_near(make_index: MakeIndex) -> None:
    """At FAR words and beyond nothing is left; one nearer, it is 1 / (FAR - 1)."""
    assert one(make_index, "a b", "a " + "x " * (FAR - 1) + "b")[:3] == (0.0, 0.0, 0.0)
    assert one(make_index, "a b", "a " + "x " * (FAR - 2) + "b")[1] == pytest.approx(1 / (FAR - 1))


def test_a_single_word_is_near_to_nothing(make_index: MakeIndex) -> None:
    """Only how early it comes is known of it."""
    assert one(make_index, "a", "x a a") == (0.0, 0.0, 0.0, 1 / (1 + 1 / 50))


def test_words_of_another_document_are_never_near(make_index: MakeIndex) -> None:
    """The last word of one document and the first of the next are worlds apart."""
    found = measure(make_index(["x a", "b x"]).snapshot(), "a b", [0, 1])
    assert found.near.tolist() == found.phrase.tolist() == [0.0, 0.0]


def test_only_the_field_that_was_asked_for_counts(make_index: MakeIndex) -> None:
    """title:a is not looked for in the text."""
    snapshot = make_index([{"text": "a b", "title": "b a"}]).snapshot()
    assert measure(snapshot, "title:a b", [0]).near.tolist() == [0.0]
    assert measure(snapshot, "title:a b", [0], "title").near.tolist() == [1.0]


@settings(max_examples=40, deadline=None)
@given(texts=TEXTS, query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=10), data=st.data())
def test_nearness_is_that_of_all_pairs(
    make_index: MakeIndex, texts: list[str], query: list[str], data: st.DataObject
) -> None:
    """Any texts and words, documents asked for in any order, over two segments."""
    snapshot = make_index(texts, sizes=[len(texts) // 2]).snapshot()
    docs = data.draw(st.permutations(range(len(texts))))
    found = measure(snapshot, " ".join(query), docs)
    columns = (found.phrase, found.ordered, found.near, found.early)
    for row, doc in enumerate(docs):
        expected = pair_by_pair(query, sequence(texts[doc]))
        assert [float(column[row]) for column in columns] == pytest.approx(expected, rel=1e-12)
        assert all(0.0 <= float(column[row]) <= 1.0 for column in columns)


def test_no_documents_are_no_problem(make_index: MakeIndex) -> None:
    """Empty in, empty out."""
    found = measure(make_index(["a b"]).snapshot(), "a b", [])
    assert found.phrase.shape == found.ordered.shape == found.near.shape == found.early.shape == (0,)


def without_function_words(make_index: MakeIndex, query: str, text: str) -> tuple[float, float, float]:
    """phrase, ordered and near of one document for a query as candidates are found for it."""
    snapshot = make_index([text]).snapshot()
    asked = tuple(c for c in concepts_of(parse(query), ConceptLookup(snapshot, ("en",))) if not c.function_word)
    found = nearness(snapshot, asked, ["body"], np.array([0], dtype=np.int64))[0]
    return float(found.phrase[0]), float(found.ordered[0]), float(found.near[0])


def test_function_words_between_count_as_places(make_index: MakeIndex) -> None:
    """In a row it is a phrase, though only lord and rings are asked for; one word more or two fewer are a gap."""
    assert without_function_words(make_index, "lord of the rings", "a lord of the rings") == (1.0, 1.0, 1.0)
    assert without_function_words(make_index, "lord of the rings", "lord of all the rings") == (0.0, 1 / 2, 1 / 2)
    assert without_function_words(make_index, "lord of the rings", "lord rings") == (0.0, 1 / 3, 1 / 3)


def test_a_joined_word_takes_a_place_for_each_piece(make_index: MakeIndex) -> None:
    """ "foo_bar baz" stands in a row where baz follows bar."""
    assert without_function_words(make_index, "foo_bar baz", "x foo_bar baz")[0] == 1.0
    assert without_function_words(make_index, "foo_bar baz", "x foo_bar x baz")[0] == 0.0
