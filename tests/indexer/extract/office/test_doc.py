"""Word files of before 2007: pieces in their order, fields, notes, protection, and real ones of many programs."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from tests.indexer.extract.office.compound_parts import compound, word, word_6

Single = Callable[..., ExtractedDocument]
Extract = Callable[..., Extraction]


def test_pieces_come_in_the_order_of_the_text(single: Single) -> None:
    """Pieces of one and two bytes a character, wherever they lie in the file; the properties are read."""
    document = single("a.doc", word(b"zebra \x93one\x94\r", "Grüße, Ζέβρα\r", b"last", title="A title", author="Ann"))
    assert document.text == "zebra “one”\nGrüße, Ζέβρα\nlast"
    assert (document.title, document.author, document.type) == ("A title", "Ann", "document")


def test_codes_of_fields_are_left_out_and_their_results_kept(single: Single) -> None:
    """Also of a field that begins in one piece and ends in another, and of one in another."""
    code = b'see \x13 HYPERLINK "http://x" \x14the \x13 PAGE \x147'
    assert single("a.doc", word(code, "\x15 page\x15 here")).text == "see the 7 page here"
    assert single("a.doc", word('\x13EQ \\* jc2 \\* "Font:X" \\o\\ad(\\s\\up 9(とう),東)\x15')).text.split() == [
        "とう",
        "東",
    ]


def test_cells_breaks_and_hyphens_become_signs_of_text(single: Single) -> None:
    """A cell ends with a tab, a line and a page with a line end; optional hyphens go, as anchors of pictures do."""
    assert single("a.doc", word(b"a\x07b\x07\rc\x0bd\x0ce\x1ef\x1fg\x01\x08h")).text == "a\tb\t\nc\nd\ne-fgh"


HIDDEN, DELETED, BOLD = b"\x3c\x08\x01", b"\x00\x08\x01", b"\x35\x08\x01"
FONT, SHADE = b"\x4f\x4a\x03\0", b"\x71\xca\x04abcd"


def test_what_is_hidden_or_deleted_is_left_out(single: Single) -> None:
    """Whatever other properties stand before it; a character that is only bold is shown."""
    document = single("a.doc", word(b"zebra ", "geheim ", b"old", "neu ", b"end", properties={
        1: FONT + SHADE + HIDDEN, 2: DELETED, 3: BOLD,
    }))  # fmt: skip
    assert document.text == "zebra neu end"
    assert single("a.doc", word(b"zebra ", b"all", properties={1: HIDDEN[:2], 0: SHADE[:3]})).text == "zebra all"


def test_word_6_saved_whole_is_one_row_of_text(single: Single) -> None:
    """Its text lies between two places that its first block names."""
    assert single("a.doc", word_6(b"zebra \xe4\r")).text.rstrip() == "zebra ä"


def test_protected_and_older_files_are_named(extract: Extract) -> None:
    """Each fails with its own kind."""
    old = bytearray(0x400)
    struct.pack_into("<H", old, 0, 0xA5DB)
    for data, kind in [
        (word("x", flags=0x0100), "encrypted"),
        (compound({"WordDocument": bytes(old)}), "unsupported"),
        (compound({"EncryptedPackage": b"x"}), "encrypted"),
        (compound({"Something": b"x"}), "unsupported"),
    ]:
        with pytest.raises(ExtractionError) as failure:
            extract("a.doc", data)
        assert failure.value.kind == kind
