"""Mail: sender, recipients, date, subject, text and attachments; mailboxes; web pages saved as mail (MHT)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC
from email.errors import InvalidBase64LengthDefect, MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from functools import partial
from typing import BinaryIO

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean, decode, known_codec
from indexer.extract.kinds import holds_text
from indexer.extract.mail import mail_headers, winmail
from indexer.extract.markup import html
from indexer.extract.markup.texts import extract_text
from indexer.extract.source import Extractor, Gathered, Limits, Sink, Source, shown_size

MAX_PARTS = 500
"""parts of one mail that are looked at"""
MAX_AROUND = 200
"""parts around one that is looked at"""
_LONG_HEADER = re.compile(rb"^(content-(?:type|disposition):(?:[^\n]|\n[ \t]){4000})(?:[^\n]|\n[ \t])+", re.I | re.M)
"""a header whose parameters the parser would take long to tell apart"""

_EXTENSIONS = {
    "text/html": ".html",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/rtf": ".rtf",
    "application/rtf": ".rtf",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "message/rfc822": ".eml",
}
_HEADER = re.compile(rb"^[A-Za-z][A-Za-z0-9-]*:", re.M)
_EMLX = re.compile(rb"\A(\d{1,12})\s*\n")
_AROUND_WINMAIL = b"Content-Type: application/ms-tnef\nContent-Transfer-Encoding: base64\n\n"
_EMLX_FLAGS = re.compile(rb"<key>flags</key>\s*<integer>(\d{1,18})</integer>")


def extract(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """One document; an attachment that cannot be read becomes a note."""
    data = source.read_whole(limits.max_member_bytes, "mail")
    if data.startswith(winmail.SIGNATURE):  # saved without the mail that it came with
        data = _AROUND_WINMAIL + base64.encodebytes(data)
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:2]  # as some programs store a mail
    data, states = _of_apple_mail(decode(data).encode() if is_wide else data)
    if not _HEADER.search(data[:20_000]):
        raise ExtractionError("malformed", "not a mail: it has no header")
    return read_message(data, source.depth, limits, member, states=states or mail_headers.maildir_states(source.name))


def without_envelope(data: bytes) -> bytes:
    """The mail in a file that holds one, without what Apple Mail puts around it."""
    return _of_apple_mail(data)[0]


def _of_apple_mail(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The mail in an .emlx file, which begins with its length and ends with a list of flags; and its states."""
    begin = _EMLX.match(data)
    if begin is None:
        return data, ()
    end = begin.end() + int(begin[1])
    flags = _EMLX_FLAGS.search(data, end)
    return data[begin.end() : end], mail_headers.apple_states(int(flags[1])) if flags else ()


def read_message(
    data: bytes, depth: int, limits: Limits, member: Extractor, *, states: tuple[str, ...] = ()
) -> Extraction:
    """The mail in `data`, without a header all of it is body; `states` are those that it does not tell itself."""
    notes = list[str]()
    message = _parsed(_LONG_HEADER.sub(rb"\1", data), notes)
    sink = Sink(limits)
    reader = _Reader(sink, notes, depth, limits, member)
    reader.add(message)

    def one(name: str) -> str:
        return header(message, name)

    head = mail_headers.MailHeaders(
        to=people(message, "to"),
        cc=people(message, "cc"),
        bcc=people(message, "bcc"),
        attachments=tuple(reader.attachments),
        states=states or mail_headers.header_states(one),
        tags=mail_headers.header_tags(one),
        message_id=own_id(message),
        answered_ids=tuple(
            found
            for name in ("references", "in-reply-to")
            for value in _values(message, name)
            for found in mail_headers.ids_in(_raw(value, message))
        ),
    )
    author = "; ".join(people(message, "from") or people(message, "sender"))[:2_000]
    return head.over(sink, notes, title=one("subject"), author=author, sent=date(message))


