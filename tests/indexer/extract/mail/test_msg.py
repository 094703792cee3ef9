"""Outlook messages: header, text in its three forms, attachments, messages in messages."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.kinds import extract_file
from indexer.extract.mail.msg import unpacked
from indexer.extract.source import Limits
from tests.indexer.extract.office.compound_parts import message

Single = Callable[..., ExtractedDocument]
Extract = Callable[..., Extraction]
PEOPLE = [("Bob", "bob@example.org", 1), ("carl@example.org", "carl@example.org", 1), ("Dora", "dora@example.org", 2)]


def test_a_message_is_a_mail(single: Single) -> None:
    """Subject, sender, recipients with copies apart, the date it was sent, and its text."""
    sent = struct.pack("<Q", (11_644_473_600 + 1_000_000_000) * 10**7)
    texts = {"0037": "Zebra plan", "0C1A": "Ann", "5D01": "ann@example.org", "1000": "Dear all,\r\nhello"}
    document = single("a.msg", message(texts, numbers={0x0039: sent}, people=PEOPLE))
    assert (document.type, document.title, document.author) == ("mail", "Zebra plan", "Ann <ann@example.org>")
    assert document.recipients == "Bob <bob@example.org>; carl@example.org; Dora <dora@example.org>"
    assert document.modified == 1_000_000_000
    assert document.text == "Dear all,\nhello\n"
    assert document.properties == (
        ("to", "Bob <bob@example.org>"), ("to", "carl@example.org"), ("cc", "Dora <dora@example.org>"),
    )  # fmt: skip


def test_ids_states_and_pictures_are_told_as_of_any_mail(single: Single) -> None:
    """Flags 1 read and 8 not sent, follow-up 2 flagged; the ids of its thread; a hidden copy."""
    texts = {"1035": "<b@x>", "1039": "<root@x> <a@x>", "1042": "<a@x>", "1000": "text"}
    numbers = {0x0E07: struct.pack("<Q", 9), 0x1090: struct.pack("<Q", 2)}
    document = single("a.msg", message(texts, numbers=numbers, people=[("Eve", "eve@x", 3)]))
    assert document.message_ids == ("b@x", "root@x", "a@x")
    assert document.properties == (
        ("bcc", "Eve <eve@x>"), ("is", "read"), ("is", "draft"), ("is", "flagged"), ("message-id", "b@x"),
    )  # fmt: skip


def test_attachments_are_read_by_their_names(extract: Extract) -> None:
    """A text's words and a picture's name are found; a damaged file is a note; names are properties."""
    files = {"a.txt": b"heron".ljust(4096), "b.png": b"\x89PNG", "c.pdf": b"%PDF-1.4 nothing"}
    found = extract("a.msg", message({"1000": "see below"}, files=files))
    (document,) = found.documents
    assert document.text.split() == ["see", "below", "a.txt", "heron", "b.png", "c.pdf"]
    assert document.properties == tuple(("attachment", name) for name in files)
    assert [note.partition(":")[0] for note in found.notes] == ["attachment c.pdf"]


def test_a_message_in_a_message_is_read_as_deep_as_archives(single: Single, extract: Extract) -> None:
    """With its sender and subject, as a forwarded mail; one that lies deeper is told."""
    inner = {"0037": "Inner", "0C1A": "Eve", "1000": "zebra within"}
    data = message({"1000": "outer"}, files={"fwd": inner})
    assert single("a.msg", data).text.split("\n") == ["outer", "Eve", "Inner", "zebra within", ""]
    found = extract("a.msg", data, max_depth=0)
    assert found.documents[0].text == "outer\n"
    assert found.notes == ("a message in it: packed more than 0 times over",)


def test_a_page_and_packed_rtf_serve_where_there_is_no_plain_text(single: Single) -> None:
    """HTML comes without its tags, RTF is unpacked first."""
    html = message({}, streams={"__substg1.0_10130102": b"<p>zebra <b>page</b></p>".ljust(4096)})
    assert single("a.msg", html).text.split() == ["zebra", "page"]
    rtf = rb"{\rtf1 zebra rich}"
    plain = struct.pack("<II4sI", len(rtf) + 12, len(rtf), b"MELA", 0) + rtf
    assert single("a.msg", message({}, streams={"__substg1.0_10090102": plain})).text.strip() == "zebra rich"


def test_packed_rtf_is_the_example_of_its_specification() -> None:
    """[MS-OXRTFCP] 3.1.1 and 3.1.2: a plain text, and a run that crosses where it is written."""
    simple = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a00726370673132354232 0af32068656c090020627705b06c647d0a800fa0"
    )
    assert unpacked(simple, 10**6) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    crossing = bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0")
    assert unpacked(crossing, 10**6) == b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"
    assert unpacked(crossing, 10)[:10] == b"{\\rtf1 WXY"
    assert unpacked(b"", 10) == unpacked(simple[:16], 10) == b""


@pytest.mark.parametrize(
    ("name", "title", "words"),
    [
        ("testMSG.msg", "MIME registry use cases", "type detection code"),
        ("test-outlook.msg", "Microsoft Outlook Express 6", "messagerie"),
        ("fake-email-attachment.msg", "Fake email with attachment", "Lots of whitespace"),
        ("testMSG_forwarded.msg", "FW: Testing", "Forwarded Body"),
    ],
)
def test_words_of_real_files(legacy_office: Path, name: str, title: str, words: str) -> None:
    """What Outlook wrote is found."""
    (document,) = extract_file(str(legacy_office / name), Limits()).documents
    assert document.title == title
    assert words in document.text
    assert document.author
