"""What a file is by its name, and by its first bytes where the name misleads.

Every extractor under arbitrary and damaged input, and all the odd documents through the real pool.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.confined.pool import WorkerPool
from indexer.documents import MAX_FILE_BYTES, TYPES, Extraction, FileEntry
from indexer.errors import ExtractionError
from indexer.extract import kinds
from indexer.extract.kinds import (
    TYPE_OF_KIND,
    document_type,
    extract_file,
    extract_source,
    kind_by_content,
    kind_of,
    load,
)
from indexer.extract.source import Limits, Source
from indexer.extract.sources.known import SOURCES
from indexer.files.changes import PASSING


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
        ("how.so.txt", "text"),
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


@pytest.mark.parametrize(
    ("first", "data", "second", "kind"),
    [
        ("mimetype", "application/epub+zip", "a", "epub"),
        ("mimetype", "application/vnd.oasis.opendocument.text", "a", "odt"),
        ("note.txt", "application/epub+zip", "a", "zip"),
        ("mimetype", "image/openraster", "a", "zip"),
        ("[Content_Types].xml", "", "xl/workbook.xml", "xlsx"),
        ("[Content_Types].xml", "", "a", "zip"),
    ],
)
def test_a_zip_file_without_a_name_is_known_by_its_first_member(first: str, data: str, second: str, kind: str) -> None:
    """Where office formats and e-books say what they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(first, data)
        archive.writestr(second, "")
    assert kind_by_content("", stream.getvalue()) == kind


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


KINDS = {
    "invalid-xml",
    "unreadable",
    "encrypted",
    "malformed",
    "too-large",
    "timeout",
    "too-slow",
    "memory",
    "crashed",
    "unsupported",
}
_EXTENSIONS = """
    text:txt manual:1 markdown:md rst:rst org:org latex:tex pod:pod asciidoc:adoc source:py html:html mht:mht
    xml:xml docx:docx pptx:pptx xlsx:xlsx odt:odt ods:ods odp:odp fodt:fodt fods:fods fodp:fodp
    rtf:rtf epub:epub delimited:csv json:json
    notebook:ipynb calendar:ics ole:doc xls:xls wordml:xml eml:eml mbox:mbox zip:zip tar:tar compressed:gz
    picture:jpg recording:mp3 film:mp4 fb2:fb2 mobi:mobi djvu:djvu libarchive:7z
    subtitles:srt cards:vcf evernote:enex"""
NAMES = {kind: f"a.{end}" for kind, _, end in (pair.partition(":") for pair in _EXTENSIONS.split())}
STARTS = {
    "rtf": b"{\\rtf1 ",
    "notebook": b'{"cells": [',
    "calendar": b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n",
    "cards": b"BEGIN:VCARD\n",
    "evernote": b"<?xml version='1.0'?><en-export><note>",
    "xml": b"<?xml version='1.0'?><a>",
    "mbox": b"From a@b Mon Jan  1 00:00:00 2024\n",
    "eml": b"Subject: x\nContent-Type: ",
    "compressed": b"\x1f\x8b\x08\x00",
    "ole": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "xls": b"\x09\x04\x06\x00\x00\x00\x10\x00\x00\x00",
    "fodt": b"<f xmlns:office='o' xmlns:text='t'><office:body><text:p>",
    "fods": b"<f xmlns:office='o' xmlns:table='t'><office:body><table:table-row><table:table-cell>",
    "fodp": b"<f xmlns:office='o' xmlns:draw='d'><office:body><draw:page>",
    "wordml": b"<?xml version='1.0'?><w:wordDocument xmlns:w='w'>",
    "html": b"<html><body>",
    "manual": b".TH X 1\n",
    "picture": b"\xff\xd8\xff\xe1\x01\x00Exif\x00\x00II*\x00\x08\x00\x00\x00\x03\x00",
    "recording": b"ID3\x03\x00\x00\x00\x00\x02\x00TIT2\x00\x00\x00\x09",
    "film": b"\x00\x00\x00\x10ftypM4A \x00\x00\x00\x00\x00\x00\x01\x00moov",
    "fb2": b"<?xml version='1.0'?><FictionBook>",
    "mobi": bytes(60) + b"BOOKMOBI" + bytes(8) + b"\x00\x02\x00\x00\x00\x60",
    "djvu": b"AT&TFORM",
    "libarchive": b"7z\xbc\xaf\x27\x1c\x00\x04",
    "pod": b"=head1 NAME\n\n",
    "mht": b"Content-Type: text/html\n\n",
}
_SPLINTERS = """<a>|</a>|\\u|\\'|\n\n|&x;|<!DOCTYPE|From |BEGIN:VEVENT\n|=?utf-8?q?|?=|--x\n|charset=|C<|.SH NAME\n
|DTSTART:|99999999T999999|<script>|<title>|Content-Type: multipart/mixed; boundary=x\n"""
WORDS = st.sampled_from([*'\\{}\n:;=[]"\r>0é\x00\ud800', *_SPLINTERS.split("|")])


