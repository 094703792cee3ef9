"""Kindle books made by hand: packed and plain, with what stands behind the text, protected and damaged."""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from indexer.errors import ExtractionError
from indexer.extract.office.ebooks import unpacked

BOOK = "<html><body><h1>One</h1><p>The heron & the käfer</p><mbp:pagebreak/><p>Two</p></body></html>"


def exth(**facts: str) -> bytes:
    numbers = {"author": 100, "subject": 105, "title": 503}
    rows = [struct.pack(">II", numbers[name], 8 + len(text.encode())) + text.encode() for name, text in facts.items()]
    return b"EXTH" + struct.pack(">II", 12 + sum(map(len, rows)), len(rows)) + b"".join(rows)


def mobi(
    *texts: bytes, packing: int = 1, protection: int = 0, trailers: int = 0, title: str = "Full name",
    facts: bytes = b"",
) -> bytes:  # fmt: skip
    """A Palm database of a head, one record for each of `texts`, and a picture."""
    header_size = 240
    head = struct.pack(">HHIHHHH", packing, 0, sum(map(len, texts)), len(texts), 4096, protection, 0)
    mobi_header = bytearray(header_size)
    mobi_header[:16] = b"MOBI" + struct.pack(">III", header_size, 2, 65001)
    struct.pack_into(">II", mobi_header, 84 - 16, 16 + header_size + len(facts), len(title.encode()))
    struct.pack_into(">H", mobi_header, 0xF2 - 16, trailers)
    records = [head + bytes(mobi_header) + facts + title.encode(), *texts, b"\xff\xd8 a picture"]
    start = 78 + 8 * len(records) + 2
    places = b""
    for number, record in enumerate(records):
        places += struct.pack(">II", start, number)
        start += len(record)
    name = b"a book".ljust(32, b"\0") + bytes(28) + b"BOOKMOBI" + bytes(8)
    return name + struct.pack(">H", len(records)) + places + bytes(2) + b"".join(records)


def test_a_plain_book(single) -> None:
    """Records are one text; its pages part at page breaks; the head names title, author and subjects."""
    raw = BOOK.encode()
    book = single("a.azw3", mobi(raw[:50], raw[50:], facts=exth(author="Ann", subject="Birds", title="Herons")))
    assert (book.type, book.title, book.author) == ("ebook", "Herons", "Ann")
    assert [book.text[at:].split("\n")[0] for at in book.pages] == ["One", "Two"]
    assert "The heron & the käfer" in book.text
    assert book.properties == (("tag", "Birds"),)
    assert single("a.mobi", mobi(raw)).title == "Full name"


def test_palmdoc_repeats_and_blanks(single) -> None:
    """A byte of a blank and a letter, a row of bytes as they are, and what stood before, also over its own end."""
    assert unpacked(b"ab\x80\x13") == b"ab" + b"ababab"
    assert unpacked(b"a\xe2\x03\x80\x01\xffz") == b"a b\x80\x01\xffz"
    packed = BOOK.encode().replace("ä".encode(), b"\x02\xc3\xa4")
    assert "the käfer" in single("a.mobi", mobi(packed, packing=2)).text


def test_what_stands_behind_the_text_of_a_record_is_left_out(single) -> None:
    """The end of a character that a record parts, and entries whose size stands at their end."""
    raw = BOOK.encode()
    at = raw.index("ä".encode()) + 1
    first = raw[:at] + raw[at : at + 1] + b"\x01" + b"index\x86"
    second = raw[at + 1 :] + b"\x00" + b"\x81"
    text = single("a.mobi", mobi(first, second, trailers=0b11)).text
    assert "index" not in text
    assert "heron" in text


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (mobi(BOOK.encode(), protection=2), "encrypted"),
        (mobi(BOOK.encode(), packing=17480), "unsupported"),
        (mobi(b"a\x80\x10", packing=2), "malformed"),
        (mobi(BOOK.encode())[:80], "malformed"),
        (b"an application of Palm" * 20, "unsupported"),
    ],
    ids=["DRM", "Huffman", "before the beginning", "cut off", "another program"],
)
def test_what_cannot_be_read_is_named(extract, data: bytes, kind: str) -> None:
    with pytest.raises(ExtractionError) as told:
        extract("a.prc", data)
    assert told.value.kind == kind


def test_records_that_overlap_are_held_once(extract) -> None:
    """A damaged book of a megabyte, half of whose thirty thousand records are all of it: no more memory than that."""
    n_records, text = 30_000, b"heron " * 170_000
    start = 78 + 8 * n_records + 2
    head = struct.pack(">HHIHHHH", 1, 0, 1, n_records, 4096, 0, 0) + bytes(240)
    ends = [start + len(head), start + len(head) + len(text)] * (n_records // 2)
    places = b"".join(struct.pack(">II", place, 0) for place in (start, *ends[: n_records - 1]))
    data = mobi(b"")[:76] + struct.pack(">H", n_records) + places + bytes(2) + head + text
    tracemalloc.start()
    try:
        found = extract("a.mobi", data, max_member_bytes=1_000_000, max_text_bytes=100_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.documents[0].text.startswith("heron heron")
    assert most < 100_000_000


def test_a_page_break_without_an_end_is_none(extract) -> None:
    """Its end is looked for up to the next tag, not to the end of the book: there may be many."""
    found = extract("a.mobi", mobi(b"<p>The heron</p>", b"<mbp:pagebreak " * 4_000, b"<p>The egret</p>"))
    assert len(found.documents[0].pages) == 1


def test_a_cut_book_gives_what_is_there(single) -> None:
    """Records beyond the end are left out."""
    whole = mobi(BOOK.encode()[:40], BOOK.encode()[40:])
    assert single("a.mobi", whole[: len(whole) - 16]).text.startswith("One")
