"""What is told of a document before its text."""

from __future__ import annotations

from msgspec.structs import replace

from app.search.headings import head_of, headed
from app.search.results import Hit

HIT = Hit(1, 1, "/a", "", "Plans", "mail", "Ann <a@x>", 1_750_000_000.0, 1, "", 1.0, 1)
PROPERTIES = (
    ("to", "Bo"),
    ("to", "Cy"),
    ("cc", "Di"),
    ("attachment", "a.pdf"),
    ("is", "unread"),
    ("message-id", "1@x"),
)


def test_the_head_of_a_mail() -> None:
    """In the order that people know, several in one line, without what is for programs."""
    found = dict(head_of(replace(HIT, properties=PROPERTIES)))
    assert list(found) == ["From", "To", "Cc", "Date", "Subject", "Attached", "State"]
    assert (found["To"], found["Subject"], found["Attached"]) == ("Bo, Cy", "Plans", "a.pdf")


def test_other_documents_tell_their_author_and_properties() -> None:
    """By the names of their properties."""
    song = replace(HIT, type="audio", properties=(("artist", "Nina"), ("id", "7"), ("taken", "2026-05-01T10:00:30")))
    assert list(head_of(song)) == [("Author", "Ann <a@x>"), ("Artist", "Nina"), ("Taken", "2026-05-01 10:00")]


def test_a_pager_gets_a_mail_with_its_head() -> None:
    """And any other text as it is."""
    assert headed(HIT, "Dear Bo\n").startswith("From: Ann <a@x>\nDate: 2025-06-")
    assert headed(HIT, "Dear Bo\n").endswith("\nSubject: Plans\n\nDear Bo\n")
    assert headed(replace(HIT, type="pdf"), "text") == "text"