def test_every_kind_but_pdf_is_tested() -> None:
    """The table of names above covers the registry; PDFium is native and is tested through files."""
    assert set(NAMES) | {"pdf"} == set(kinds.KINDS)


def test_every_name_in_the_registry_is_a_reader() -> None:
    """Each can be loaded, also those of sources that no other test reads."""
    for name in (
        *(kind.reader for kind in kinds.KINDS.values()),
        *(source.reader for source in SOURCES.values() if source.reader),
    ):
        assert callable(load(name)), name


def test_a_reader_that_cannot_be_loaded_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that lives through an upgrade: the file is tried again, and nobody is told that it is broken."""
    monkeypatch.setitem(kinds.KINDS, "text", kinds.KINDS["text"]._replace(reader="markup.texts:of_another_version"))
    (tmp_path / "a.txt").write_text("heron")
    with pytest.raises(ExtractionError, match="could not be loaded") as failed:
        extract_file(str(tmp_path / "a.txt"), Limits())
    assert failed.value.kind in PASSING


def test_a_file_loads_its_own_reader_alone(tmp_path: Path) -> None:
    """A text is read without what reads mail, archives and tables."""
    (tmp_path / "a.txt").write_text("heron")
    code = (
        "import sys; from indexer.extract.kinds import extract_file; from indexer.extract.source import Limits; "
        "print(extract_file(sys.argv[1], Limits()).documents[0].text, "
        "*(name for name in ('markup.texts', 'mail.mail', 'archives', 'office.xlsx') "
        "if 'indexer.extract.' + name in sys.modules))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.txt")], capture_output=True, text=True, check=True
    ).stdout
    assert told == "heron markup.texts\n"


def check(found: Extraction, limits: Limits) -> None:
    """What every extraction promises."""
    for document in found.documents:
        assert document.type in TYPES
        assert len(document.text.encode("utf-8")) <= limits.max_text_bytes
        assert list(document.pages) == sorted(document.pages)
        assert all(0 <= offset <= len(document.text) for offset in document.pages)
        for name, value in document.properties:
            (name + value).encode("utf-8")
            assert value.strip() == value != ""
            assert "\n" not in value
        for line in (document.title, document.author, document.recipients, document.part):
            line.encode("utf-8")
            assert "\n" not in line
            assert all(c.isprintable() or c in "\u200b\u00ad" or not c.isascii() for c in line)
        assert not any(c < " " and c not in "\t\n\x0c" for c in document.text)
        assert document.modified is None or abs(document.modified) < 1e12
    assert all("\n" not in note and note for note in found.notes)


def attempt(name: str, data: bytes, limits: Limits) -> None:
    try:
        found = extract_source(Source(name=name, data=data), limits)
    except ExtractionError as failure:
        kind, reason = failure.kind, str(failure)
    else:
        check(found, limits)
        return
    assert kind in KINDS
    assert reason
    assert "\n" not in reason


@pytest.mark.parametrize("kind", sorted(NAMES))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=300), words=st.lists(WORDS, max_size=30))
def test_arbitrary_content_is_text_or_one_failure(kind: str, data: bytes, words: list[str]) -> None:
    """Any bytes under any name give an extraction or an ExtractionError, never anything else."""
    limits = Limits(max_text_bytes=100, max_member_bytes=10_000, max_archive_members=5)
    markup = "".join(words).encode("utf-8", "surrogatepass")
    attempt(NAMES[kind], STARTS.get(kind, b"") + data, limits)
    attempt(NAMES[kind], STARTS.get(kind, b"") + markup + data, limits)


def containers() -> list[tuple[str, bytes]]:
    """Small whole files of the binary kinds."""
    xml = "<a xmlns:x='x'><x:p><x:t>zebra words in a part</x:t></x:p><sheet name='s'/><row><c><v>1</v></c></row></a>"
    office = {
        "a.docx": ["word/document.xml", "docProps/core.xml", "word/_rels/document.xml.rels"],
        "a.pptx": ["ppt/presentation.xml", "ppt/slides/slide1.xml"],
        "a.xlsx": ["xl/workbook.xml", "xl/sharedStrings.xml"],
        "a.odt": ["content.xml", "meta.xml", "styles.xml", "META-INF/manifest.xml"],
        "a.epub": ["META-INF/container.xml", "b.opf"],
        "a.zip": ["x.xml", "y.txt"],
    }
    made = []
    for name, members in office.items():
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for member in members:
                archive.writestr(member, xml)
        made.append((name, stream.getvalue()))
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        info = tarfile.TarInfo("x.txt")
        info.size = len(xml)
        tar.addfile(info, io.BytesIO(xml.encode()))
    return [*made, ("a.tar.gz", stream.getvalue()), ("a.txt.gz", gzip.compress(xml.encode()))]


@pytest.mark.parametrize(("name", "whole"), containers(), ids=lambda value: value if isinstance(value, str) else "")
@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(at=st.integers(0, 5_000), patch=st.binary(max_size=6), cut=st.integers(0, 5_000))
def test_damaged_containers_are_partial_or_one_failure(
    name: str, whole: bytes, at: int, patch: bytes, cut: int
) -> None:
    """A container with bytes changed or its end missing gives an extraction or an ExtractionError."""
    at %= len(whole)
    damaged = whole[:at] + patch + whole[at + len(patch) :]
    attempt(name, damaged, Limits(max_text_bytes=1_000, max_member_bytes=100_000))
    attempt(name, damaged[: cut % len(damaged)], Limits())


def test_what_cannot_be_opened_is_unreadable(tmp_path: Path) -> None:
    """A missing file, a folder and a file without permission fail with the system's reason."""
    (tmp_path / "folder.txt").mkdir()
    locked = tmp_path / "locked.txt"
    locked.touch(mode=0)
    paths = [tmp_path / "missing.txt", tmp_path / "folder.txt", tmp_path / "missing.pdf", tmp_path / "missing.zip"]
    if os.geteuid() != 0:
        paths.append(locked)
    for path in paths:
        with pytest.raises(ExtractionError) as failure:
            extract_file(str(path), Limits())
        assert failure.value.kind == "unreadable"


