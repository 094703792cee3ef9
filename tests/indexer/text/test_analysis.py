"""Text becomes terms: joined words whole and in parts, accents, pairs of characters, positions.

Sketches: what they estimate, against the Jaccard index counted out.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexer.postings import EMPTY, FieldPostings, decode
from indexer.retrieval.near_duplicates import resembling
from indexer.text import analysis
from indexer.text.analysis import (
    BUCKETS,
    MAX_RAW_LENGTH,
    MAX_TERM_LENGTH,
    Analyzer,
    fold,
    is_half,
    raw_terms,
    raw_tokens,
    sequence,
    sketch,
    word_hash,
)
from indexer.text.analysis import whole_term as whole

PIECES = ["heron", "Heron", "fooBar", "XMLParser", "3", "C++", "f#", "x", "S", "é", "e\u0301", "東", "京", "ー", "ß",
          "น้ำ", "က္", "ł", "हि", "ﬁ", "\ud83d", "0123456789abcdef" * 2, "z" * 41, "A" * 300]  # fmt: skip
JOINTS = ["", " ", ".", "_", "-", "'", "’", "@", "\n", ", ", "--", "._", "+", "#"]
TEXTS = st.lists(st.sampled_from(PIECES + JOINTS), max_size=30).map("".join) | st.text(max_size=60)


def spread(postings: FieldPostings) -> dict[str, list[int]]:
    """Term -> its positions."""
    terms = postings.terms.split("\n") if postings.terms else []
    lengths = np.frombuffer(postings.position_lengths, "<u4").tolist()
    tf = np.frombuffer(postings.tf, "<u2").tolist()
    found, at = {}, 0
    for term, n, length in zip(terms, tf, lengths, strict=True):
        code = np.frombuffer(postings.positions[at : at + length], np.uint8)
        found[term] = np.cumsum(decode(code)).tolist()
        assert len(found[term]) == n
        at += length
    assert at == len(postings.positions)
    return found


def one_by_one(text: str) -> tuple[dict[str, list[int]], int]:
    """The slow twin of `Analyzer.analyse`: token by token, position by position."""
    found: dict[str, list[int]] = defaultdict(list)
    position = 0
    for raw in raw_tokens(text):
        terms, width = raw_terms(raw)
        for term, offset in terms:
            found[term].append(position + offset)
        position += width
    return {term: sorted(places) for term, places in found.items()}, position


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("heron", {"heron": [0]}),
        ("Café CAFE\u0301", {"cafe": [0, 1]}),
        ("3.2.20", {"3": [0], "2": [1], "20": [2], "3.2.20": [0]}),
        ("foo_bar baz", {"foo": [0], "bar": [1], "foo_bar": [0], "baz": [2]}),
        ("camelCase x", {"camelcase": [0], "camel": [0], "case": [0], "x": [1]}),
        ("XMLParser", {"xmlparser": [0], "xml": [0], "parser": [0]}),
        ("iPhone McX HTML", {"iphone": [0], "mcx": [1], "html": [2]}),
        ("Anna's book", {"anna": [0], "book": [1]}),
        ("O’Reilly don't", {"o": [0], "reilly": [1], "don": [2], "t": [3]}),
        ("anna@example.org", {"anna": [0], "example": [1], "org": [2], "anna@example.org": [0]}),
        ("-C++", {"c": [0], "c++": [0]}),
        ("C++ C# F#x", {"c": [0, 1], "c++": [0], "c#": [1], "f": [2], "x": [3]}),
        ("environment#", {"environment": [0]}),
        ("well--known a._b", {"well": [0], "known": [1], "a": [2], "b": [3], "a.b": [2]}),
        ("__init__ 7", {"init": [0], "__init__": [0], "7": [1]}),
        ("__foo_bar__ __x ____", {"foo": [0], "bar": [1], "foo_bar": [0], "__foo_bar__": [0], "x": [2]}),
        ("ls -la x=-Os -5 -", {"ls": [0], "la": [1], "-la": [1], "x": [2], "os": [3], "-os": [3], "5": [4]}),
        ("--no-ff", {"no": [0], "ff": [1], "no-ff": [0], "--no-ff": [0]}),
        ("東京都", {"東京": [0], "京都": [1], "都": [1]}),
        ("東", {"東": [0]}),
        ("東京tower x", {"東京": [0], "京": [0], "tower": [1], "x": [2]}),
        ("हिन्दी", {"हिंदी": [0]}),
        ("ค่าน้ำ", {"ค่": [0], "่า": [1], "าน": [2], "น้": [3], "้ํา": [4], "ํา": [4]}),
        ("straße ﬁn", {"strasse": [0], "fin": [1]}),
        ("cœurs Ærø", {"coeurs": [0], "aero": [1]}),
        ("мʼяч м'яч м’яч", {"м": [0, 2, 4], "яч": [1, 3, 5]}),
        ("ｶﾞｲﾄﾞ", {"カイ": [0], "イト": [1], "ト": [1]}),
        ("۱۲۳ १२३ 123", {"123": [0, 1, 2]}),
        ("کی كـي", {"كي": [0, 1]}),
        ("Donau\xadschiff", {"donauschiff": [0]}),
        ("", {}),
        ("-- ... '' __", {}),
    ],
)
def test_a_text_gives_these_terms_at_these_positions(text: str, terms: dict[str, list[int]]) -> None:
    """Joined words are found whole and in parts, accents and case do not matter, pairs stand for CJK words."""
    assert spread(Analyzer().analyse(text)) == terms


@pytest.mark.parametrize("dropped", ["___", "--", "\ufe0f"])
def test_what_gives_no_term_takes_no_position(dropped: str) -> None:
    """Lines and loose signs are no words: their neighbours stand next to each other."""
    assert spread(Analyzer().analyse(f"left {dropped} right")) == {"left": [0], "right": [1]}
    assert sequence(f"left {dropped} right") == ["left", "right"]


@pytest.mark.parametrize("word", ["d41d8cd98f00b204e9800998ecf8427e", "0123456789" * 5, "ZY" * 30, "é" * 300, "ß" * 50])
def test_a_long_word_is_known_by_its_beginning(word: str) -> None:
    """A hash, encoded data and a compound give as many letters as a term has, at one position."""
    known = fold(word)[:MAX_TERM_LENGTH]
    assert spread(Analyzer().analyse(f"left {word} right")) == {"left": [0], known: [1], "right": [2]}
    assert sequence(f"left {word} right") == ["left", known, "right"]
    assert raw_terms(f"file-{'0' * 32}") == ((("file", 0), ("0" * 32, 1), (f"file-{'0' * 32}", 0)), 2)


def test_an_emoji_is_a_word_whatever_its_colour() -> None:
    """Also right behind a word; a flag is one."""
    assert sequence("Party🎉 on 👍🏽 and 👍, ❤️ 🇩🇪🇫🇷") == ["party", "🎉", "on", "👍", "and", "👍", "❤", "🇩🇪", "🇫🇷"]


@pytest.mark.parametrize(
    ("raw", "term"),
    [("foo_bar", "foo_bar"), ("3.2.20", "3.2.20"), ("a--b", "a-b"), ("Foo.Bar's", "foo.bar"), ("heron", ""),
     ("O'ReillyMedia", ""), ("東京-x", ""), ("a" * 30 + "." + "b" * 30, ""), ("_x_", "")],
)  # fmt: skip
def test_the_whole_of_a_joined_word(raw: str, term: str) -> None:
    """Only words joined by a dot, line, dash or at-sign have a whole; no camel part is taken for it."""
    assert whole(raw) == term
    assert (whole(raw) == "") or (whole(raw), 0) in raw_terms(raw)[0]


def test_half_a_pair_is_known() -> None:
    """One character of a script that is indexed in pairs begins a term wherever it stands."""
    halves = {"東": True, fold("책"): True, "東京": False, fold("책을"): False, "a": False, "": False}
    assert {word: is_half(word) for word in halves} == halves
    assert all(any(term.startswith(c) for term in sequence("東京都")) or c == "都" for c in "東京都")
    assert "都" in spread(Analyzer().analyse("東京都"))


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_whole_texts_are_analysed_as_token_by_token(text: str) -> None:
    """Array work over remembered tokens gives what taking each token apart gives, in a fresh and in a used analyzer."""
    terms, length = one_by_one(text)
    for analyzer in (Analyzer(), USED):
        postings = analyzer.analyse(text)
        assert (spread(postings), postings.length) == (terms, length)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_the_sketch_of_a_text_is_that_of_its_terms(text: str) -> None:
    """Analysed together, in few runs or in many."""
    for longer in (text, f"{text} heron stork ibis " * 9):
        postings, found = USED.analyse_body(longer)
        hashes = [word_hash(term) for term in postings.terms.split("\n") if term]
        assert (postings, found) == (USED.analyse(longer), sketch(np.array(hashes, dtype=np.int64)))


USED = Analyzer()
"""serves all examples, so that what it remembers of one text meets the next"""


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_a_text_has_one_word_in_its_sequence_for_each_position(text: str) -> None:
    """The sequence runs over all positions without a gap, and each of its words is a term at its place."""
    postings = Analyzer().analyse(text)
    places = spread(postings)
    assert len(sequence(text)) == postings.length
    assert all(position in places[word] for position, word in enumerate(sequence(text)))
    assert all(0 < len(term) <= MAX_TERM_LENGTH and "\n" not in term for term in places)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_composed_and_decomposed_accents_are_the_same_words(text: str) -> None:
    """A file name as macOS writes it is found by a query as keyboards write it."""
    apart, together = (unicodedata.normalize(form, text) for form in ("NFD", "NFC"))
    assert sequence(apart) == sequence(together)


@settings(max_examples=50, deadline=None)
@given(TEXTS, TEXTS)
@example("น้ำ", "--C++ --no-ff")
def test_the_second_of_two_texts_only_moves(first: str, second: str) -> None:
    """Positions in the second text grow by the length of the first, nothing else changes."""
    analyse = Analyzer().analyse
    alone, n = spread(analyse(second)), analyse(first).length
    both = spread(analyse(f"{first} \n {second}"))
    assert {term: [p - n for p in places if p >= n] for term, places in both.items()} == {
        term: alone.get(term, []) for term in both
    }


def test_an_analyzer_that_starts_afresh_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgetting what was remembered changes nothing."""
    monkeypatch.setattr(analysis, "MAX_MEMO", 3)
    analyzer = Analyzer()
    for text in ("one two three four", "two five six", "one six"):
        assert spread(analyzer.analyse(text)) == one_by_one(text)[0]


