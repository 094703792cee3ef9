"""Outlook messages (.msg, [MS-OXMSG]): subject, sender, recipients, date, text and attachments, read as mail is.

Each property of a message is a stream named by its number and type; recipients and attachments are folders of such.
"""

from __future__ import annotations

import struct

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean, decode_page
from indexer.extract.kinds import document_type
from indexer.extract.mail.mail import AttachmentReader
from indexer.extract.mail.mail_headers import MailHeaders, file_name, ids_in, is_attachment
from indexer.extract.markup.html import one_line, read_html
from indexer.extract.office.compound import Compound
from indexer.extract.office.rtf import read_rtf, unpacked
from indexer.extract.source import Limits, Sink

_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_NAME, _ADDRESS, _INTERNET_ADDRESS = "3001", "3003", "39FE"
_LONG_NAME, _SHORT_NAME, _DATA = "3707", "3704", "3701"
_SENDERS = (("0C1A", "5D01", "0C1F"), ("0042", "5D02", "0065"))
"""name, internet address and address of who sent it, and of whom it was sent for"""
_SHOWN_TO, _SHOWN_CC = "0E04", "0E03"
_SUBMITTED, _DELIVERED, _CREATED = 0x0039, 0x0E06, 0x3007
_CODE_PAGE, _INTERNET_CODE_PAGE, _RECIPIENT_TYPE = 0x3FFD, 0x3FDE, 0x0C15
"""tags of properties ([MS-OXPROPS])"""
_ID, _REFERENCES, _IN_REPLY_TO, _CONTENT_ID, _MEDIA_TYPE = "1035", "1039", "1042", "3712", "370E"
_TO, _CC, _BCC = 1, 2, 3
_FLAGS, _FLAG_STATUS = 0x0E07, 0x1090
_READ, _UNSENT, _FOLLOW_UP = 1, 8, 2
_EPOCH = 11_644_473_600
"""seconds from 1601, with which Windows' time begins, to 1970"""
MAX_PARTS = 500
"""recipients and attachments that are looked at"""


def extract(compound: Compound, limits: Limits) -> Extraction:
    """One document; an attachment that cannot be read becomes a note."""
    message = _Message(compound, "", header=32)
    sink, notes = Sink(limits), list[str]()
    reader = _Reader(sink, notes, compound.depth, limits, compound.member)
    reader.add_text(message)
    names = reader.add_attachments(message)
    head = message.head(tuple(names))
    return head.over(sink, notes, title=message.subject, author=message.sender, sent=message.date)


class _Storage:
    """The properties in one folder of the file."""

    def __init__(self, compound: Compound, folder: str, *, header: int) -> None:
        self.compound, self.folder = compound, folder
        self._numbers: dict[int, bytes] = {}
        data = compound.read(f"{folder}__properties_version1.0")
        for at in range(header, len(data) - 15, 16):
            (tag,) = struct.unpack_from("<2xH", data, at)
            self._numbers.setdefault(tag, data[at + 8 : at + 16])

    def number(self, tag: int, size: int = 4) -> int:
        """A property of `size` bytes, 0 when it is missing."""
        return int.from_bytes(self._numbers.get(tag, b"")[:size], "little")

    def has(self, tag: int) -> bool:
        """Whether there is such a number."""
        return tag in self._numbers

    def data(self, tag: str, kind: str = "0102") -> bytes:
        return self.compound.read(f"{self.folder}__substg1.0_{tag}{kind}")

    def text(self, tag: str) -> str:
        """A property that is text, "" when it is missing."""
        if wide := self.data(tag, "001F"):
            return clean(wide.decode("utf-16-le", "replace")).rstrip("\0 ")
        narrow = self.data(tag, "001E")
        return clean(decode_page(narrow, self.code_page)).rstrip("\0 ") if narrow else ""

    @property
    def code_page(self) -> int:
        return self.number(_CODE_PAGE) or self.number(_INTERNET_CODE_PAGE) or 1252

    def folders(self, name: str) -> list[str]:
        """The folders directly in this one whose names begin with `name`, each with a slash at its end."""
        depth, start = self.folder.count("/"), (self.folder + name).lower()
        found = {"/".join(one.split("/")[: depth + 1]) + "/" for one in self.compound.names}
        return sorted(one for one in found if one.lower().startswith(start))[:MAX_PARTS]


