"""Mail and mailboxes: people, date, subject, body, attachments."""

from __future__ import annotations

import base64
import time
from datetime import UTC, datetime
from email.message import EmailMessage, Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.documents import ExtractedDocument
from indexer.errors import ExtractionError
from indexer.extract.kinds import extract_source
from indexer.extract.source import Limits, Source

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


def attached(document: ExtractedDocument) -> list[str]:
    return [value for name, value in document.properties if name == "attachment"]


def test_headers_become_fields(single) -> None:
    """Sender, recipients, subject and date are read with their encoded words undone."""
    document = single("a.eml", PLAIN)
    assert document.author == "Björk <bjork@example.org>"
    assert document.recipients == "Ann <ann@example.org>; ben@example.org; c@example.org"
    assert document.title == "Café plans"
    assert document.modified == datetime(2024, 1, 1, 0, 0, tzinfo=UTC).timestamp()
    assert document.text.strip() == "zebra body"
    assert document.type == "mail"
    assert document.properties == (
        ("to", "Ann <ann@example.org>"), ("to", "ben@example.org"), ("cc", "c@example.org"),
    )  # fmt: skip


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
    found = single("a.eml", mail.as_bytes())
    assert {"body", "a;zebracsv", "zebrahtml", "T", "zebrazip"} <= set(found.text.split())
    assert attached(found) == ["t.csv", "p.html", "z.zip", "holiday.png"]


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


def test_raw_bytes_of_a_head_are_as_its_text_declares(single) -> None:
    """Old programs wrote subjects in the encoding of the text; four characters are too few to guess it from."""
    data = "Subject: 年度报告\nFrom: 王 <w@example.org>\nContent-Type: {}text/plain; charset=gb2312\n\n预算\n"
    for multipart in ("", "multipart/mixed; boundary=b\n\n--b\nContent-Type: "):
        document = single("a.eml", data.format(multipart).encode("gb18030"))
        assert (document.title, document.author, document.text.strip()) == ("年度报告", "王 <w@example.org>", "预算")


