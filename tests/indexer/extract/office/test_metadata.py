"""What office files and PDFs say of themselves becomes properties; what only a program can have meant does not."""

from __future__ import annotations

import math

import pytest

from indexer.extract.office.metadata import elements, facts, first, pdf_date, real_title
from indexer.extract.source import Limits, Source
from indexer.extract.zipped import open_zip
from indexer.properties import moment, shown
from tests.indexer.extract.office.test_pdf import pdf

CORE = (
    '<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>Plan</dc:title>'
    "<dc:creator>Ann</dc:creator>"
    "<dc:subject>Boats</dc:subject><cp:keywords>quay; sea</cp:keywords><cp:lastModifiedBy>Ben</cp:lastModifiedBy>"
    "<dcterms:created>2024-01-15T10:30:00Z</dcterms:created></cp:coreProperties>"
)
APP = "<Properties><Application>Microsoft Office Word</Application><Company>Acme</Company></Properties>"
OFFICE = {
    "subject": ["Boats"], "tag": ["quay", "sea"], "created": ["2024-01-15T10:30:00Z"], "editor": ["Ben"],
    "company": ["Acme"], "producer": ["Microsoft Office Word"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "main", "content"),
    [
        ("a.docx", "word/document.xml", "<w:document><w:body><w:p><w:r><w:t>x</w:t></w:r></w:p></w:body></w:document>"),
        ("a.xlsx", "xl/workbook.xml", "<workbook><sheets/></workbook>"),
        ("a.pptx", "ppt/presentation.xml", "<p:presentation/>"),
    ],
)
def test_office(extract, zipped, name: str, main: str, content: str) -> None:
    """Word, Excel and PowerPoint say it in the same two parts."""
    (document,) = extract(name, zipped({main: content, "docProps/core.xml": CORE, "docProps/app.xml": APP})).documents
    assert (document.title, document.author, shown(document.properties)) == ("Plan", "Ann", OFFICE)


def test_opendocument(single, zipped) -> None:
    """Keywords are elements of their own; who saved it last is the editor, unless that is the author."""
    meta = (
        "<m><meta:initial-creator>Ann</meta:initial-creator><dc:creator>Ben</dc:creator><meta:keyword>sea</meta:keyword>"
        "<meta:keyword>quay</meta:keyword><meta:creation-date>2024-01-15T10:30:00.123456789</meta:creation-date></m>"
    )
    text = "<office:body><office:text><text:p>x</text:p></office:text></office:body>"
    document = single("a.odt", zipped({"content.xml": text, "meta.xml": meta}))
    assert document.author == "Ann"
    found = shown(document.properties)
    assert (found["tag"], found["editor"]) == (["sea", "quay"], ["Ben"])
    assert not math.isnan(moment(found["created"][0]))


def test_pdf(single) -> None:
    """The information dictionary: subject, keywords, the two programs, the date."""
    more = (
        ") /Subject (Boats) /Keywords (quay, sea) /Creator (LaTeX) /Producer (pdfTeX) /CreationDate (D:20240115103000Z"
    )
    document = single("a.pdf", pdf("zebra", title=f"A title{more}"))
    assert shown(document.properties) == {
        "subject": ["Boats"], "tag": ["quay", "sea"], "created": ["2024-01-15T10:30:00Z"],
        "producer": ["LaTeX", "pdfTeX"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("D:20240115103000+01'00'", "2024-01-15T10:30:00+01:00"),
        ("D:20240115103000-0330", "2024-01-15T10:30:00-03:30"),
        ("20240115103000", "2024-01-15T10:30:00"),
        ("D:20240115103000-08'", "2024-01-15T10:30:00-08:00"),
        ("D:20240115", "2024-01-15"),
        ("D:2024", ""),
        ("yesterday", ""),
    ],
)
def test_dates_of_pdf(text: str, date: str) -> None:
    """With and without a zone; too little is none."""
    assert pdf_date(text) == date


def test_what_says_nothing_is_left_out() -> None:
    """Empty values, an editor who is the author, a subject that a program wrote, keywords twice."""
    about = facts("untitled", "Ann", subject="none", keywords=["a; ;a", "b"], editor=" Ann ", producers=["", "x"])
    assert (about.title, about.properties) == ("", (("tag", "a"), ("tag", "b"), ("producer", "x")))
    assert real_title("Microsoft Word - plan") == "plan"


@pytest.mark.parametrize(
    "title",
    [
        "Dokument1", "Documento1", "Документ1", "文書 1", "Unbenanntes Dokument", "Untitled document", "Sans titre",
        "Mappe1", "Classeur 2", "PowerPoint-Präsentation", "Présentation PowerPoint", "Presentación de PowerPoint",
        "Presentazione standard di PowerPoint", "Prezentacja programu PowerPoint", "Презентация PowerPoint",
        "PowerPoint プレゼンテーション", "PowerPoint 演示文稿", "PowerPoint-presentatie", "无标题", "無題",
    ],
)  # fmt: skip
def test_a_name_that_a_program_gives_is_no_title(title: str) -> None:
    """In the languages of the office programs; what a person writes about them is one."""
    assert real_title(title) == ""
    assert real_title(f"{title}: what we agreed on in June, and why") != ""


@pytest.mark.parametrize("title", ["Documents of the year", "Documentation", "Book of hours", "Why PowerPoint fails"])
def test_a_title_that_begins_like_one_is_kept(title: str) -> None:
    """One word more makes it a person's."""
    assert real_title(title) == title


def test_a_part_that_is_damaged_or_missing_says_nothing(zipped) -> None:
    """The text is what counts."""
    with open_zip(Source(name="a", data=zipped({"a.xml": "<r><t>one</t><t>two</t><t>th"})), Limits()) as parts:
        assert elements(parts, "no.xml", ("t",)) == {}
        found = elements(parts, "a.xml", ("t",))
    assert (found["t"][:2], first(found, "x", "t"), first(found, "x")) == (["one", "two"], "one", "")
