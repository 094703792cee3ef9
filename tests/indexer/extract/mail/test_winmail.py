"""winmail.dat: what Outlook wrapped is found as if it had been attached plainly."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.extract.mail.winmail import DEEPEST, SIGNATURE, Wrapped, WrappedFile, read_winmail
from tests.indexer.extract.mail.test_mail import attached, message

TEXT, BYTES, UNICODE, OBJECT, NUMBER, TRUE = 0x1E, 0x102, 0x1F, 0xD, 0x3, 0xB
LIMIT = 10_000
RTF = b"{\\rtf1\\ansi The heron stands\\par}"
PACKED = struct.pack("<II4sI", len(RTF) + 12, len(RTF), b"MELA", 0) + RTF
"""RTF as it is, in the place of its packed form"""


def filled_up(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def told(*properties: tuple[int, int, bytes]) -> bytes:
    """MAPI properties: type, number, value; one of each kind of name and of two values before them."""
    named = struct.pack("<HH16sII", NUMBER, 0x8001, b"set of names....", 0, 7) + bytes(4)
    called = struct.pack("<HH16sII", TRUE, 0x8002, b"set of names....", 1, 6) + filled_up("ab\0".encode("utf-16-le"))
    two = struct.pack("<HHI", 0x1000 | UNICODE, 0x7FF0, 2) + 2 * (struct.pack("<I", 2) + filled_up(b"x\0"))
    found = [named, called + bytes(4), two]
    found += [
        struct.pack("<HHII", kind, number, 1, len(value)) + filled_up(value) for kind, number, value in properties
    ]
    return struct.pack("<I", len(found)) + b"".join(found)


def winmail(*attributes: tuple[int, bytes]) -> bytes:
    body = (struct.pack("<BII", 1, name, len(value)) + value + b"\0\0" for name, value in attributes)
    return SIGNATURE + b"\1\0" + b"".join(body)


PAGE = (0x69007, struct.pack("<II", 1252, 0))
FILE = ((0x69002, bytes(14)), (0x18010, "Übersicht~1.txt\0".encode("cp1252")), (0x6800F, b"zebra stripes"))
LONG_NAME = (0x69005, told((UNICODE, 0x3707, "Übersicht der Zebras.txt\0".encode("utf-16-le"))))
PICTURE = ((0x69002, bytes(14)), (0x18010, b"logo.png\0"), (0x6800F, b"\x89PNG"),
           (0x69005, told((TEXT, 0x3712, b"logo@example\0"))))  # fmt: skip
WHOLE = winmail(PAGE, (0x69003, told((BYTES, 0x1009, PACKED))), *FILE, LONG_NAME, *PICTURE)


def test_files_in_it_are_read_and_named(single) -> None:
    """With their long names; a picture within the text is no attachment, and the mail keeps the text it has."""
    mail = message("plain words")
    mail.add_attachment(WHOLE, maintype="application", subtype="ms-tnef", filename="winmail.dat")
    document = single("a.eml", mail.as_bytes())
    assert attached(document) == ["Übersicht der Zebras.txt"]
    assert document.text.split() == ["plain", "words", "Übersicht", "der", "Zebras.txt", "zebra", "stripes"]


@pytest.mark.parametrize("name", ["winmail.dat", "winmail (1).dat", "ATT00001"])
def test_one_that_was_saved_by_itself_is_read_too(single, name: str) -> None:
    """Whatever its name: it is a mail with its text and what was attached to it."""
    document = single(name, WHOLE)
    assert (document.type, attached(document)) == ("mail", ["Übersicht der Zebras.txt"])
    assert "The heron stands" in document.text
    assert "zebra stripes" in document.text


@pytest.mark.parametrize(
    "said",
    [
        (0x69003, told((BYTES, 0x1009, PACKED))),
        (0x69003, told((BYTES, 0x1013, b"<p>The heron <b>stands</b></p>"))),
        (0x69003, told((UNICODE, 0x1000, "The heron stands\0".encode("utf-16-le")))),
        (0x2800C, b"The heron stands\0"),
    ],
)
def test_its_text_stands_for_the_one_that_the_mail_lacks(single, said: tuple[int, bytes]) -> None:
    """However it is written; whatever type the part is said to have, its name tells."""
    mail = message("")
    mail.add_attachment(winmail(said), maintype="application", subtype="octet-stream", filename="WINMAIL.DAT")
    assert single("a.eml", mail.as_bytes()).text.split() == ["The", "heron", "stands"]


def test_messages_in_it_are_read_and_not_without_end() -> None:
    """Their texts and files stand behind; of a message in a message in a message ... only so many are looked at."""
    one = winmail((0x2800C, b"within\0"), *FILE)
    for _ in range(DEEPEST + 5):
        one = winmail((0x2800C, b"around\0"), (0x69002, bytes(14)), (0x69005, told((OBJECT, 0x3701, bytes(16) + one))))
    assert [(wrapped := read_winmail(one, LIMIT)).text, *wrapped.inner_texts] == ["around"] * (DEEPEST + 1)
    twice = winmail((0x69002, bytes(14)), (0x69005, told((OBJECT, 0x3701, bytes(16) + WHOLE))))
    assert [text.split() for text in read_winmail(twice, LIMIT).inner_texts] == [["The", "heron", "stands"]]
    assert [file.name for file in read_winmail(twice, LIMIT).files] == ["Übersicht der Zebras.txt", "logo.png"]


def test_only_the_text_that_the_mail_itself_says_stands_for_that_of_the_wrapped_one(single) -> None:
    """Not that of the mail around a forwarded one; and what an attached message says, the mail never says itself."""
    held = winmail((0x2800C, b"plain\0"), (0x69002, bytes(14)), (0x69005, told((OBJECT, 0x3701, bytes(16) + WHOLE))))
    forwarded, mail = message(""), message("plain")
    forwarded.add_attachment(held, maintype="application", subtype="ms-tnef", filename="winmail.dat")
    mail.add_attachment(forwarded)
    assert single("a.eml", mail.as_bytes()).text.split().count("plain") == 2
    mail = message("plain")
    mail.add_attachment(held, maintype="application", subtype="ms-tnef", filename="winmail.dat")
    assert single("b.eml", mail.as_bytes()).text.split()[:4] == ["plain", "The", "heron", "stands"]


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=4))
def test_of_a_damaged_one_there_is_what_stands_before_the_damage(at: int, other: bytes) -> None:
    """Cut off or written over anywhere, it raises nothing; whole, it is not another's."""
    for damaged in (WHOLE[:at], WHOLE[:at] + other + WHOLE[at + len(other) :]):
        assert isinstance(read_winmail(damaged, LIMIT), Wrapped)
    cut = read_winmail(WHOLE[: WHOLE.index(LONG_NAME[1])], LIMIT)
    assert cut.text.split() == ["The", "heron", "stands"]
    assert cut.files == [WrappedFile("Übersicht~1.txt", b"zebra stripes")]
    assert read_winmail(b"%PDF" + WHOLE, LIMIT) == Wrapped()
