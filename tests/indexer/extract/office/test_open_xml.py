"""DOCX, PPTX and XLSX made by hand: text, order, properties, and what is refused."""

from __future__ import annotations

import pytest

from indexer.errors import ExtractionError
from tests.indexer.extract.office.compound_parts import compound
from tests.indexer.extract.office.office_parts import related

CORE = "<cp:core xmlns:cp='c' xmlns:dc='d'><dc:title>{}</dc:title><dc:creator>{}</dc:creator></cp:core>"


def word(body: str) -> str:
    return f"<w:document xmlns:w='w' xmlns:mc='m'><w:body>{body}</w:body></w:document>"


def paragraph(*runs: str) -> str:
    return "<w:p>" + "".join(f"<w:r><w:t>{run}</w:t></w:r>" for run in runs) + "</w:p>"


def test_docx_gives_paragraphs_tables_and_properties(single, zipped) -> None:
    """Runs of a paragraph join without blanks, cells are set off, title and author come from the properties."""
    cell = "<w:tc>{}</w:tc>"
    table = f"<w:tbl><w:tr>{cell.format(paragraph('a'))}{cell.format(paragraph('b'))}</w:tr></w:tbl>"
    body = paragraph("ze", "bra") + table + "<w:p><w:r><w:t>x</w:t><w:tab/><w:t>y</w:t></w:r></w:p>"
    document = single(
        "a.docx", zipped({"word/document.xml": word(body), "docProps/core.xml": CORE.format("My report", "Ann")})
    )
    assert document.text.split() == ["zebra", "a", "b", "x", "y"]
    assert (document.title, document.author, document.type) == ("My report", "Ann", "document")


def test_docx_leaves_out_what_is_not_shown(single, zipped) -> None:
    """Deleted text, field codes and doubles for old readers are no text."""
    body = (
        "<w:p><w:del><w:r><w:t>gone</w:t></w:r></w:del><w:r><w:instrText>PAGE</w:instrText><w:t>kept</w:t></w:r>"
        "<mc:AlternateContent><mc:Choice><w:t>once</w:t></mc:Choice><mc:Fallback><w:t>once</w:t></mc:Fallback>"
        "</mc:AlternateContent></w:p>"
    )
    assert single("a.docx", zipped({"word/document.xml": word(body)})).text == "keptonce\n"


def test_words_with_their_readings_stay_whole(single, zipped) -> None:
    """Characters with how they are read above each are found as a word."""
    run = "<w:{0}><w:r><w:t>{1}</w:t></w:r></w:{0}>"
    ruby = f"<w:r><w:ruby>{run.format('rt', '{}')}{run.format('rubyBase', '{}')}</w:ruby></w:r>"
    body = f"<w:p>{ruby.format('かん', '漢')}{ruby.format('じ', '字')}</w:p>"
    assert single("a.docx", zipped({"word/document.xml": word(body)})).text == "漢字\n"
    page = "<p>図<ruby><rb>書<rp>(</rp><rt>しょ</rt><rp>)</rp></ruby>館</p>"
    assert single("a.html", page).text == "図書館"


def test_docx_leaves_out_hidden_runs_as_word_does(single, zipped) -> None:
    """A run is hidden by w:vanish unless its value takes that back; a hidden paragraph mark hides no run."""
    hidden = "<w:r><w:rPr><w:vanish{}/></w:rPr><w:t>{}</w:t><w:tab/></w:r>"
    taken_back = " w:val='0'"
    mark = "<w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>"
    body = (
        f"<w:p>{hidden.format('', 'secret')}<w:r><w:t>shown</w:t></w:r></w:p>"
        f"<w:p>{mark}{hidden.format(taken_back, 'also')}<w:r><w:t>this</w:t></w:r></w:p>"
    )
    assert single("a.docx", zipped({"word/document.xml": word(body)})).text == "shown\nalso\tthis\n"


def test_docx_reads_notes_comments_and_headers(single, zipped) -> None:
    """Parts that the document relates to are read after it; a part that it does not name is not."""
    parts = {
        "word/document.xml": word(paragraph("body")),
        "word/_rels/document.xml.rels": related(("footnotes", "footnotes.xml"), ("header", "/word/header1.xml")),
        "word/footnotes.xml": f"<w:footnotes xmlns:w='w'>{paragraph('foot')}</w:footnotes>",
        "word/header1.xml": f"<w:hdr xmlns:w='w'>{paragraph('head')}</w:hdr>",
        "word/header2.xml": f"<w:hdr xmlns:w='w'>{paragraph('unused')}</w:hdr>",
    }
    assert single("a.docx", zipped(parts)).text.split() == ["body", "foot", "head"]


def test_a_damaged_footnote_is_a_note(extract, zipped) -> None:
    """The text is kept when a part beside it is damaged."""
    parts = {
        "word/document.xml": word(paragraph("body")),
        "word/_rels/document.xml.rels": related(("footnotes", "footnotes.xml")),
        "word/footnotes.xml": "<w:footnotes>",
    }
    found = extract("a.docx", zipped(parts))
    assert found.documents[0].text == "body\n"
    assert "footnotes.xml" in found.notes[0]


@pytest.mark.parametrize("junk", ["Microsoft Word - report.doc", "untitled", "Document1", "(untitled)", "report.docx"])
def test_junk_titles_are_ignored(single, zipped, junk: str) -> None:
    """A title that a program left there is none."""
    parts = {"word/document.xml": word(paragraph("x")), "docProps/core.xml": CORE.format(junk, "")}
    assert single("a.docx", zipped(parts)).title == ""


