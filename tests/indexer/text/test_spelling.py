"""Suggestions come from the user's own words, near ones and frequent ones first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.text.spelling import TermList, Vocabulary, is_one_edit, nearest, suggest


def term_list(terms: Iterable[str]) -> TermList:
    encoded = sorted(term.encode("utf-8", "surrogatepass") for term in terms)
    ends = np.cumsum([len(term) for term in encoded]).astype(np.uint32)
    return TermList(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)


def vocabulary(**frequencies: int) -> Vocabulary:
    """Words in two lists that overlap, as two segments hold them."""
    terms = sorted(frequencies)
    return Vocabulary([term_list(terms[:2]), term_list(terms[1:])], lambda term: frequencies.get(term, 0))


def slow_distance(one: str, other: str) -> int:
    """Optimal string alignment by its recurrence, as in the textbook."""
    table = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (one[i - 1] != other[j - 1])]
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(one), len(other)]


short = st.text("abcéж", max_size=7)


@settings(deadline=None)
@given(short, short)
def test_one_edit_is_that_of_the_textbook(one: str, other: str) -> None:
    """One letter more, less, other, or two neighbours swapped."""
    assert is_one_edit(one, other) == (slow_distance(one, other) == 1)


def test_one_edit_of_any_length() -> None:
    """What is pasted without a blank is compared without a table of all its letters."""
    long = "=(" * 50_000
    assert is_one_edit(f"{long}herno", f"{long}heron")
    assert not is_one_edit(f"herno{long}storck", f"heron{long}stork")


@settings(deadline=None)
@given(st.lists(short, unique=True, min_size=1, max_size=30), short, st.integers(1, 2))
def test_within_finds_all_and_only_near_terms(terms: list[str], word: str, limit: int) -> None:
    """Ruling out by sets of letters loses nothing: the answer is that of comparing with every term."""
    terms = sorted(terms)
    expected = [
        (term, slow_distance(word, term), len(term) % 4)
        for term in terms
        if slow_distance(word, term) <= limit and len(term) % 4
    ]
    words = Vocabulary([term_list(terms)], lambda term: len(term) % 4)
    assert words.within(word, limit) == expected


@pytest.mark.parametrize(
    ("word", "correction"),
    [
        ("serach", "search"),
        ("sarch", "search"),
        ("searchh", "search"),
        ("zearch", "search"),
        ("machne", "machine"),
        ("machien", "machine"),
        ("uber", "über"),
        ("fomr", "form"),
    ],
)
def test_a_misspelt_word_is_corrected(word: str, correction: str) -> None:
    """The near word of the vocabulary is suggested, even when the first letter is wrong."""
    words = vocabulary(search=50, machine=9, form=12, **{"über": 3, "table": 100})
    assert suggest([word], words) == {word: correction}


@pytest.mark.parametrize(
    "word", ["", "the", "tabl3", "foo-bar", "zzzzzz", "formm1", "search", "farm", "m" * 5000, "\ud800" * 5]
)
def test_no_suggestion(word: str) -> None:
    """Short words, words with other signs, words far from all others and words that exist are left alone."""
    words = vocabulary(search=50, form=12, farm=1, tee=9, table=100)
    assert suggest([word], words) == {}


def test_two_edits_only_in_longer_words() -> None:
    """Words of five letters may have one edit, of six letters two."""
    words = vocabulary(house=9, houses=9)
    assert suggest(["hxuxe"], words) == {}
    assert suggest(["hxuxes"], words) == {"hxuxes": "houses"}


def test_a_word_that_was_begun() -> None:
    """The rest of a word is likelier to be missing than two letters to be wrong; not so where one letter is."""
    known = vocabulary(uber=9, ubergabeprotokoll=1, ubergang=1, insurance=4, insured=5)
    assert suggest(["ubergab", "insuranc"], known) == {"ubergab": "ubergabeprotokoll", "insuranc": "insurance"}
    assert suggest(["uberga", "insur"], vocabulary(uber=9, ubergabeprotokoll=1, insurance=40, insured=5)) == {
        "uberga": "ubergabeprotokoll",
        "insur": "insurance",
    }


def test_a_word_that_a_document_holds_is_never_corrected() -> None:
    """However many hold another one: "needle" in one file is no misspelt "need"."""
    assert suggest(["form"], vocabulary(form=1, **{"from": 100_000})) == {}


def test_frequency_against_nearness() -> None:
    """A frequent word wins among equally near ones; one edit more needs 2 ** 6 times as many documents."""
    assert suggest(["printar"], vocabulary(printer=8, printed=7)) == {"printar": "printer"}
    assert suggest(["printar"], vocabulary(printer=2, printed=2 * 63)) == {"printar": "printer"}
    assert suggest(["printar"], vocabulary(printer=2, printed=2 * 65)) == {"printar": "printed"}


def test_only_misspelt_words_are_in_the_answer() -> None:
    """Each misspelt word appears once, beside its correction."""
    words = vocabulary(search=50, engine=50)
    assert suggest(["serach", "engine", "serach"], words) == {"serach": "search"}
    assert suggest([], words) == {}


def test_an_empty_vocabulary() -> None:
    """Before anything is indexed nothing is suggested."""
    empty = Vocabulary([], lambda term: 0)
    assert suggest(["search"], empty) == {}


@pytest.mark.parametrize(
    ("word", "name"),
    [("titel", "title"), ("modifed", "modified"), ("form", "from"), ("mod", "modified"), ("text", None), ("", None)],
)
def test_nearest_name(word: str, name: str | None) -> None:
    """A name misspelt, or begun, is recognised; a word with another first letter is not."""
    assert nearest(word, ["title", "from", "ext", "modified"]) == name
    assert nearest(word, []) is None