def test_endless_tokens_are_not_remembered() -> None:
    """A file of encoded data does not stay in memory."""
    analyzer = Analyzer()
    analyzer.analyse(" ".join("q" * (MAX_RAW_LENGTH + n) for n in range(5)))
    assert sum(map(len, analyzer._memo)) <= MAX_RAW_LENGTH


def test_an_empty_text_has_no_postings() -> None:
    """Nothing comes from nothing."""
    assert Analyzer().analyse(" \n ") == EMPTY


def test_what_is_folded_folds_to_itself() -> None:
    """Every letter of the first two planes: also one that is taken apart into a stroked one, as \u210f."""
    letters = [letter for letter in map(chr, range(0x20000)) if letter.isalpha()]
    assert [letter for letter in letters if fold(fold(letter)) != fold(letter)] == []


@pytest.mark.parametrize("same", [str.upper, str.lower, str.title, lambda text: fold(text)])
def test_case_and_accents_do_not_change_the_words(same: Callable[[str], str]) -> None:
    """However a text is written, its sequence of words is the same."""
    text = "Größe naïve ÉCOLE Ångström Łódź Ørsted ışık"
    assert sequence(same(text)) == ["grosse", "naive", "ecole", "angstrom", "lodz", "orsted", "isik"]


WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=4), max_size=60, unique=True)