def _parsed(data: bytes, notes: list[str]) -> Message:
    """The mail in `data`; of one whose parts cannot be told apart its head, which a note says."""
    try:
        return BytesParser().parsebytes(data)
    except (MessageError, ValueError, IndexError, AttributeError, LookupError, RecursionError) as error:
        notes.append(f"only its header is read: its parts are damaged or nested too deeply ({type(error).__name__})")
    message = BytesParser().parsebytes(data, headersonly=True)
    message.set_payload("")
    return message


class AttachmentReader:
    """Adds what is attached to a mail to its text; what cannot be read is noted."""

    def __init__(self, sink: Sink, notes: list[str], depth: int, limits: Limits, member: Extractor) -> None:
        self._sink, self._notes, self._depth, self._limits, self._member = sink, notes, depth, limits, member

    def add_file(self, label: str, name: str, data: bytes) -> tuple[ExtractedDocument, ...]:
        """The documents in a file of that name, their texts added under the `label`, which may be ""."""
        try:
            found = self._member(Source(name=name, data=data, depth=self._depth + 1), self._limits)
        except ExtractionError as error:
            if error.kind != "unsupported":
                self._notes.append(f"attachment {label or name}: {error}")
            return ()
        self._sink.add(f"\n{label}\n" if label and found.documents else "")
        for document in found.documents:
            self._sink.add("\n".join(line for line in (document.title, document.text) if line) + "\n")
        self._notes.extend(f"attachment {label or name}: {note}" for note in found.notes)
        return found.documents


class _Reader(AttachmentReader):
    """Adds the parts of a mail to its text."""

    def __init__(self, sink: Sink, notes: list[str], depth: int, limits: Limits, member: Extractor) -> None:
        super().__init__(sink, notes, depth, limits, member)
        self._n_parts = self._n_around = 0
        self._has_text = False
        """whether the mail, or the forwarded one that is read now, has said something itself"""
        self.attachments: list[str] = []
        """names, also of what is attached to forwarded mails"""

    def add(self, part: Message) -> None:
        """Text as text, attachments through their extractor, the plain one of alternatives; unread parts as notes."""
        self._n_parts += 1
        if self._sink.full or self._n_parts > MAX_PARTS:
            return
        if self._n_around > MAX_AROUND:
            self._notes.append(f"parts nested more than {MAX_AROUND} deep are not read")
            return
        self._n_around += 1
        try:
            self._add(part)
        except MemoryError:
            raise
        except Exception as error:  # whatever the parser raises on damaged parts is that part's failure
            self._notes.append(f"part {self._n_parts}: damaged ({type(error).__name__}: {error})"[:300])
        finally:
            self._n_around -= 1

    def _add(self, part: Message) -> None:
        if part.is_multipart() and part.get_content_type() != "message/rfc822":
            inner = [one for one in part.get_payload() if isinstance(one, Message)]
            for one in _best(inner) if part.get_content_type() == "multipart/alternative" else inner:
                self.add(one)
        elif part.get_content_type() in winmail.MEDIA_TYPES or _file_name(part).lower() == winmail.NAME:
            self._add_wrapped(_bytes_of(part))
        elif part.get_content_type() == "message/rfc822":
            self.attachments.extend(name for name in (_file_name(part),) if name)
            self._add_forwarded(part)
        elif _file_name(part) or part.get_content_maintype() != "text" or part.get_content_subtype() in ("calendar",):
            self._add_attachment(part)
        else:
            text = _shown(part)
            self._has_text = self._has_text or bool(text.strip())
            self._sink.add(text + "\n")

    def _add_forwarded(self, part: Message) -> None:
        for one in part.get_payload() if isinstance(part.get_payload(), list) else []:
            if isinstance(one, Message):
                one = _unpacked(part, one)
                sender = "; ".join(people(one, "from"))
                self._sink.add(f"\n{sender}\n{header(one, 'subject')}\n".replace("\n\n", "\n"))
                around, self._has_text = self._has_text, False
                self.add(one)
                self._has_text = around

    def _add_attachment(self, part: Message) -> None:
        name = _file_name(part)
        if _is_attachment(part, name):
            self.attachments.append(name)
        wanted = name if name and "." in name else "attachment" + _EXTENSIONS.get(part.get_content_type(), ".bin")
        if not holds_text(wanted) or part.get_content_maintype() in ("image", "audio", "video"):
            return
        if payload := _bytes_of(part):
            self._add_content(name, wanted, payload)

    def _add_wrapped(self, data: bytes) -> None:
        """What Outlook wrapped: its text where the mail itself has none, messages that were attached, and the files."""
        found = winmail.read_winmail(data, self._limits.max_member_bytes)
        for text in found.inner_texts if self._has_text else (found.text, *found.inner_texts):
            self._sink.add(text + "\n")
        for file in found.files[:MAX_PARTS]:
            self.attachments.extend([file.name] if file.name and not file.is_shown else [])
            if holds_text(file.name):
                self._add_content(file.name, file.name, file.data)

    def _add_content(self, name: str, wanted: str, data: bytes) -> None:
        inner = (one for one in self.add_file(name, wanted, data) if one.type == "mail")
        self.attachments.extend(value for one in inner for key, value in one.properties if key == "attachment")


