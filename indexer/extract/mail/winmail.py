"""winmail.dat: what Outlook wraps around the text and the files of a mail that it sends as "rich text" ([MS-OXTNEF]).

Attributes stand in a row, those of an attachment behind the one that begins it. Two of them hold MAPI properties, as
.msg files have them, among which are long names, the text as packed RTF, and messages in one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from indexer.extract.decode import clean, decode_page
from indexer.extract.mail.mail_headers import file_name
from indexer.extract.markup.html import read_html
from indexer.extract.office.rtf import read_rtf, unpacked

SIGNATURE = b"\x78\x9f\x3e\x22"
NAME = "winmail.dat"
MEDIA_TYPES = ("application/ms-tnef", "application/vnd.ms-tnef")
DEEPEST = 8
"""messages in one another"""

_HEAD = struct.Struct("<BII")
_FIRST = 6
"""bytes before the attributes"""
_CODE_PAGE, _TEXT, _MESSAGE = 0x9007, 0x800C, 0x9003
_BEGIN, _TITLE, _CONTENT, _ATTACHMENT = 0x9002, 0x8010, 0x800F, 0x9005
"""the lower halves of the names of attributes; the upper ones are types"""
_BODY, _RTF, _HTML, _DATA, _SHORT_NAME, _LONG_NAME, _CONTENT_ID = 0x1000, 0x1009, 0x1013, 0x3701, 0x3704, 0x3707, 0x3712
_SIZES = {0x2: 4, 0x3: 4, 0x4: 4, 0x5: 8, 0x6: 8, 0x7: 8, 0xA: 4, 0xB: 4, 0x14: 8, 0x40: 8, 0x48: 16}
"""bytes of a value by its type, filled up to four"""
_UNICODE, _BYTES, _OBJECT = 0x1F, 0x102, 0xD
_OF_ANY_LENGTH = (0x1E, _UNICODE, _BYTES, _OBJECT)
_INTERFACE = 16
"""bytes before an object's data that say what it is"""


class WrappedFile(Struct):
    name: str = ""
    data: bytes = b""
    is_shown: bool = False
    """within the text, as a picture"""


class Wrapped(Struct):
    """What one holds; of a damaged one, what stands before the damage."""

    text: str = ""
    files: list[WrappedFile] = field(default_factory=list)
    """those of messages in it behind"""
    inner_texts: list[str] = field(default_factory=list)
    """of messages in it"""


def read_winmail(data: bytes, max_bytes: int, *, within: int = 0) -> Wrapped:
    """What a person wrote and attached, its text unpacked to at most `max_bytes`; nothing of what is no winmail.dat."""
    found, page, inner = Wrapped(), 0, list[bytes]()
    for name, value in _attributes(data) if data.startswith(SIGNATURE) else ():
        if name == _CODE_PAGE:
            page = int.from_bytes(value[:4], "little")
        elif name == _TEXT:
            found.text = decode_page(value, page)
        elif name == _MESSAGE:
            found.text = found.text or _body(_properties(value), page, max_bytes)
        elif name == _BEGIN:
            found.files.append(WrappedFile())
        elif found.files:
            inner += _add_to(found.files[-1], name, value, page)
    found.files = [one for one in found.files if one.data]
    for one in inner if within < DEEPEST else ():
        more = read_winmail(one, max_bytes, within=within + 1)
        found.files += more.files
        found.inner_texts += [more.text, *more.inner_texts]
    found.text = clean(found.text.partition("\0")[0]).strip()
    return found


def _add_to(file: WrappedFile, name: int, value: bytes, page: int) -> list[bytes]:
    """What an attribute says of a file; a message that it is comes back as bytes of its own."""
    if name == _TITLE:
        file.name = file.name or file_name(decode_page(value, page))
    elif name == _CONTENT:
        file.data = value
    elif name == _ATTACHMENT:
        told = _properties(value)
        file.name = file_name(_text(told, _LONG_NAME, page)) or file.name or file_name(_text(told, _SHORT_NAME, page))
        file.is_shown = bool(_text(told, _CONTENT_ID, page))
        kind, content = told.get(_DATA, (0, b""))
        if kind == _OBJECT and content[_INTERFACE:].startswith(SIGNATURE):
            return [content[_INTERFACE:]]
        file.data = file.data or (content if kind == _BYTES else b"")
    return []


def _body(told: Properties, page: int, max_bytes: int) -> str:
    """The plain text, else that of the RTF, else that of the page."""
    if _BODY in told:
        return _text(told, _BODY, page)
    if _RTF in told:
        return read_rtf(unpacked(told[_RTF][1], max_bytes))
    kind, content = told.get(_HTML, (0, b""))
    return read_html(content, declared="utf-16-le" if kind == _UNICODE else "").text if content else ""


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The name and the value of each; a sum of two bytes stands behind."""
    at = _FIRST
    while at + _HEAD.size <= len(data):
        _, name, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield name & 0xFFFF, data[at : at + size]
        at += size + 2


Properties = Mapping[int, tuple[int, bytes]]
"""number -> type and first value"""


def _properties(data: bytes) -> Properties:
    """Those without names of their own, as far as they can be told apart."""
    found: dict[int, tuple[int, bytes]] = {}
    at = 4
    try:
        for _ in range(struct.unpack_from("<I", data)[0]):
            kind, number = struct.unpack_from("<HH", data, at)
            at = _behind_name(data, at + 4) if number >= 0x8000 else at + 4
            value, at = _values(data, at, kind)
            if number < 0x8000 and value is not None:
                found.setdefault(number, (kind & 0xFFF, value))
    except (struct.error, KeyError):
        pass
    return found


def _behind_name(data: bytes, at: int) -> int:
    """Where the name ends that stands at `at`: a set of names, and a number or a text in it."""
    is_text, length = struct.unpack_from("<II", data, at + 16)
    return at + 24 + (_filled_up(length) if is_text else 0)


def _values(data: bytes, at: int, kind: int) -> tuple[bytes | None, int]:
    """The first value of this type at `at`, and where the last one ends; KeyError for a type that is not known."""
    is_many, kind = bool(kind & 0x1000), kind & 0xFFF
    is_long, first, n = kind in _OF_ANY_LENGTH, None, 1
    if is_many or is_long:
        (n,), at = struct.unpack_from("<I", data, at), at + 4
    for _ in range(n):
        size = struct.unpack_from("<I", data, at)[0] if is_long else _SIZES[kind]
        at += 4 * is_long
        if at + size > len(data):
            raise struct.error("cut off")
        first = data[at : at + size] if first is None else first
        at += _filled_up(size)
    return first, at


def _filled_up(size: int) -> int:
    return -(-size // 4) * 4


def _text(told: Properties, number: int, page: int) -> str:
    kind, value = told.get(number, (0, b""))
    return decode_page(value, 1200 if kind == _UNICODE else page).partition("\0")[0]