def of(words: list[str]) -> bytes:
    return sketch(np.array([word_hash(word) for word in words], dtype=np.int64))


def stacked(*texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(of(words) for words in texts), np.uint8).reshape(-1, BUCKETS)


def words(start: int, n: int) -> list[str]:
    """Words `start` to `start + n` of an endless list, without a digit."""
    return ["".join(chr(97 + int(digit)) for digit in str(i * 7919)) for i in range(start, start + n)]


@given(WORDS, st.randoms())
def test_a_sketch_knows_the_set_of_words_only(own: list[str], random: object) -> None:
    """Whatever their order and number; words with digits do not count."""
    mixed = [*own, "2024", "v2", "a1b"]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert of([*mixed, *mixed]) == of(own)
    assert len(of(own)) == BUCKETS


def test_no_words_resemble_nothing() -> None:
    """Not even each other."""
    assert of([]) == bytes(BUCKETS) == of(["1", "22"])
    pairs, values = resembling(stacked([], [], words(0, 50)), 0.1)
    assert (pairs.tolist(), values.tolist()) == ([], [])


def test_equal_texts_resemble_each_other_wholly() -> None:
    """Pairs name the earlier one first."""
    pairs, values = resembling(stacked(words(0, 30), words(500, 30), words(0, 30)), 0.5)
    assert (pairs.tolist(), values.tolist()) == ([[0, 2]], [1.0])


@pytest.mark.parametrize("n_common", [400, 720])
def test_the_estimate_is_that_of_the_jaccard_index(n_common: int) -> None:
    """Over 100 pairs of 800 words the mean is within three standard errors; Eq. for all 128 buckets in use."""
    truth = n_common / (1600 - n_common)
    estimates = []
    for i in range(100):
        start = 5_000 * i
        pairs, values = resembling(stacked(words(start, 800), words(start + 800 - n_common, 800)), 0.05)
        estimates.append(values[0] if len(pairs) else 0.0)
    error = np.sqrt(truth * (1 - truth) / BUCKETS)
    assert abs(np.mean(estimates) - truth) < 3 * error / np.sqrt(100) + 1 / 255
    assert np.std(estimates) == pytest.approx(error, rel=0.25)


@given(st.lists(WORDS, min_size=2, max_size=6))
def test_looking_at_few_buckets_first_loses_no_close_pair(texts: list[list[str]]) -> None:
    """Against the same estimate for each pair by a loop; only pairs far below what is asked for may be missing."""
    sketches = stacked(*texts)
    pairs, values = resembling(sketches, 0.8)
    found = dict(zip(map(tuple, pairs.tolist()), values.tolist(), strict=True))
    for i in range(len(texts)):
        for j in range(i + 1, len(texts)):
            used = [(a, b) for a, b in zip(sketches[i].tolist(), sketches[j].tolist(), strict=True) if a or b]
            value = sum(a == b for a, b in used) / len(used) if used else 0.0
            assert found.get((i, j), 0.0) == pytest.approx(value if value >= 0.8 else 0.0)
