"""Mail and mailboxes: people, date, subject, body, attachments."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest

from indexer.errors import ExtractionError

PLAIN = (
    "From: =?utf-8?q?Bj=C3=B6rk?= <bjork@example.org>\r\nTo: Ann <ann@example.org>, ben@example.org\r\n"
    "Cc: c@example.org\r\n"
    "Subject: =?iso-8859-1?q?Caf=E9?= plans\r\nDate: Mon, 1 Jan 2024 01:00:00 +0100\r\n\r\nzebra body\r\n"
)


def message(body: str = "zebra body") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann <ann@example.org>", "ben@example.org", "Plans"
    mail.set_content(body)
    return mail


def test_headers_become_fields(single) -> None:
    """Sender, recipients, subject and date are read with their encoded words undone."""
    document = single("a.eml", PLAIN)
    assert document.author == "Björk <bjork@example.org>"
    assert document.recipients == "Ann <ann@example.org>; ben@example.org; c@example.org"
    assert document.title == "Café plans"
    assert document.modified == datetime(2024, 1, 1, 0, 0, tzinfo=UTC).timestamp()
    assert document.text.strip() == "zebra body"
    assert document.type == "mail"


def test_of_alternatives_the_plain_text_is_read(single) -> None:
    """The HTML twin of a plain body is not read; an HTML body alone is."""
    mail = message("plain words")
    mail.add_alternative("<p>html words</p>", subtype="html")
    assert single("a.eml", mail.as_bytes()).text.split() == ["plain", "words"]
    only = message()
    only.set_content("<p>html <b>wor</b>ds</p>", subtype="html")
    assert single("a.eml", only.as_bytes()).text.split() == ["html", "words"]


def test_attachments_are_read_by_their_kind(single, zipped) -> None:
    """A text, an HTML page and an archive are read into the mail; a picture only gives its name."""
    mail = message("body")
    mail.add_attachment("a;zebracsv", subtype="csv", filename="t.csv")
    mail.add_attachment(b"<title>T</title><p>zebrahtml", maintype="text", subtype="html", filename="p.html")
    mail.add_attachment(zipped({"in/x.txt": "zebrazip"}), maintype="application", subtype="zip", filename="z.zip")
    mail.add_attachment(b"\x89PNGzebra", maintype="image", subtype="png", filename="holiday.png")
    words = single("a.eml", mail.as_bytes()).text.split()
    assert {"body", "a;zebracsv", "zebrahtml", "T", "zebrazip", "holiday.png"} <= set(words)


def test_a_damaged_attachment_is_a_note(extract) -> None:
    """The mail is kept when an attachment cannot be read."""
    mail = message("body")
    mail.add_attachment(b"%PDF-1.4 broken", maintype="application", subtype="pdf", filename="bill.pdf")
    found = extract("a.eml", mail.as_bytes())
    assert "body" in found.documents[0].text
    assert "bill.pdf" in found.notes[0]


def test_forwarded_mail_is_part_of_the_text(single) -> None:
    """A mail inside a mail gives its sender, subject and text, to any depth that is sane."""
    mail = message("innermost")
    for depth in range(30):
        outer = message(f"level {depth}")
        outer.add_attachment(mail)
        mail = outer
    text = single("a.eml", mail.as_bytes()).text
    assert "level 29" in text
    assert "innermost" in text


def test_raw_and_wrong_encodings_are_read(single) -> None:
    """Bytes in headers and bodies that break every rule are still text."""
    data = "Subject: Größe\nContent-Type: text/plain; charset=no-such\n\nétude\n".encode("cp1252")
    document = single("a.eml", data)
    assert (document.title, document.text.strip()) == ("Größe", "étude")


@pytest.mark.parametrize("value", ["", "yesterday", "Mon, 99 Foo 2024", "Thu, 1 Jan 9999 00:00:00 +0000"])
def test_an_absurd_date_is_none(single, value: str) -> None:
    """Only a date that makes sense is one."""
    assert single("a.eml", f"Subject: x\nDate: {value}\n\nb").modified is None


def test_no_header_is_no_mail(extract) -> None:
    """A file of words under the name of a mail is malformed."""
    with pytest.raises(ExtractionError) as failure:
        extract("a.eml", "just words\n")
    assert failure.value.kind == "malformed"


def test_each_message_of_a_mailbox_is_a_document(extract) -> None:
    """Messages are split at their From lines, quoted ones restored, and numbered."""
    box = (
        "From a@b Mon Jan  1 00:00:00 2024\nSubject: one\n\nbody one\n>From here on\n\n"
        "From here on is no start of a message\n\nFrom c@d Tue Jan  2 00:00:00 2024\nSubject: two\n\nbody two\n"
    )
    found = extract("mail.mbox", box)
    assert [(one.part, one.title) for one in found.documents] == [("message 1", "one"), ("message 2", "two")]
    assert "\nFrom here on\n" in found.documents[0].text
    assert "From here on is no start" in found.documents[0].text


def test_a_mailbox_is_bounded(extract) -> None:
    """Messages beyond the limits are left out with a note, and a message that is too large alone."""
    one = "From a@b Mon Jan  1 00:00:00 2024\nSubject: s\n\n{}\n\n"
    found = extract("a.mbox", one.format("x") * 10, max_messages=3)
    assert len(found.documents) == 3
    assert "first 3 messages" in found.notes[0]
    found = extract("a.mbox", one.format("x") + one.format("y" * 5_000) + one.format("z"), max_member_bytes=1_000)
    assert [document.part for document in found.documents] == ["message 1", "message 3"]
    assert "message 2" in found.notes[0]
    found = extract("a.mbox", one.format("x" * 500) * 10, max_total_text_bytes=1_200)
    assert len(found.documents) == 2
    assert "first 1.2 kB" in found.notes[0]


def test_a_saved_web_page_is_html(single) -> None:
    """MHT gives its page."""
    page = base64.b64encode(b"<title>Saved</title><p>zebra").decode()
    data = f"MIME-Version: 1.0\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\n{page}\n"
    document = single("a.mht", data)
    assert (document.title, document.text, document.type) == ("Saved", "zebra", "html")


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_mail_in_utf_16_is_read(single, codec) -> None:
    """With and without a mark at its beginning."""
    document = single("a.eml", "Subject: Zebra\nFrom: Ann <ann@x>\n\nGrüße an alle\n".encode(codec))
    assert (document.title, document.author) == ("Zebra", "Ann <ann@x>")
    assert document.text.strip() == "Grüße an alle"
