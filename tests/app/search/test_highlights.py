"""Words are found where a reader would see them, at offsets of the original text."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.search.snippets import fold_letters, matches
from indexer.text.analysis import fold


def found(text: str, *words: str) -> list[str]:
    return [text[start:end] for start, end in matches(text, words)]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("a house, houses; HOUSE", ["house"], ["house", "HOUSE"]),
        ("a house, houses; HOUSE", ["house", "houses"], ["house", "houses", "HOUSE"]),
        ("a house, houses; HOUSE", ["hous*"], ["house", "houses", "HOUSE"]),
        ("farmhouse house2", ["house"], []),
        ("Café CAFÉ cafe\u0301 cafés", ["cafe"], ["Café", "CAFÉ", "cafe\u0301"]),
        ("re\u0301sume\u0301", ["résumé"], ["re\u0301sume\u0301"]),
        ("Straße STRASSE strasse", ["strasse"], ["Straße", "STRASSE", "strasse"]),
        ("an eﬃcient ﬁle ﬂow", ["efficient", "file", "flow"], ["eﬃcient", "ﬁle", "ﬂow"]),
        ("ᾠδή ΓΛΏΣΣΑΙ", ["ωιδη", "γλωσσαι"], ["ᾠδή", "ΓΛΏΣΣΑΙ"]),
        ("ทำงาน", [fold("ทำงาน")], ["ทำงาน"]),
        ("ค่าน้ำประปาเดือน", ["น้ำ", "ปร ระ ะป ปา"], ["น้ำ", "ประปา"]),
        ("Łódź ŁÓDŹ ışık", ["lodz", "isik"], ["Łódź", "ŁÓDŹ", "ışık"]),
        ("İstanbul ISTANBUL", ["istanbul"], ["İstanbul", "ISTANBUL"]),
        ("Ｆｕｌｌ width", ["full"], ["Ｆｕｌｌ"]),
        ("ΣΊΣΥΦΟΣ σίσυφος", ["σισυφοσ"], ["ΣΊΣΥΦΟΣ", "σίσυφος"]),
        ("foo_bar fooBar FooBAR foo.bar foobar", ["bar"], ["bar", "Bar", "BAR", "bar"]),
        ("getUserName HTMLParser", ["user", "parser", "html"], ["User", "HTML", "Parser"]),
        ("userNames", ["user*"], ["userNames"]),
        ("3.2.20 3x2x20", ["3.2.20"], ["3.2.20"]),
        ("C++ and C#, not C", ["c++", "c#"], ["C++", "C#"]),
        ("the new\n  houses, newhouses", ["new houses"], ["new\n  houses"]),
        ("the new houses, new flats", ["new", "new houses"], ["new houses", "new"]),
        ("Anna's   book", ["anna book"], ["Anna's   book"]),
        ("new (big) houses", ["new houses"], []),
        ("中文字典", ["中文", "文字"], ["中文字"]),
        ("中文字典", ["中文 文字 字典"], ["中文字典"]),
        ("用Python写", ["python"], ["Python"]),
        ("한국어 문서", ["한국", "국어"], ["한국어"]),
        ("が か", ["が"], ["が", "か"]),
        ("हिन्दी में हिना", ["हिन्दी", "हि"], ["हिन्दी"]),
        ("विद्यालय", ["विद्या*"], ["विद्यालय"]),
        ("שָׁלוֹם הַסֵּפֶר", ["שלום", "הספר"], ["שָׁלוֹם", "הַסֵּפֶר"]),
        ("الكِتَابُ كتـــاب", ["الكتاب", "كتاب"], ["الكِتَابُ", "كتـــاب"]),
        (
            unicodedata.normalize("NFD", "PDF한국어 ガイド"),
            ["pdf", "국어", "ガイド"],
            [unicodedata.normalize("NFD", word) for word in ("PDF", "국어", "ガイド")],
        ),
        ("価格は3000元", [f"3000 {fold('元')}"], ["3000元"]),
        ("ไฟฟ้า", [fold(pair) for pair in ("บ้", "้า", "าน")], []),
        ("a+b", ["+", "", "*", " "], []),
        ("a [b] c", ["b", "[b]"], ["[b]"]),
        ("", ["a"], []),
    ],
)
def test_found(text: str, words: list[str], expected: list[str]) -> None:
    """Case, accents, ligatures and forms of writing do not matter; edges of words do."""
    assert found(text, *words) == expected


def test_limit() -> None:
    """No more places are given than were asked for, the first ones."""
    assert matches("a b a b", ["a"], 1) == ((0, 1),)
    assert matches("a b", ["a"], 0) == ()
    assert len(matches("a " * 5000, ["a"])) == 1000


@settings(deadline=None)
@given(st.text("abAB ,_", max_size=60), st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4))
def test_whole_words_against_splitting(text: str, words: list[str]) -> None:
    """In text without camel case the places are those that splitting at every sign gives."""
    text = text.lower()
    expected = [match.span() for match in re.finditer("[ab]+", text) if match.group() in words]
    assert list(matches(text, words)) == expected


any_text = st.text(st.characters(exclude_categories=()), max_size=50)


@settings(deadline=None)
@given(any_text)
@example("İßﬃ가\ud800\U0001f600e\u0301")
@example("ᴬℂ")
def test_folding_keeps_every_offset(text: str) -> None:
    """Folding gives one character for each, and what the index's folding gives wherever that is one for one."""
    plain = fold_letters(text)
    assert len(plain) == len(text)
    for before, after in zip(text, plain, strict=True):
        index_form = unicodedata.normalize("NFC", fold(before))
        if len(index_form) == 1 and ord(before) < 0x3400 and len(before.casefold()) == 1:
            assert after.casefold() == index_form


@settings(max_examples=200, deadline=None)
@given(any_text, st.lists(any_text | st.sampled_from(["a*", "中文", "x y", "[", "\\", "(?i)"]), max_size=4))
def test_never_fails_and_spans_are_in_order(text: str, words: list[str]) -> None:
    """Whatever is looked for in whatever text: ascending spans inside the text, none empty, none overlapping."""
    position = 0
    for start, end in matches(text, words):
        assert position <= start < end <= len(text)
        position = end


@settings(deadline=None)
@given(
    st.text(st.characters(categories=["Lu", "Ll"]), min_size=1, max_size=8), st.text(" .,\n", min_size=1, max_size=3)
)
def test_a_word_is_found_by_its_folded_form(word: str, sign: str) -> None:
    """Any cased word that folds letter by letter is found by the form in which the index holds it."""
    if len(word) == len(fold(word)) and word.isalnum():
        assert found(f"0{sign}{word}{sign}0", fold(word))[:1] == [word]