class _Message(_Storage):
    """A message: the file's own, or one attached to it."""

    @property
    def subject(self) -> str:
        return one_line(self.text(_SUBJECT))

    @property
    def sender(self) -> str:
        """Who sent it, "Anna Berg <anna@example.org>"."""
        for name, internet, plain in _SENDERS:
            if found := _person(self.text(name), self.text(internet), self.text(plain)):
                return found
        return ""

    def head(self, attachments: tuple[str, ...]) -> MailHeaders:
        """Who got it, its state, and the ids that tie it to its thread."""
        people = self._recipients()
        flags = self.number(_FLAGS)
        states = (
            "read" if flags & _READ else "unread",
            *(("draft",) if flags & _UNSENT else ()),
            *(("flagged",) if self.number(_FLAG_STATUS) == _FOLLOW_UP else ()),
        )
        return MailHeaders(
            to=tuple(people[_TO]), cc=tuple(people[_CC]), bcc=tuple(people[_BCC]), attachments=attachments,
            states=states if self.has(_FLAGS) else (),
            message_id=next(iter(ids_in(self.text(_ID))), ""),
            answered_ids=(*ids_in(self.text(_REFERENCES)), *ids_in(self.text(_IN_REPLY_TO))),
        )  # fmt: skip

    def _recipients(self) -> dict[int, list[str]]:
        """The people by how they got it: to them, as a copy, as a hidden copy."""
        found: dict[int, list[str]] = {_TO: [], _CC: [], _BCC: []}
        for folder in self.folders("__recip_version1.0_"):
            one = _Storage(self.compound, folder, header=8)
            if person := _person(one.text(_NAME), one.text(_INTERNET_ADDRESS), one.text(_ADDRESS)):
                found.get(one.number(_RECIPIENT_TYPE), found[_TO]).append(person)
        if not any(found.values()):
            for way, tag in ((_TO, _SHOWN_TO), (_CC, _SHOWN_CC)):
                found[way] = [shown for shown in (one_line(self.text(tag)),) if shown]
        return found

    @property
    def date(self) -> float | None:
        """Seconds since the epoch when it was sent, else delivered, else made."""
        for tag in (_SUBMITTED, _DELIVERED, _CREATED):
            seconds = self.number(tag, 8) / 1e7 - _EPOCH
            if 0 < seconds < 4_102_444_800:
                return seconds
        return None

    def body(self, limits: Limits) -> str:
        """The plain text, else that of the page, else that of the RTF."""
        if plain := self.text(_BODY):
            return plain
        if page := self.data(_HTML) or self.text(_HTML).encode():
            return read_html(page).text
        return read_rtf(unpacked(self.data(_RTF), limits.max_member_bytes))


def _person(name: str, internet: str, address: str) -> str:
    """A name with its address; addresses of an Exchange server ("/o=...") say nothing outside of it."""
    shown = one_line(name).strip("'\"")
    where = one_line(internet or (address if "@" in address else ""))
    return f"{shown} <{where}>" if shown and where and shown != where else shown or where


class _Reader(AttachmentReader):
    """Adds messages and their attachments to one text."""

    def add_text(self, message: _Message) -> None:
        try:
            self._sink.add(clean(message.body(self._limits)) + "\n")
        except (ExtractionError, ValueError, LookupError) as error:
            self._notes.append(f"the text: {error}")

    def add_attachments(self, message: _Message, within: int = 0) -> list[str]:
        """Add the text of each attachment of a kind that is read; gives all their names."""
        names: list[str] = []
        for folder in message.folders("__attach_version1.0_"):
            one = _Storage(message.compound, folder, header=8)
            name = file_name(one.text(_LONG_NAME) or one.text(_SHORT_NAME) or one.text(_NAME))
            if is_attachment(
                name=name, media_type=one.text(_MEDIA_TYPE).lower(), disposition="", content_id=one.text(_CONTENT_ID)
            ):
                names.append(name)
            inner = f"{folder}__substg1.0_{_DATA}000D/"
            if self._sink.full:
                continue
            if f"{inner}__properties_version1.0" in message.compound:
                names += self._add_message(_Message(message.compound, inner, header=24), within + 1)
            else:
                self._add_file(name, one.data(_DATA))
        return names

    def _add_message(self, message: _Message, within: int) -> list[str]:
        if self._depth + within > self._limits.max_depth:
            self._notes.append(f"a message in it: packed more than {self._limits.max_depth} times over")
            return []
        self._sink.add("\n".join(line for line in (message.sender, message.subject) if line) + "\n")
        self.add_text(message)
        return self.add_attachments(message, within)

    def _add_file(self, name: str, data: bytes) -> None:
        self._sink.add(f"\n{name}\n" if name else "")
        if not data or not name or document_type(name) is None:
            return
        if self._depth >= self._limits.max_depth:
            self._notes.append(f"attachment {name}: packed more than {self._limits.max_depth} times over")
        else:
            self.add_file("", name, data)
