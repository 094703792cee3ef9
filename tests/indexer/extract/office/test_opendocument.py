"""OpenDocument made by hand: text, sheets and slides, properties, encryption."""

from __future__ import annotations

import pytest

from indexer.errors import ExtractionError

META = (
    "<o:m xmlns:o='o' xmlns:dc='dc' xmlns:meta='meta'><dc:title>Plan</dc:title>"
    "<meta:initial-creator>Ann</meta:initial-creator></o:m>"
)


def content(body: str) -> str:
    spaces = " ".join(f"xmlns:{name}='{name}'" for name in ("office", "text", "table", "draw", "presentation"))
    return f"<office:document-content {spaces}><office:body>{body}</office:body></office:document-content>"


def test_text_with_spaces_tabs_and_spans(single, zipped) -> None:
    """Paragraphs and headings are lines; counted spaces, tabs and spans are as shown; deletions are left out."""
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Head</text:h>"
        "<text:p>ze<text:span>bra</text:span><text:s text:c='3'/>x<text:tab/>y<text:line-break/>z</text:p>"
    )
    document = single("a.odt", zipped({"content.xml": content(body), "meta.xml": META}))
    assert document.text == "Head\nzebra   x\ty\nz\n"
    assert (document.title, document.author, document.type, document.pages) == ("Plan", "Ann", "document", ())


def test_sheets_are_pages_and_rows_lines(single, zipped) -> None:
    """A spreadsheet has its sheets under their names, one line per row."""
    row = "<table:table-row>{}</table:table-row>"
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    sheet = "<table:table table:name='{}'>{}</table:table>"
    body = sheet.format("First", row.format(cell.format("a") + cell.format("b"))) + sheet.format(
        "Second", row.format(cell.format("c"))
    )
    document = single("a.ods", zipped({"content.xml": content(body)}))
    assert document.text == "First\na\tb\nSecond\nc\n"
    assert document.pages == (0, len("First\na\tb\n"))


def test_cells_stay_in_their_column(single, zipped) -> None:
    """Empty cells on the left, also such as are written once for several, and cells that another one covers."""
    cells = "<table:table-row>{}<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>"
    rows = (
        cells.format("<table:table-cell/>")
        + cells.format("<table:table-cell table:number-columns-repeated='3'/>")
        + cells.format("<table:table-cell><text:p>a</text:p></table:table-cell><table:covered-table-cell/>")
        + cells.format("<table:table-cell table:number-columns-repeated='9999'/>")
    )
    body = f"<table:table table:name='One'>{rows}</table:table>"
    assert single("a.ods", zipped({"content.xml": content(body)})).text == "One\n\tb\n\t\t\tb\na\t\tb\n\tb\n"


def test_slides_are_pages(single, zipped) -> None:
    """A presentation has a page per slide; a table on a slide is part of it."""
    row = "<table:table-row><table:table-cell><text:p>in</text:p></table:table-cell></table:table-row>"
    table = f"<table:table table:name='t'>{row}</table:table>"
    body = f"<draw:page><text:p>one</text:p>{table}</draw:page><draw:page><text:p>two</text:p></draw:page>"
    document = single("a.odp", zipped({"content.xml": content(body)}))
    assert document.text == "one\nin\ntwo\n"
    assert document.pages == (0, len("one\nin\n"))


def test_headers_and_footers_are_read(single, zipped) -> None:
    """Text of the page styles comes last, that of other styles not at all."""
    styles = (
        "<o:s xmlns:o='o' xmlns:text='t' xmlns:style='s'><o:styles><text:p>no</text:p></o:styles>"
        "<o:master-styles><style:header><text:p>top</text:p></style:header></o:master-styles></o:s>"
    )
    document = single("a.odt", zipped({"content.xml": content("<text:p>x</text:p>"), "styles.xml": styles}))
    assert document.text == "x\ntop\n"


def test_an_encrypted_document_is_one_failure(extract, zipped) -> None:
    """The manifest says that a password is needed."""
    manifest = "<m><file-entry full-path='content.xml'><encryption-data/></file-entry></m>"
    with pytest.raises(ExtractionError) as failure:
        extract("a.odt", zipped({"content.xml": b"\x00", "META-INF/manifest.xml": manifest}))
    assert failure.value.kind == "encrypted"


def test_a_document_without_content_is_malformed(extract, zipped) -> None:
    """A ZIP file that only claims to be one is named as such."""
    with pytest.raises(ExtractionError, match=r"content\.xml") as failure:
        extract("a.ods", zipped({"x": "y"}))
    assert failure.value.kind == "malformed"


@pytest.mark.parametrize(
    ("name", "type_"), [("a.fodt", "document"), ("a.fods", "spreadsheet"), ("a.fodp", "presentation")]
)
def test_a_file_of_one_part_gives_its_body_alone(single, name: str, type_: str) -> None:
    """Settings and styles are no text; title and author are those of its head."""
    body = "<office:body><text:p>zebra</text:p></office:body>"
    settings = "<office:settings><config>ViewAreaTop 42</config></office:settings><text:p>a style's</text:p>"
    flat = f"<f xmlns:office='office' xmlns:text='text'>{META}{settings}{body}</f>"
    document = single(name, flat.encode())
    assert (document.text, document.type) == ("zebra\n", type_)
    assert (document.title, document.author) == ("Plan", "Ann")


def test_notes_and_comments_stand_beside_the_words_they_belong_to(single, zipped) -> None:
    """A word with a footnote or a comment is found, and so is the first of the note; readings break no word."""
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{}</text:p></text:note-body>"
    comment = "<office:annotation><dc:creator xmlns:dc='dc'>Ann</dc:creator><text:p>{}</text:p></office:annotation>"
    ruby = "<text:ruby><text:ruby-base>京</text:ruby-base><text:ruby-text>きょう</text:ruby-text></text:ruby>"
    body = f"<text:p>zebra{note.format('Equus')}</text:note> and gnu{comment.format('where?')}, 東{ruby}駅</text:p>"
    words = single("a.odt", zipped({"content.xml": content(body)})).text.split()
    assert words == ["zebra", "1", "Equus", "and", "gnu", "Ann", "where?", ",", "東京駅"]
