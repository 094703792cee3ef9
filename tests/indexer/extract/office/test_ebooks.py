"""EPUB made by hand."""

from __future__ import annotations

import pytest

from indexer.errors import ExtractionError

PACKAGE = (
    "<package xmlns:dc='dc'><metadata><dc:title>The Book</dc:title>"
    "<dc:creator>Ann</dc:creator><dc:creator>Ben</dc:creator><dc:subject>Zebras</dc:subject>"
    "</metadata><manifest><item id='a' href='one.xhtml' media-type='application/xhtml+xml'/>"
    "<item id='b' href='t%20wo.xhtml' media-type='application/xhtml+xml'/></manifest>"
    "<spine><itemref idref='b'/><itemref idref='a'/><itemref idref='gone'/></spine></package>"
)
CONTAINER = "<container><rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>"
BOOK: dict[str, bytes | str] = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/one.xhtml": "<html><body><p>first written</p></body></html>",
    "OEBPS/t wo.xhtml": "<html><body><p>first read</p></body></html>",
}


def test_epub_chapters_come_in_reading_order(single, zipped) -> None:
    """The spine orders the chapters, each a page; title, authors and subjects come from the package."""
    document = single("a.epub", zipped(BOOK))
    assert document.text == "first read\nfirst written\n"
    assert document.pages == (0, len("first read\n"))
    assert (document.title, document.author, document.type) == ("The Book", "Ann, Ben", "ebook")
    assert document.properties == (("tag", "Zebras"),)


def test_a_package_may_declare_entities_and_leave_its_first_title_empty(single, zipped) -> None:
    """Unlike office files some do; the entities are passed over."""
    package = PACKAGE.replace("<dc:title>", "<dc:title/><dc:title>").replace("The Book", "The Book&nbsp;")
    declared = "<!DOCTYPE package [<!ENTITY nbsp '&#160;'>]>" + package
    document = single("a.epub", zipped(BOOK | {"OEBPS/book.opf": declared}))
    assert (document.title, document.author) == ("The Book", "Ann, Ben")


def test_a_missing_chapter_is_a_note(extract, zipped) -> None:
    """The other chapters are kept."""
    found = extract("a.epub", zipped({name: data for name, data in BOOK.items() if "one" not in name}))
    assert found.documents[0].text == "first read\n"
    assert "one.xhtml" in found.notes[0]


def test_a_book_under_drm_is_encrypted(extract, zipped) -> None:
    """Encrypted chapters are a failure, encrypted fonts none."""
    reference = "<e><CipherReference URI='{}'/></e>"
    fonts = reference.format("OEBPS/font.otf")
    assert extract("a.epub", zipped(BOOK | {"META-INF/encryption.xml": fonts})).documents
    chapters = "<x>" + reference.format("OEBPS/one.xhtml") + reference.format("OEBPS/t%20wo.xhtml") + "</x>"
    with pytest.raises(ExtractionError) as failure:
        extract("a.epub", zipped(BOOK | {"META-INF/encryption.xml": chapters}))
    assert failure.value.kind == "encrypted"