def test_pptx_keeps_the_order_of_the_presentation(single, zipped) -> None:
    """Slides come in the order of the presentation, each a page, with its notes."""
    slide = "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sld>"
    parts = {
        "ppt/presentation.xml": "<p xmlns:r='r'><sldId id='1' r:id='r2'/><sldId id='2' r:id='r1'/></p>",
        "ppt/_rels/presentation.xml.rels": related(("slide", "slides/slide1.xml"), ("slide", "slides/slide2.xml")),
        "ppt/slides/slide1.xml": slide.format("second"),
        "ppt/slides/slide2.xml": slide.format("first"),
        "ppt/slides/_rels/slide2.xml.rels": related(("notesSlide", "../notesSlides/n.xml")),
        "ppt/notesSlides/n.xml": slide.format("spoken"),
    }
    document = single("a.pptx", zipped(parts))
    assert document.text.split() == ["first", "spoken", "second"]
    assert document.pages == (0, len("first\nspoken\n"))
    assert document.type == "presentation"


def test_what_a_slide_shows_and_carries_is_text(single, zipped) -> None:
    """What describes a picture, what a chart calls its columns (once a line, without its numbers), and comments."""
    cached = "<c:{0}Cache><c:pt><c:v>{1}</c:v></c:pt><c:pt><c:v>{2}</c:v></c:pt></c:{0}Cache>"
    chart = cached.format("str", "North", "South") + cached.format("num", "3", "4") + cached.format("str", "Q1", "Q2")
    parts = {
        "ppt/slides/slide1.xml": "<p:sld xmlns:p='p'><p:cSld><p:cNvPr descr='a zebra'/></p:cSld></p:sld>",
        "ppt/slides/_rels/slide1.xml.rels": related(("chart", "../charts/c.xml"), ("comments", "../comments/m.xml")),
        "ppt/charts/c.xml": f"<c:chart xmlns:c='c'>{chart}</c:chart>",
        "ppt/comments/m.xml": "<p:cmLst xmlns:p='p'><p:cm><p:text>which one?</p:text></p:cm></p:cmLst>",
    }
    assert single("a.pptx", zipped(parts)).text.splitlines() == ["a zebra", "North South", "Q1 Q2", "which one?"]


def test_an_office_file_under_a_wrong_name_is_known(single, zipped) -> None:
    """The first member tells what a ZIP file without an extension is."""
    parts = {
        "[Content_Types].xml": "<Types>" + "word/document.xml" + "</Types>",
        "word/document.xml": word(paragraph("x")),
    }
    import io
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert single("noname", stream.getvalue()).type == "document"


def test_a_bomb_is_refused_by_its_declared_size(extract, zipped) -> None:
    """A part that unpacks to more than the limit is not unpacked."""
    bomb = zipped({"word/document.xml": b"<w>" + bytes(200_000_000)})
    with pytest.raises(ExtractionError, match="200 MB, more than 64 MB") as failure:
        extract("a.docx", bomb)
    assert failure.value.kind == "too-large"


def test_entities_in_office_files_are_refused(extract, zipped) -> None:
    """No office program declares entities; a file that does is a bomb."""
    bomb = '<!DOCTYPE b [<!ENTITY a "zebra">]><w:document xmlns:w="w"><w:p><w:t>&a;</w:t></w:p></w:document>'
    with pytest.raises(ExtractionError, match="entities") as failure:
        extract("a.docx", zipped({"word/document.xml": bomb}))
    assert failure.value.kind == "malformed"


def test_protected_files_are_encrypted(extract) -> None:
    """A password-protected file of today sits in the container of the old ones; a container without streams is none."""
    for name, data, kind in (
        ("a.docx", compound({"EncryptedPackage": b"x", "EncryptionInfo": b"x"}), "encrypted"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "malformed"),
    ):
        with pytest.raises(ExtractionError) as failure:
            extract(name, data)
        assert failure.value.kind == kind


def test_a_file_cut_anywhere_is_malformed(extract, zipped) -> None:
    """A container without its end is one failure with a reason."""
    whole = zipped({"word/document.xml": word(paragraph("x"))})
    for length in range(10, len(whole) - 1, 7):
        with pytest.raises(ExtractionError) as failure:
            extract("a.docx", whole[:length])
        assert failure.value.kind == "malformed"


def test_a_damaged_slide_is_a_note(extract, zipped) -> None:
    """Bytes changed inside one packed slide cost that slide only."""
    slide = "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:t>{}</a:t></a:p></p:sld>"
    whole = zipped({f"ppt/slides/slide{i}.xml": slide.format(f"slide{i} " + "word " * 50) for i in (1, 2)})
    at = whole.index(b"slide2.xml") + len("slide2.xml") + 20
    found = extract("a.pptx", whole[:at] + bytes(byte ^ 255 for byte in whole[at : at + 8]) + whole[at + 8 :])
    assert "slide1" in found.documents[0].text
    assert "slide2.xml" in found.notes[0]


@pytest.mark.parametrize("name", ["a.xml", "a.doc"])
@pytest.mark.parametrize(
    ("root", "binary"),
    [("w:wordDocument xmlns:w='w'", "w:binData"), ("pkg:package xmlns:w='w' xmlns:pkg='p'", "pkg:binaryData")],
)
def test_word_in_one_xml_file_is_its_paragraphs(single, name, root, binary) -> None:
    """Runs are joined to words, base64 and field codes are left out, whatever the name."""
    runs = "<w:p><w:r><w:t>ze</w:t></w:r><w:r><w:t>bra</w:t><w:instrText>PAGE</w:instrText></w:r></w:p>"
    end = root.partition(" ")[0]
    data = f"<?xml version='1.0'?><{root}><{binary}>UEsDBBQABg</{binary}>{runs}<w:p><w:t>two</w:t></w:p></{end}>"
    document = single(name, data)
    assert (document.text, document.type) == ("zebra\ntwo\n", "document")
