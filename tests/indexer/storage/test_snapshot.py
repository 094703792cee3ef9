"""One commit, open for reading: postings and places over all segments, without what was removed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.storage import snapshot as snapshot_module
from indexer.storage.index import Index
from indexer.storage.snapshot import PLACE_BITS, RecentlyUsed, Snapshot
from indexer.text.analysis import sequence

MakeIndex = Callable[..., Index]
WORDS = ["a", "b", "bb", "é", "東京"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=6)


def place(doc: int, position: int) -> int:
    return doc << PLACE_BITS | position


def drawn_snapshot(make_index: MakeIndex, texts: list[str], data: st.DataObject) -> tuple[Snapshot, set[int]]:
    """Some segments, and which of the texts were removed."""
    dead = data.draw(st.sets(st.integers(0, len(texts) - 1), max_size=2))
    sizes = data.draw(st.lists(st.integers(0, 2), max_size=3))
    return make_index([*texts, *["x"] * 9], sizes=sizes, removed=dead).snapshot(), dead


@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, data=st.data())
def test_postings_and_places_are_those_of_the_texts(
    make_index: MakeIndex, texts: list[str], data: st.DataObject
) -> None:
    """For every word and every choice of documents, over several segments with removed documents."""
    snapshot, dead = drawn_snapshot(make_index, texts, data)
    ids = snapshot.documents["doc_id"].tolist()
    words = {i: sequence(texts[i]) for i in range(len(texts)) if i not in dead}
    for word in WORDS:
        term = sequence(word)[0]
        expected = {number: words[i].count(term) for number, i in enumerate(ids) if term in words.get(i, ())}
        postings = snapshot.postings("body", term)
        assert dict(zip(postings.docs.tolist(), postings.tf.tolist(), strict=True)) == expected
        assert postings.docs.tolist() == sorted(expected)
        wanted = sorted(data.draw(st.sets(st.sampled_from(range(len(ids))))))
        assert snapshot.places("body", term, np.array(wanted, dtype=np.int64)).tolist() == [
            place(number, position)
            for number in wanted if number in expected
            for position, other in enumerate(words[ids[number]]) if other == term
        ]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, data=st.data())
def test_places_of_any_of_several_words_are_those_of_each(
    make_index: MakeIndex, texts: list[str], data: st.DataObject
) -> None:
    """Asked together or one by one, by documents or by rows, over several segments with removed documents."""
    snapshot, _ = drawn_snapshot(make_index, texts, data)
    docs = np.array(sorted(data.draw(st.sets(st.sampled_from(range(len(texts)))))), dtype=np.int64)
    terms = [sequence(word)[0] for word in WORDS]
    questions = [
        ("body", tuple(terms)),
        ("title", tuple(terms)),
        ("body", tuple(terms[:1])),
        ("body", tuple(terms[1:3])),
    ]
    by_row = snapshot.all_places(questions, docs, by_row=True)
    for (field, words), found, rows in zip(questions, snapshot.all_places(questions, docs), by_row, strict=True):
        one_by_one = sorted(key for word in words for key in snapshot.places(field, word, docs).tolist())
        assert found.tolist() == one_by_one
        low = (1 << PLACE_BITS) - 1
        assert [place(int(docs[key >> PLACE_BITS]), key & low) for key in rows.tolist()] == one_by_one
    assert snapshot.all_places([], docs) == []


def test_average_length_counts_the_documents_that_have_the_field(make_index: MakeIndex) -> None:
    """Bodies of 3, 1 and no words: (3 + 1) / 2; nobody has an author: 1; removed documents do not count."""
    snapshot = make_index(["a b c", "d", "", *["e f"] * 9], removed=range(3, 12)).snapshot()
    assert snapshot.average_length["body"] == (3 + 1) / 2
    assert snapshot.average_length["author"] == 1.0


def test_ids_lead_to_living_documents(make_index: MakeIndex) -> None:
    """An id leads to the document that holds it; the id of a removed document, or of none, to nothing."""
    snapshot = make_index(["a"] * 10, sizes=[3], removed=[4]).snapshot()
    for i in range(10):
        assert snapshot.documents["doc_id"][snapshot.having([i, 77])].tolist() == ([i] if i != 4 else [])


def test_terms_by_prefix_with_their_frequency(make_index: MakeIndex) -> None:
    """Over all segments; a prefix that ends inside a letter of several bytes is none that anybody types."""
    snapshot = make_index(["tea team", "team ten", "tea éa"], sizes=[1]).snapshot()
    assert snapshot.terms_with_prefix("body", "tea") == {"tea": 2, "team": 2}
    assert snapshot.terms_with_prefix("body", "e") == {"ea": 1}
    assert snapshot.terms_with_prefix("body", "te", limit=1) == {"tea": 2}
    assert snapshot.terms_with_prefix("title", "te") == {}
    assert snapshot.terms_with_prefix("body", "") == {"tea": 2, "team": 2, "ten": 1, "ea": 1}
    assert [snapshot.document_frequency("body", term) for term in ("tea", "ten", "x")] == [2, 1, 0]


def test_an_empty_snapshot_answers(make_index: MakeIndex) -> None:
    """No segments: no documents, no postings, no terms."""
    for empty in (Snapshot([], generation=-1), make_index([]).snapshot()):
        assert (empty.n_documents, empty.documents.size, empty.having([1]).size) == (0, 0, 0)
        assert empty.postings("body", "a").docs.size == 0
        assert empty.places("body", "a", np.array([0])).size == 0
        assert empty.terms_with_prefix("body", "") == {}
        assert set(empty.average_length.values()) == {1.0}


def test_a_question_is_looked_up_once(make_index: MakeIndex) -> None:
    """The second time, the first answer comes back."""
    snapshot, asked = make_index(["a"]).snapshot(), []

    def look_up() -> tuple[str, ...]:
        asked.append(1)
        return ("answer",)

    assert [snapshot.remember("question", look_up) for _ in range(3)] == [("answer",)] * 3
    assert len(asked) == 1


def test_what_is_kept_decoded_is_bounded(make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """With next to no memory every list is read again, and is the same."""
    monkeypatch.setattr(snapshot_module, "CACHE_BYTES", 1)
    monkeypatch.setattr(snapshot_module, "MAX_LOCATED", 1)
    snapshot = make_index(["a b", "b", "b a a"], sizes=[1]).snapshot()
    for _ in range(2):
        assert snapshot.postings("body", "a").docs.tolist() == [0, 2]
        assert snapshot.postings("body", "b").tf.tolist() == [1, 1, 1]
        assert snapshot.places("body", "a", np.array([2])).tolist() == [place(2, 1), place(2, 2)]


def test_terms_that_are_no_unicode_are_terms(make_index: MakeIndex) -> None:
    """A lone surrogate in a query finds nothing and harms nothing."""
    assert make_index(["a"]).snapshot().postings("body", "\ud800").docs.size == 0


@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, n_bytes=st.integers(1, 60), data=st.data())
def test_a_whole_field_is_read_in_runs(
    make_index: MakeIndex, texts: list[str], n_bytes: int, data: st.DataObject
) -> None:
    """However they are cut, all words of all documents come once, over several segments, removed ones included."""
    snapshot, _ = drawn_snapshot(make_index, texts, data)
    found: list[tuple[str, int, int]] = []
    for terms, df, docs, tf in snapshot.all_postings("body", n_bytes):
        words = [term.decode() for term, n in zip(terms, df.tolist(), strict=True) for _ in range(n)]
        found += zip(words, docs.tolist(), tf.tolist(), strict=True)
    ids = snapshot.documents["doc_id"].tolist()
    every = [sequence(text) for text in [*texts, *["x"] * 9]]
    expected = [
        (word, number, every[i].count(word)) for number, i in enumerate(ids) for word in dict.fromkeys(every[i])
    ]
    assert sorted(one for one in found if one[0].isascii()) == sorted(one for one in expected if one[0].isascii())


def test_of_what_is_remembered_the_least_recently_used_goes_first() -> None:
    """Of three arrays of 1,000 bytes two have room."""
    cache = RecentlyUsed(2_500)
    for key in ("a", "b", "a", "c"):
        if cache.get((key,)) is None:
            cache.put((key,), np.zeros(125), 1_000)
    assert [key for key in "abc" if cache.get((key,)) is not None] == ["a", "c"]
