"""A file becomes documents ready for the index: text, fields, hash, tags and the row of numbers."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pypdfium2
import pytest

from indexer.documents import TYPES, ExtractedDocument, FileEntry
from indexer.errors import ExtractionError
from indexer.extract.media.recognised import remember
from indexer.extract.source import NO_TEXT_IN_PAGES, Limits
from indexer.prepare import PreparedDocument, document_row, extension, path_fields, prepare_document, prepare_file
from indexer.schema import DOCUMENT, DOCUMENT_STRUCT, folder_key
from indexer.storage.index import Index
from indexer.text.language import LANGUAGES

MakeIndex = Callable[..., Index]


def document(text: str = "heron", **attributes: object) -> PreparedDocument:
    return prepare_document(ExtractedDocument(**{"text": text, "type": "text", **attributes}))


def row(path: str = "/home/a/b.txt", **attributes: object) -> dict[str, object]:
    one = document(**attributes)
    entry = FileEntry(path, 17, 1_500_000_000_000_000_000, 1, 1)
    values = DOCUMENT_STRUCT.unpack(document_row(5, entry, one, {**one.fields, **path_fields(path, one)}))
    return dict(zip(DOCUMENT.names or (), values, strict=True))


def test_text_and_title_are_kept_and_counted() -> None:
    """The text comes back from its compressed form, the title is one line, the words are counted."""
    one = document("Grey heron\nwaits é", title=" The \n heron ", author="Anna", recipients="Ben")
    assert zlib.decompress(one.text_z).decode() == "Grey heron\nwaits é"
    assert (one.title, one.n_words) == ("The heron", 4)
    assert {name: field.length for name, field in one.fields.items()} == {
        "title": 2, "body": 4, "author": 1, "recipients": 1, "properties": 0,
    }  # fmt: skip


def test_copies_have_one_hash_and_nothing_else_has_it() -> None:
    """Type, title and text make the hash; author, date and part do not."""
    one = document("heron", title="A")
    assert document("heron", title="A", author="x", part="y", modified=3.0).content_hash == one.content_hash
    others = [document("heron "), document("heron", title="B"), document("heron", title="A", type="pdf")]
    assert len({one.content_hash, *(other.content_hash for other in others)}) == 4
    assert document("b", title="a").content_hash != document("a\0b").content_hash


def test_text_that_is_no_unicode_is_kept_as_far_as_it_goes() -> None:
    """A lone surrogate becomes a question mark in the stored text."""
    one = document("heron \ud800", title="x \udcff")
    assert zlib.decompress(one.text_z).decode() == "heron ?"


def test_a_path_gives_name_folders_and_tags(make_index: MakeIndex) -> None:
    """The words of the file's name and of the folders above, and marks for type, ending and language."""
    english = "the heron is one of the birds that you and I have seen at the lake"
    snapshot = make_index([{"text": english, "path": "/home/My Projects/Sea_Birds/heron-list.TXT"}]).snapshot()
    assert set(snapshot.terms_with_prefix("name", "")) == {"heron", "list", "txt", "heron-list.txt"}
    assert set(snapshot.terms_with_prefix("path", "")) == {"home", "my", "projects", "sea", "birds", "sea_birds"}
    assert set(snapshot.terms_with_prefix("tag", "")) == {"type=text", "ext=txt", "lang=en"}


def test_a_part_of_a_file_is_found_by_its_own_name_and_ending(make_index: MakeIndex) -> None:
    """A member of an archive has both names and both endings; a message of a mailbox has a number."""
    snapshot = make_index([{"text": "x", "path": "/a/box.zip", "part": "docs/bird.md"},
                           {"text": "x", "path": "/a/in.mbox", "part": "message 3"}]).snapshot()  # fmt: skip
    assert set(snapshot.terms_with_prefix("tag", "")) == {"type=text", "ext=zip", "ext=md", "ext=mbox"}
    assert {"box", "zip", "bird", "md", "message", "3", "docs"} <= set(snapshot.terms_with_prefix("name", ""))


@pytest.mark.parametrize(
    ("name", "ending"),
    [("a.PDF", "pdf"), ("a.tar.gz", "gz"), (".bashrc", ""), ("README", ""), ("a.", ""), ("x.É", "e")],
)
def test_the_ending_of_a_name(name: str, ending: str) -> None:
    """What follows the last dot, folded; a name that begins with its only dot has none."""
    assert extension(name) == ending


def test_the_row_of_a_document() -> None:
    """Numbers for filters and features: times in seconds, two folders above the file, codes, lengths in words."""
    found = row(text="one two", title="x")
    assert found["modified"] == 1_500_000_000.0
    assert (found["doc_id"], found["size"], found["depth"]) == (5, 17, 2 + 0)
    assert (found["type"], found["language"]) == (TYPES.index("text"), LANGUAGES.index(""))
    assert (found["n_body"], found["n_title"], found["n_name"], found["n_path"]) == (2, 1, 2, 2)
    assert found["folder"] == folder_key("/home/a") != folder_key("/home/b")


@pytest.mark.parametrize("modified", [None, math.nan, math.inf, -math.inf])
def test_a_date_that_is_none_is_that_of_the_file(modified: float | None) -> None:
    """What is not a moment in time would make every comparison false."""
    assert row(modified=modified)["modified"] == 1_500_000_000.0
    assert row(modified=0.0)["modified"] == 0.0


def test_names_that_are_not_utf8_are_indexed(make_index: MakeIndex) -> None:
    """The bytes that are no text are passed over, the rest is found."""
    path = os.fsdecode(b"/notes/caf\xe9/heron\xff.txt")
    snapshot = make_index([{"text": "x", "path": path}]).snapshot()
    assert {"heron", "txt"} <= set(snapshot.terms_with_prefix("name", ""))


def test_a_file_is_read_and_prepared(tmp_path: Path) -> None:
    """From a path to documents; a file that cannot be read says so by its kind."""
    path = tmp_path / "heron.txt"
    path.write_text("The heron waits.\n", encoding="utf-8")
    (one,) = prepare_file(str(path), Limits()).documents
    assert (one.type, one.n_words) == ("text", 3)
    with pytest.raises(ExtractionError) as error:
        prepare_file(str(tmp_path / "missing.txt"), Limits())
    assert error.value.kind == "unreadable"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """It was a file when it was seen: it has no fingerprint, and is a failure at once; so is a device."""
    os.mkfifo(tmp_path / "a.txt")
    os.symlink("/dev/zero", tmp_path / "b.txt")
    for name in ("a.txt", "b.txt"):
        with pytest.raises(ExtractionError, match="it is no longer a file"):
            prepare_file(str(tmp_path / name), Limits())


def test_a_page_whose_picture_was_read_is_no_failure_any_more(tmp_path: Path) -> None:
    """What recognition found takes the place of the note that there is no text."""
    page = pypdfium2.PdfDocument.new()
    page.new_page(100, 100)
    page.save(tmp_path / "scan.pdf")
    limits = Limits(recognised=str(tmp_path / "ocr.sqlite"))
    before = prepare_file(str(tmp_path / "scan.pdf"), limits)
    assert before.notes == (NO_TEXT_IN_PAGES,)
    remember(tmp_path / "ocr.sqlite", before.digest, engine="rapidocr", pages=["a heron"])
    after = prepare_file(str(tmp_path / "scan.pdf"), limits)
    assert (after.notes, after.documents[0].n_words) == ((), 2)