@pytest.mark.parametrize("zone", ["+0000", "-0000", ""])
def test_a_date_without_a_zone_is_in_utc(single, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """As RFC 5322 has it, wherever the mail is read: -0000 says that the sender's own zone is not told."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert single("a.eml", f"Subject: x\nDate: Mon, 01 Jan 2024 20:30:00 {zone}\n\nb").modified == 1_704_141_000
    finally:
        monkeypatch.undo()
        time.tzset()


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


def test_pictures_in_the_text_and_signatures_are_no_attachments(single) -> None:
    """What a mail program adds by itself is not listed; a picture that a person attached is."""
    mail = message("body")
    mail.add_alternative("<img src='cid:logo'>", subtype="html")
    page = mail.get_payload()[1]
    page.add_related(b"\x89PNG", "image", "png", cid="<logo>", filename="image001.png")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="photo.png", cid="<photo>")
    mail.add_attachment(b"0", maintype="application", subtype="pkcs7-signature", filename="smime.p7s")
    mail.add_attachment(b"-", maintype="application", subtype="pgp-signature", filename="signature.asc")
    assert attached(single("a.eml", mail.as_bytes())) == ["photo.png"]


def test_attachments_of_forwarded_mails_are_listed(single) -> None:
    """Those inside a mail inside the mail, packed as it is, and inside a file of mail."""
    inner = message("inner")
    inner.add_attachment(b"x", maintype="application", subtype="octet-stream", filename="deep.bin")
    outer = message("outer")
    outer.add_attachment(inner)
    outer.add_attachment(inner.as_bytes(), maintype="application", subtype="octet-stream", filename="saved.eml")
    assert attached(single("a.eml", outer.as_bytes())) == ["deep.bin", "saved.eml"]


def test_ids_tie_a_mail_to_those_it_answers(single) -> None:
    """Its own first, then References from the oldest on, then In-Reply-To, over folded lines, none twice."""
    mail = "Message-ID: <c@x>\nReferences: <a@x>\n <b@x>\nIn-Reply-To: <b@x> (your mail of Monday)\nSubject: s\n\nb\n"
    document = single("a.eml", mail)
    assert document.message_ids == ("c@x", "a@x", "b@x")
    assert ("message-id", "c@x") in document.properties
    assert single("a.eml", "Subject: s\nReferences: <a@x>\n\nb").message_ids == ("", "a@x")
    assert single("a.eml", "Subject: s\n\nb").message_ids == ()
    long = "".join(f"<{i}@x> " for i in range(100))
    ids = single("a.eml", f"Message-ID: <me@x>\nReferences: {long}\n\nb").message_ids
    assert (ids[:2], ids[-1], len(ids)) == (("me@x", "0@x"), "99@x", 31)


@pytest.mark.parametrize(
    ("name", "headers", "states"),
    [
        ("cur/1789000000.M1P2.host:2,S", "", ["read"]),
        ("cur/1789000000.M1P2.host:2,FRS", "", ["read", "flagged", "answered"]),
        ("cur/1789000000.M1P2.host:2,", "", ["unread"]),
        ("cur/1789000000.M1P2.host;2,D", "", ["unread", "draft"]),
        ("new/1789000000.M1P2.host", "", ["unread"]),
        ("a.eml", "", []),
        ("a.eml", "Status: RO\nX-Status: AF\n", ["read", "answered", "flagged"]),
        ("a.eml", "Status: O\n", ["unread"]),
        ("a.eml", "X-Mozilla-Status: 0007\n", ["read", "answered", "flagged"]),
        ("a.eml", "X-Mozilla-Status: 0000\n", ["unread"]),
        ("a.eml", "X-Mozilla-Status: what\n", []),
        ("a.eml", "X-Gmail-Labels: Inbox,Unread,Starred,Work\n", ["unread", "flagged"]),
    ],
)
def test_states(single, name: str, headers: str, states: list[str]) -> None:
    """By a Maildir's name, or by what mail programs write; nothing where nothing is known."""
    found = single(name, f"{headers}From: a@b\nSubject: s\n\nb\n").properties
    assert [value for key, value in found if key == "is"] == states


def test_tags_that_mail_programs_keep(single) -> None:
    """Labels and keywords; not those that are folders, states or a program's own."""
    head = (
        "X-Mozilla-Keys: $label1 family NonJunk\nX-Gmail-Labels: Inbox,Opened,Category updates,Tax 2024\nTo: a@b\n\nb"
    )
    assert [value for key, value in single("a.eml", head).properties if key == "tag"] == ["family", "Tax 2024"]


def test_apple_mail(single) -> None:
    """The number before the message and the list behind it are no text; its flags are states."""
    mail = "From: a@b\nSubject: s\n\nbody\n"
    data = (
        f"{len(mail)}\n{mail}<?xml version='1.0'?><plist><dict><key>flags</key>\n<integer>17</integer></dict></plist>"
    )
    document = single("1.emlx", data)
    assert document.text.strip() == "body"
    assert [value for key, value in document.properties if key == "is"] == ["read", "flagged"]


def test_a_mailbox_of_thunderbird(extract) -> None:
    """Messages begin at "From - date" or at a bare "From "; what was deleted there is not read; numbers stay."""
    one = "From - Mon Jan 01 00:00:00 2024\r\nX-Mozilla-Status: 0001\r\nSubject: one\r\n\r\nbody\r\n\r\n"
    gone = "From \r\nX-Mozilla-Status: 0009\r\nX-Mozilla-Status2: 00000000\r\nSubject: gone\r\n\r\nbody\r\n\r\n"
    three = "From \r\nX-Mozilla-Status: 0000\r\nSubject: three\r\n\r\nFrom \r\nthe mountains\r\n\r\n"
    for name in ("Inbox", "Family", "Local Folders/Archives"):
        found = extract(name, one + gone + three)
        assert [(document.part, document.title) for document in found.documents] == [
            ("message 1", "one"), ("message 3", "three"),
        ]  # fmt: skip
    assert "the mountains" in extract("Family", three).documents[0].text


@given(
    st.dictionaries(
        st.sampled_from(["From", "To", "Cc", "Subject", "Date", "Message-ID", "References", "Status", "Content-Type",
                         "X-Mozilla-Status", "X-Gmail-Labels", "Content-Disposition"]),
        st.text(alphabet="=?utf-8bqQB<>@;:\"\\,()\t ab.é\u202e\ud800\0", max_size=60), max_size=6,
    ),
    st.sampled_from(["a.eml", "cur/1789000000.M1P2.host:2,S"]),
)  # fmt: skip
def test_no_header_is_too_odd(headers: dict[str, str], name: str) -> None:
    """Whatever stands in the headers of a mail, it is read, and all that is told of it can be stored."""
    head = "".join(f"{key}: {value}\n" for key, value in headers.items()) + "X-End: 1\n\nzebra\n"
    data = head.encode("utf-8", "surrogatepass")
    document = extract_source(Source(name=name, data=data), Limits()).documents[0]
    assert document.text.strip() in ("zebra", "")
    values = [value for _, value in document.properties]
    assert values == [" ".join(value.encode().decode().split()) for value in values]
    assert all(one.encode() for one in document.message_ids[1:])


NESTS = {
    "multipart": "".join(f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" for i in range(2_000)),
    "forwarded": "Content-Type: message/rfc822\n\n" * 2_000,
}


@pytest.mark.parametrize("nest", NESTS)
def test_a_mail_of_thousands_of_parts_keeps_its_head(extract, nest: str) -> None:
    """Who sent it and what about is found though its parts are nested beyond reading, which a note says."""
    found = extract("a.eml", f"From: ann@example.org\nSubject: Herons\nMIME-Version: 1.0\n{NESTS[nest]}\nword\n")
    (mail,) = found.documents
    assert (mail.title, mail.author) == ("Herons", "ann@example.org")
    assert "only its header is read" in found.notes[0]


def test_a_part_that_cannot_be_read_costs_no_other(extract, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the parser raises on one part, the head and the parts beside it are read."""
    real = Message.get_payload

    def get_payload(part: Message, i: int | None = None, decode: bool = False) -> object:
        if decode and part.get("x-odd"):
            raise LookupError("unknown encoding: no-such")
        return real(part, i, decode)

    monkeypatch.setattr(Message, "get_payload", get_payload)
    parts = "--b\n\nheron\n--b\nX-Odd: 1\n\nlost\n--b\n\negret\n--b--\n"
    found = extract("a.eml", f"Subject: Birds\nContent-Type: multipart/mixed; boundary=b\n\n{parts}")
    assert found.documents[0].text.split() == ["heron", "egret"]
    assert found.documents[0].title == "Birds"
    assert found.notes == ("part 3: damaged (LookupError: unknown encoding: no-such)",)


def test_a_message_that_cannot_be_read_costs_no_other(extract, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a mailbox of three, one whose head the parser stumbles over is noted, and two are found."""

    def read_head(message: Message) -> float | None:
        if message["subject"] == "odd":
            raise RecursionError("too deep")
        return None

    monkeypatch.setattr("indexer.extract.mail.mail.date", read_head)
    mails = "".join(f"From a@b 12:00\nSubject: {name}\n\nword\n\n" for name in ("heron", "odd", "egret"))
    found = extract("a.mbox", mails)
    assert [one.title for one in found.documents] == ["heron", "egret"]
    assert found.notes == ("message 2: damaged (RecursionError: too deep)",)


@pytest.mark.parametrize(
    "head",
    [
        'Content-Type: text/plain; charset="no-such"', "Content-Type: text/html; charset=no-such",
        "Content-Type: text/plain; charset*=no-such'x'abc", "Content-Type: text/plain; name*=no-such''a%E4.txt",
        "Subject: =?no-such?q?egret?=", "From: =?no-such?b?YQ==?= <a@b>", "Content-Transfer-Encoding: no-such",
        "Content-Disposition: inline; filename*=no-such''a%E4.txt", "From: " + "(" * 5_000, "To: " + '"(<' * 5_000,
        "Content-Type: text/plain; charset=\udcff", "Content-Type: text/plain; charset=unicode_escape",
    ],
)  # fmt: skip
def test_encodings_that_nobody_knows_and_odd_heads_lose_no_word(single, head: str) -> None:
    """A name of an encoding that Python does not know is passed over wherever it stands."""
    mail = single("a.eml", f"{head}\nX-Other: 1\n\nheron caf\xe9\n".encode("latin-1", "surrogateescape"))
    assert "heron caf" in mail.text


def test_a_header_of_endless_parameters_costs_little(extract) -> None:
    """200,000 parameters of a type took the parser minutes."""
    began = time.process_time()
    (mail,) = extract("a.eml", "Subject: Birds\nContent-Type: text/plain; " + "a=b; " * 200_000 + "\n\nheron").documents
    assert (mail.title, mail.text.strip()) == ("Birds", "heron")
    assert time.process_time() - began < 5


def test_mails_in_mails_are_read_as_deep_as_archives_are(single, extract) -> None:
    """A mail attached to a mail is read; below the limit the attachment is named, and what it holds is not."""
    data = message("innermost").as_bytes()
    for word in ("third", "second", "first"):
        outer = message(word)
        outer.add_attachment(data, maintype="application", subtype="octet-stream", filename="mail.eml")
        data = outer.as_bytes()
    words = [part for word in ("first", "second", "third") for part in (word, "mail.eml", "Plans")]
    assert single("a.eml", data, max_depth=4).text.split() == [*words, "innermost"]
    found = extract("a.eml", data)
    assert found.notes == ("attachment mail.eml: attachment mail.eml: packed more than 2 times over",)
    assert "innermost" not in found.documents[0].text