def test_names_that_are_not_utf8_are_read(tmp_path: Path) -> None:
    """A name of any bytes is no hindrance, of a text or of a PDF."""
    for end in (b".txt", b".md", b".html"):
        path = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"bad\xff\nname" + end))
        with open(path, "w") as stream:
            stream.write("zebra")
        assert extract_file(path, Limits()).documents[0].text == "zebra"


def test_many_notes_become_twenty_and_a_count() -> None:
    """A mail with 100 damaged attachments has a note for the first ones, and one that counts the rest."""
    attachments = "".join(f"--b\nContent-Disposition: attachment; filename={i}.pdf\n\n%PDF-no\n" for i in range(100))
    mail = f"Subject: Birds\nContent-Type: multipart/mixed; boundary=b\n\n{attachments}--b--\n"
    notes = extract_source(Source(name="a.eml", data=mail.encode()), Limits()).notes
    assert notes[0].startswith("attachment 0.pdf: ")
    assert (len(notes), notes[-1]) == (21, "and 80 more")


def test_an_empty_file_is_an_empty_text(tmp_path: Path) -> None:
    """Nothing in a text is no failure."""
    (tmp_path / "empty.txt").touch()
    assert extract_file(str(tmp_path / "empty.txt"), Limits()).documents[0].text == ""


def entries(folder: Path) -> list[FileEntry]:
    found = []
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        if stat.S_ISREG(about.st_mode):
            found.append(FileEntry(str(path), about.st_size, about.st_mtime_ns, about.st_dev, about.st_ino))
    return found


FAILING = {
    "protectedFile.xlsx": "encrypted",
    "quine.gz": "too-large",
    "testODTEncrypted.odt": "encrypted",
    "testUnicodePassword.pdf": "encrypted",
    "testWORD_truncated.docx": "malformed",
    "testZIP_corrupted_oom.zip": "malformed",
}
"""The odd documents that cannot be read, and the kind of their failure."""


def test_all_odd_documents_go_through_the_pool_twice_alike(shared_files: Path) -> None:
    """Every document gives text or one failure with a reason, in any order, twice the same."""
    wanted = entries(shared_files)
    runs = []
    with WorkerPool(extract_file, n_workers=2, seconds=300, memory_mb=1024) as pool:
        for _ in range(2):
            found = {Path(entry.path).name: outcome for entry, outcome in pool.run(wanted)}
            runs.append({name: repr(outcome) for name, outcome in found.items()})
            assert len(found) == len(wanted)
            failed = {name: one.kind for name, one in found.items() if isinstance(one, ExtractionError)}
            assert failed == FAILING
            for outcome in found.values():
                if isinstance(outcome, Extraction):
                    check(outcome, Limits())
    assert runs[0] == runs[1]
