"""What a file is by its name, and by its first bytes where the name misleads."""

from __future__ import annotations

import pytest

from indexer.documents import TYPES
from indexer.errors import ExtractionError
from indexer.extract.kinds import MAX_FILE_BYTES, TYPE_OF_KIND, document_type, kind_of


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a/b/notes.txt", "text"),
        ("README", "text"),
        ("x.unknownext", "text"),
        ("README.md", "markdown"),
        ("Makefile", "source"),
        ("x.PY", "source"),
        ("page.HTM", "html"),
        ("a.pdf", "pdf"),
        ("a.docx", "document"),
        ("paper.tex", "document"),
        ("a.pptx", "presentation"),
        ("a.ods", "spreadsheet"),
        ("a.eml", "mail"),
        ("Inbox", "mail"),
        ("Mail/cur/1789000000.M1P2.host.com:2,S", "mail"),
        ("Mail/new/1789000000.M1P2.host.pl", "mail"),
        ("photos/new/1612345678.jpg", "image"),
        ("notes/new/1612345678.txt", "text"),
        ("Mail/Inbox.msf", None),
        ("a.epub", "ebook"),
        ("a.csv", "data"),
        ("a.ipynb", "notebook"),
        ("a.ics", "calendar"),
        ("a.tar.gz", "archive"),
        ("a.tgz", "archive"),
        ("a.zip", "archive"),
        ("changelog.gz", "text"),
        ("notes.md.gz", "markdown"),
        ("old.xls", "spreadsheet"),
        ("photo.JPG", "image"),
        ("song.mp3", "audio"),
        ("film.mp4", "video"),
        ("font.ttf", None),
        ("photo.jpg.gz", None),
        ("libc.so.6", None),
        ("id.pem", None),
        (".bashrc", "source"),
    ],
)
def test_the_name_decides_the_type(name: str, wanted: str | None) -> None:
    """Extension, whole names and double extensions give the type; fonts and programs give none."""
    assert document_type(name) == wanted


def test_every_kind_has_a_type_a_cap_and_an_extractor() -> None:
    """The tables agree: kinds with types, types with caps, kinds with extractors."""
    assert set(MAX_FILE_BYTES) <= set(TYPES)
    assert set(TYPE_OF_KIND.values()) <= set(MAX_FILE_BYTES)


@pytest.mark.parametrize(
    ("name", "data", "wanted"),
    [
        ("noname", b"<!DOCTYPE html><title>T</title><p>x", "html"),
        ("noname", b"{\\rtf1 hello}", "document"),
        ("report.txt", b"{\\rtf1 hello}", "document"),
        ("page.doc", b"<html><body>x</body></html>", "html"),
        ("old.doc", b"only text after all", "text"),
        ("noname", b"#!/bin/sh\necho x\n", "source"),
        ("noname", b"From: a@b.c\nSubject: s\nMIME-Version: 1.0\n\nbody", "mail"),
        ("7", b"Message-ID: <a@b>\r\nDate: x\r\nFrom: a@b.c\r\nTo: d@e\r\n\r\nbody", "mail"),
        ("noname", b"Date: today\nFrom: here\n\nTo: there\nSubject: none", "text"),
        ("Family", b"From \r\nX-Mozilla-Status: 0001\r\nFrom: a@b.c\r\n\r\nbody", "mail"),
        ("noname", b"From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b.c\n\nbody", "mail"),
        ("noname", b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\nEND:VCALENDAR\n", "calendar"),
        ("noname", b"<?xml version='1.0'?><a>x</a>", "data"),
    ],
)
def test_the_content_decides_where_the_name_misleads(extract, name: str, data: bytes, wanted: str) -> None:
    """A file without or under a wrong extension is read as what it is."""
    assert extract(name, data).documents[0].type == wanted


def test_fonts_and_machine_code_are_unsupported(extract) -> None:
    """What has no text is one failure with a reason, whether its name or its content says so."""
    for name, data in (("a.ttf", b"\x89PNG"), ("noname", bytes(range(256)) * 20), ("x.txt", b"\x7fELF" + bytes(500))):
        with pytest.raises(ExtractionError) as failure:
            extract(name, data)
        assert failure.value.kind == "unsupported"


def test_kind_of_tells_unknown_from_not_indexed() -> None:
    """An unknown extension is open, a known one without text is closed."""
    assert kind_of("x.qqq") == ""
    assert kind_of("x.ttf") is None
