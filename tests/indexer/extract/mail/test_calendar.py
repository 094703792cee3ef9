"""Calendars made by hand."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from indexer.errors import ExtractionError

CALENDAR = """BEGIN:VCALENDAR
BEGIN:VTIMEZONE
TZID:x
END:VTIMEZONE
BEGIN:VEVENT
SUMMARY:Dentist\\, with
  Anna
DESCRIPTION:Bring\\nthe card
DTSTART;TZID=Europe/Berlin:20240501T120000
LOCATION:Main St 1
ORGANIZER;CN="Ann B.":mailto:ann@example.org
ATTENDEE:mailto:ben@example.org
BEGIN:VALARM
DESCRIPTION:alarm
END:VALARM
END:VEVENT
BEGIN:VTODO
SUMMARY:Taxes
DUE:20240601
END:VTODO
END:VCALENDAR
"""


def test_each_entry_is_a_document(extract) -> None:
    """Events and to-dos are documents with title, people, place and date; alarms are left out."""
    event, todo = extract("a.ics", CALENDAR.replace("\n", "\r\n")).documents
    assert (event.part, event.title, event.type) == ("event 1", "Dentist, with Anna", "calendar")
    assert event.modified == datetime(2024, 5, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
    assert (event.author, event.recipients) == ("Ann B. <ann@example.org>", "ben@example.org")
    assert "Bring\nthe card" in event.text
    assert "Location: Main St 1" in event.text
    assert "2024-05-01 12:00" in event.text
    assert "alarm" not in event.text
    assert (todo.part, todo.title) == ("to-do 2", "Taxes")
    assert todo.modified == datetime(2024, 6, 1).timestamp()


def test_a_calendar_is_bounded_and_known(extract) -> None:
    """Entries beyond the limit are left out with a note; a file without a calendar is malformed."""
    event = "BEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\n"
    found = extract("a.ics", "BEGIN:VCALENDAR\n" + event * 5, max_messages=2)
    assert len(found.documents) == 2
    assert found.notes
    with pytest.raises(ExtractionError) as failure:
        extract("a.ics", "nothing")
    assert failure.value.kind == "malformed"


CARDS = """BEGIN:VCARD
VERSION:3.0
N:Berg;Anna;;;
FN:Anna Berg
item1.TEL;TYPE=CELL:+49 171 5550
ORG:Heronry;Archive
NOTE:met in Graz\\, 2015
PHOTO;ENCODING=b;TYPE=JPEG:okapi
 okapi==
END:VCARD
BEGIN:VCARD
VERSION:2.1
FN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:J=FCrgen
NOTE;ENCODING=QUOTED-PRINTABLE:the spare=
 key
EMAIL:j@example.org
END:VCARD
"""


def test_each_card_is_a_document(extract) -> None:
    """Titled by its name; numbers and addresses say what they are, pictures are left out."""
    anna, other = extract("contacts.vcf", CARDS.replace("\n", "\r\n")).documents
    assert (anna.title, anna.part, anna.type) == ("Anna Berg", "card 1", "text")
    assert anna.text.splitlines()[1:] == ["Berg Anna", "Heronry Archive", "Phone: +49 171 5550", "met in Graz, 2015"]
    assert other.title == "Jürgen"
    assert other.text.splitlines()[1:] == ["Email: j@example.org", "the spare key"]
    with pytest.raises(ExtractionError) as failure:
        extract("a.vcf", "nothing")
    assert failure.value.kind == "malformed"
