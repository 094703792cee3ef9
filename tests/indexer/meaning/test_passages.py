"""The passages that stand for a document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indexer.meaning.passages import MAX_PASSAGES, MAX_WINDOWS, WORDS, passages_of, windows_of
from indexer.text.analysis import sequence


def numbered(n: int) -> str:
    return " ".join(f"w{i}" for i in range(n))


def test_a_short_text_is_one_passage_with_its_title_in_front() -> None:
    text = "  The heron waits.\n"
    (only,) = passages_of("Birds", text)
    assert only == (2, 18, "Birds. The heron waits.", -1)
    assert text[only.start : only.end] == "The heron waits."


def test_a_text_of_a_few_passages_is_cut_evenly_and_whole() -> None:
    """150 words are round(150 / 70) = 2 passages of 75."""
    found = passages_of("", numbered(150))
    assert [(p.text.split()[0], p.text.split()[-1]) for p in found] == [("w0", "w74"), ("w75", "w149")]


def test_of_a_long_text_eight_passages_are_taken_from_the_first_to_the_last_words() -> None:
    """70 words begin at (2000 - 70) i / 7."""
    found = passages_of("", numbered(2000))
    assert [p.text.split()[0] for p in found] == [f"w{(2000 - WORDS) * i // 7}" for i in range(8)]
    assert {len(p.text.split()) for p in found} == {WORDS}
    assert found[-1].text.endswith("w1999")


def test_signs_of_chinese_count_as_words_and_a_very_long_word_as_several() -> None:
    assert len(passages_of("", "中" * 140)) == 2
    assert len(passages_of("", "x" * 60 * 140)) == 2


def test_a_title_alone_is_a_passage_and_nothing_is_none() -> None:
    assert passages_of("Heron", " \n") == [(0, 0, "Heron", -1)]
    assert passages_of("", "\n") == []


@given(st.text(max_size=3000), st.integers(1, 40))
def test_passages_ascend_in_the_text_and_are_few(text: str, times: int) -> None:
    found = passages_of("", text * times)
    assert len(found) <= MAX_PASSAGES
    assert all(one.start < one.end for one in found)
    assert [one.start for one in found] == sorted(one.start for one in found)


def test_windows_hold_the_whole_of_a_long_text_and_know_their_places() -> None:
    """2,000 words are round(2000 / 70) = 29 windows; "well-known" takes two places of the index."""
    text = numbered(1000) + " well-known " + numbered(999)
    found = windows_of("Birds", text)
    assert len(found) == 29
    assert " ".join(text[one.start : one.end] for one in found) == text
    terms = sequence(text)
    assert [terms[one.place] for one in found] == [sequence(text[one.start : one.end])[0] for one in found]
    assert all(one.text.startswith("Birds. ") for one in found)


def test_of_a_very_long_text_so_many_windows_are_taken_from_the_first_to_the_last_words() -> None:
    found = windows_of("", numbered(30_000))
    assert (len(found), found[0].place, found[-1].place) == (MAX_WINDOWS, 0, 30_000 - WORDS)
    assert windows_of("Heron", "") == []