def _unpacked(part: Message, forwarded: Message) -> Message:
    """A forwarded mail that was packed as base64 against the rules, unpacked."""
    body = forwarded.get_payload()
    if str(part.get("content-transfer-encoding", "")).strip().lower() != "base64" or not isinstance(body, str):
        return forwarded
    try:
        return BytesParser().parsebytes(base64.b64decode(body))
    except (binascii.Error, ValueError, MessageError):
        return forwarded


def _best(parts: list[Message]) -> list[Message]:
    """The plain text among alternatives, else the last of them, which is the richest."""
    plain = [part for part in parts if part.get_content_type() == "text/plain" and part.get_payload()]
    return plain[:1] or parts[-1:]


def _bytes_of(part: Message) -> bytes:
    """The bytes of a part; of base64 that is cut off those that are whole, which email gives as they are written."""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    if any(isinstance(one, InvalidBase64LengthDefect) for one in part.defects):
        letters = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
        return base64.b64decode(letters[: len(letters) // 4 * 4])
    return data


def _shown(part: Message) -> str:
    """The text of a text part, decoded by what it declares and what its bytes say."""
    data = _bytes_of(part)
    declared = part.get_content_charset("") or ""
    if part.get_content_subtype() in ("html", "xhtml"):
        return html.read_html(data, declared=declared).text
    return decode(data, declared=declared)


def _is_attachment(part: Message, name: str) -> bool:
    return mail_headers.is_attachment(
        name=name,
        media_type=part.get_content_type(),
        disposition=(part.get_content_disposition() or "") if "content-disposition" in part else "",
        content_id=str(part.get("content-id", "")),
    )


def _file_name(part: Message) -> str:
    try:
        return mail_headers.file_name(_decoded(part.get_filename("") or "", part))
    except (ValueError, LookupError, TypeError):
        return ""


def header(message: Message, name: str) -> str:
    """The header `name` as one line with its encoded words decoded; "" when it is missing."""
    return html.one_line(_decoded(next(iter(_values(message, name)), ""), message))


def _values(message: Message, name: str) -> list[str]:
    """The headers called `name` as they were sent; undecoded bytes stay as surrogates."""
    return [str(value)[:20_000] for key, value in message.raw_items() if key.lower() == name]


def people(message: Message, name: str) -> tuple[str, ...]:
    """The people in the header `name`, each "Anna Berg <anna@example.org>"."""
    found = []
    values = _values(message, name)
    for shown, address in _addresses(values):
        shown = html.one_line(_decoded(shown, message))
        found.append(clean(f"{shown} <{address}>" if shown and address else shown or address))
    named = tuple(one for one in found if one)
    return named or tuple(clean(html.one_line(_decoded(value, message))) for value in values if value.strip())


def _addresses(values: list[str]) -> list[tuple[str, str]]:
    try:
        return getaddresses(values)
    except RecursionError:  # of thousands of brackets
        return []


def own_id(message: Message) -> str:
    """The Message-ID without its brackets, "" when there is none."""
    value = header(message, "message-id")
    return next(iter(mail_headers.ids_in(value)), value.strip("<> ")[:250])


def date(message: Message) -> float | None:
    """Seconds since the epoch from the Date header, in UTC where that has no zone; None if it is missing or absurd."""
    try:
        moment = parsedate_to_datetime(str(message.get("date", "")))
        seconds = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None
    return seconds if 0 < seconds < 4_102_444_800 else None


def _decoded(text: str, message: Message) -> str:
    """A header with encoded words ("=?utf-8?q?...?=") and raw bytes decoded."""
    if "=?" not in text:
        return _raw(text, message)
    try:
        words = decode_header(text)
    except (MessageError, ValueError, LookupError):
        return _raw(text, message)
    return "".join(
        _raw(word, message) if isinstance(word, str) else word.decode(known_codec(charset or "") or "utf-8", "replace")
        for word, charset in words
    )


def _raw(text: str, message: Message) -> str:
    """A header that holds undecoded bytes, which the parser keeps as surrogates: they are as its texts declare."""
    if text.isascii():
        return text
    declared = ""
    with suppress(ValueError, LookupError, TypeError, AttributeError):  # of a damaged declaration
        declared = next(filter(None, (one.get_content_charset() for one in message.walk())), "") or ""
    return decode(text.encode("utf-8", "surrogateescape"), declared=declared)


_FROM = re.compile(rb"^From .*(?:\d\d:\d\d|\d{4})")
_QUOTED = re.compile(rb"^>+From ")


def extract_mbox(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """A document per message, its part "message 3"; a file without a message is read as plain text."""
    if not source.read(5).startswith(b"From "):
        return extract_text(source, limits)
    gathered = Gathered(limits)
    for number, (data, size) in enumerate(messages(source, limits), 1):
        if number > limits.max_messages:
            gathered.note(f"only the first {limits.max_messages} messages are read")
            break
        part = f"message {number}"
        if mail_headers.is_expunged(data):
            continue
        if size > limits.max_member_bytes:
            gathered.note(f"{part}: {shown_size(size)}, more than {shown_size(len(data))}")
            continue
        gathered.read(part, partial(read_message, data, source.depth, limits, member))
        if gathered.full:
            break
    found = gathered.extraction()
    if not found.documents:
        raise ExtractionError("malformed", found.notes[0] if found.notes else "no message in the mailbox")
    return found


def messages(source: Source, limits: Limits) -> Iterator[tuple[bytes, int]]:
    """Each message without its "From " line, at most `max_member_bytes` of it, with its size in bytes.

    A message begins after an empty line at a line "From ..." with a date, or at a bare "From " before a header, as
    Thunderbird writes it; ">From " in a body is unquoted.
    """
    with source.open() as stream:
        lines, size, after_empty = list[bytes](), -1, True
        while line := stream.readline(1 << 20):
            if after_empty and line.startswith(b"From ") and (_FROM.match(line[:500]) or _heads_message(line, stream)):
                if size >= 0:
                    yield b"".join(lines), size
                lines, size = [], 0
            elif size >= 0:
                size += len(line)
                if size <= limits.max_member_bytes:
                    lines.append(line[1:] if _QUOTED.match(line) else line)
            after_empty = line in (b"\n", b"\r\n")
        if size >= 0:
            yield b"".join(lines), size


def _heads_message(line: bytes, stream: BinaryIO) -> bool:
    """Whether `line` is a bare "From " and what follows it in `stream`, which stays where it is, is a header."""
    if line.strip() != b"From":
        return False
    position = stream.tell()
    following = stream.readline(500)
    stream.seek(position)
    return _HEADER.match(following) is not None


def extract_mht(source: Source, limits: Limits) -> Extraction:
    """The page as an HTML document."""
    data = source.read_whole(limits.max_member_bytes, "saved page")
    return html.extract(Source(name="page.html", data=web_page(data)), limits)


def web_page(data: bytes) -> bytes:
    """The first HTML part of a MIME file; ExtractionError "malformed" when there is none."""
    for part in BytesParser().parsebytes(data).walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            return _bytes_of(part)
    raise ExtractionError("malformed", "no web page in the file")
