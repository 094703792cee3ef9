"""Bytes to text: every encoding a personal file may have."""

from __future__ import annotations

import codecs
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.extract.decode import clean, decode, encoding_of, is_binary, known_codec

RUSSIAN = "Привет, мир! Это обычный русский текст, который мы хотим прочитать."
JAPANESE = "これは日本語の文章です。漢字とかなが混ざっています。"
SENTENCES = [
    ("utf-8", "naïve “quotes” – Ελλάδα"),
    ("cp1252", "caf\xe9 cr\xe8me “quoted” – dash, déjà vu"),
    ("latin-1", "café crème zebralatin"),
    ("cp850", "Müller über Straße größer café"),
    ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
    ("cp1251", RUSSIAN),
    ("koi8-r", RUSSIAN),
    ("cp866", RUSSIAN),
    ("cp1253", "Καλημέρα κόσμε, αυτό είναι ένα ελληνικό κείμενο"),
    ("cp1255", "שלום עולם זה טקסט רגיל בעברית שאנחנו רוצים לקרוא"),
    ("cp1256", "في قرية من القرى كان هناك رجل حكيم يعرف كل شيء عن الحياة"),
    ("cp932", JAPANESE),
    ("euc_jp", JAPANESE),
    ("iso2022_jp", JAPANESE),
    ("cp949", "안녕하세요 세계 이것은 한국어 문장입니다"),
    ("gb18030", "这是一个中文句子，我们想在这里测试的。他们来说不了"),
    ("big5", "這是一個中文句子，我們想在這裡測試的。他們來說不了"),
    ("utf-16-le", "sixteen bits without a mark"),
    ("utf-16-be", "sixteen bits without a mark"),
    ("utf-32-le", "thirty-two bits"),
    ("cp500", "This is an ordinary English sentence, from a mainframe. It has words."),
    ("cp1252", "Grüße an @anna, @bert, @carl und @dora, und tschüß"),  # an at sign is EBCDIC's blank
]


@pytest.mark.parametrize(("encoding", "sentence"), SENTENCES)
def test_a_sentence_is_read_in_its_encoding(encoding: str, sentence: str) -> None:
    """Without any declaration the encoding of an ordinary sentence is recognised."""
    data = sentence.encode(encoding)
    assert decode(data) == sentence
    assert not is_binary(data)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(mark: bytes, encoding: str) -> None:
    """A mark is obeyed and is no part of the text."""
    assert decode(mark + "žába 漢".encode(encoding)) == "žába 漢"


def test_a_declared_encoding_is_used_when_the_bytes_fit() -> None:
    """Bytes that are no UTF-8 follow the declaration; bytes that are follow UTF-8 whatever is declared."""
    assert decode("Łódź".encode("iso-8859-2"), declared="ISO-8859-2") == "Łódź"
    assert decode("Łódź".encode(), declared="ISO-8859-2") == "Łódź"


def test_a_few_stray_bytes_do_not_spoil_utf8() -> None:
    """A UTF-8 text with one Latin-1 byte in it stays UTF-8."""
    assert decode("größe ".encode() * 20 + b"caf\xe9").startswith("größe größe")


@pytest.mark.parametrize("encoding", ["cp850", "mac_roman", "cp1252"])
@pytest.mark.parametrize("text", [
    "Äpfel für die Schänke, schöne Grüße aus Köln, Öl", "Le café était fermé, à côté de l'hôtel où créée; ça va",
    "Blåbærgrød på søndag, æbler og øl",
])  # fmt: skip
def test_western_text_of_dos_and_of_old_macs(text: str, encoding: str) -> None:
    """It is neither Korean nor taken for another Western table: no accented capital stands inside a word."""
    assert decode(text.encode(encoding)) == text


def test_a_torn_last_character_is_forgiven() -> None:
    """A text cut inside a character keeps what comes before."""
    data = "ééé".encode()[:-1]
    assert encoding_of(data, is_cut=True) == "utf-8"
    assert decode(data, is_cut=True).startswith("éé")


def test_control_characters_and_colours_are_removed() -> None:
    """Escape sequences, overstrikes, zero bytes and lone surrogates never reach the index or the screen."""
    assert clean("\x1b[31mred\x1b[0m b\x08bold \x00zero \ud800 \x9b1m") == "red bold  zero ?  1m"
    assert clean("a\r\nb\rc\tof\x0c") == "a\nb\nc\tof\x0c"
    assert clean("Donau\xadschiff\xadfahrt") == "Donauschifffahrt"


def test_random_bytes_and_programs_are_binary() -> None:
    """Compressed or machine data is told from text by its control bytes."""
    assert all(is_binary(os.urandom(4096)) for _ in range(20))
    assert is_binary(b"\x7fELF\x02\x01\x01" + bytes(200))
    assert not is_binary(b"")
    assert not is_binary(b"\x1b[32mok\x1b[0m build log\n" * 50)


@pytest.mark.parametrize("name", ["utf-16", "undefined", "rot13", "no-such", "", "\x00", "idna", "unicode_escape"])
def test_names_that_are_no_text_encoding_are_refused(name: str) -> None:
    """A declared name that Python cannot or should not decode with counts as none."""
    assert known_codec(name) == ""


@given(st.binary(max_size=2000), st.text(max_size=20))
def test_decoding_never_fails(data: bytes, declared: str) -> None:
    """Any bytes under any declaration give a text that UTF-8 can hold and that has no control characters."""
    text = decode(data, declared=declared, is_cut=len(data) % 2 == 0)
    text.encode("utf-8")
    assert not any(c < " " and c not in "\t\n\x0c" for c in text)


@given(st.text(max_size=500))
def test_utf8_round_trip(text: str) -> None:
    """What is valid UTF-8 comes back as it was, but for control characters."""
    assert decode(text.encode("utf-8", "replace")) == clean(
        text.encode("utf-8", "replace").decode().removeprefix("\ufeff")
    )


def test_two_stray_bytes_are_no_mark() -> None:
    """What is plain UTF-8 behind a mark of sixteen bits is read as that; Chinese in sixteen bits stays."""
    assert decode(codecs.BOM_UTF16_LE + b"The tracking number of the parcel").endswith(
        "The tracking number of the parcel"
    )
    chinese = "柏林房子的租约和帐单在这里"
    assert decode(codecs.BOM_UTF16_LE + chinese.encode("utf-16-le")) == chinese
