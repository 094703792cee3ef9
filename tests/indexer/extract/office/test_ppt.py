"""PowerPoint files of before 2007: slides as they are now, notes, comments, and what damage leaves."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from tests.indexer.extract.office.compound_parts import compound, presentation, record

Single = Callable[..., ExtractedDocument]
Extract = Callable[..., Extraction]


def test_a_slide_is_a_page_with_its_shapes_notes_and_comments(single: Single) -> None:
    """In the order of the presentation; what an earlier state held is not there."""
    slides = [
        {"outline": "First title", "shape": "Ζέβρα", "notes": "say hello", "comment": "too long"},
        {"outline": "Second", "shape": "heron"},
    ]
    document = single("a.ppt", presentation(slides, old="deleted words"))
    pages = [document.text[start:end] for start, end in zip(document.pages, (*document.pages[1:], None), strict=True)]
    assert pages == ["First title\nΖέβρα\nAnn\ntoo long\nsay hello\n", "Second\nheron\n"]
    assert document.type == "presentation"


def test_a_text_that_is_said_twice_on_a_slide_is_kept_once(single: Single) -> None:
    """The outline repeats what the shapes show."""
    assert single("a.ppt", presentation([{"outline": "zebra", "shape": "zebra"}])).text == "zebra\n"


def test_without_a_directory_all_texts_are_taken(single: Single) -> None:
    """Of a file whose last edit leads nowhere the texts remain, those of masters aside."""
    slide = record(0x03EE, record(0x0FA0, "zebra".encode("utf-16-le")), is_container=True)
    master = record(0x03F8, record(0x0FA0, "click here".encode("utf-16-le")), is_container=True)
    assert single("a.ppt", compound({"PowerPoint Document": master + slide})).text == "zebra\n"


def test_containers_without_end_are_read_to_a_depth(single: Single) -> None:
    """Records a thousand deep are no harm."""
    data = record(0x0FA0, "deep".encode("utf-16-le"))
    for _ in range(1000):
        data = record(0x03EE, data, is_container=True)
    found = single("a.ppt", compound({"PowerPoint Document": record(0x0FA8, b"zebra") + data}))
    assert found.text == "zebra\n"


def test_a_protected_file_is_named(extract: Extract) -> None:
    """By the mark of its current user."""
    with pytest.raises(ExtractionError) as failure:
        extract("a.ppt", presentation([{}], token=0xF3D1C4DF))
    assert failure.value.kind == "encrypted"


def test_an_edit_that_names_itself_ends(single: Single) -> None:
    """A circle of edits is followed once."""
    data = bytearray(presentation([{"shape": "zebra"}]))
    at = data.index(struct.pack("<HI", 0x0FF5, 28)) + 6
    edit = data.index(struct.pack("<I", 0xE391C05F))
    data[at + 8 : at + 12] = data[edit + 4 : edit + 8]
    assert single("a.ppt", bytes(data)).text == "zebra\n"
