"""Films and GIFs by their own structure: Matroska and WebM, AVI, and the comments of a GIF.

Sources: RFC 8794 and RFC 9559 (EBML, Matroska), Microsoft's AVI RIFF reference, the GIF89a specification. Pictures and
sound are passed over; a file that is cut off or damaged gives what comes before the fault.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

from indexer.extract.decode import clean

MAX_ELEMENT = 65_536
"""bytes of one value that are read"""
MAX_VALUES = 200
"""values of one name that are kept"""
MAX_ELEMENTS = 20_000
"""elements or chunks of one file that are looked at"""

Tags = dict[str, list[str]]
"""Values by name: title, artist, album, genre, year, created (ISO 8601), seconds, tag, comment, pixels."""

_SEGMENT, _INFO, _TAGS, _TAG, _SIMPLE = 0x18538067, 0x1549A966, 0x1254C367, 0x7373, 0x67C8
_ENTERED = frozenset({_SEGMENT, _INFO, _TAGS, _TAG, _SIMPLE})
_SCALE, _DURATION, _DATE, _TITLE, _NAME, _STRING = 0x2AD7B1, 0x4489, 0x4461, 0x7BA9, 0x45A3, 0x4487
_VALUES = frozenset({_SCALE, _DURATION, _DATE, _TITLE, _NAME, _STRING})
_MATROSKA_NAMES = {
    "TITLE": "title", "ARTIST": "artist", "DIRECTOR": "artist", "LEAD_PERFORMER": "artist", "ALBUM": "album",
    "GENRE": "genre", "DATE_RELEASED": "year", "DATE_RECORDED": "year", "KEYWORDS": "tag", "COMMENT": "comment",
}  # fmt: skip


def matroska(stream: BinaryIO) -> Tags:
    """What a Matroska or WebM file says of itself."""
    tags: Tags = {}
    scale, ticks, name = 1_000_000, 0.0, ""
    for element, data in _elements(stream):
        if element == _SCALE and len(data) <= 8:
            scale = int.from_bytes(data, "big")
        elif element == _DURATION and len(data) in (4, 8):
            ticks = struct.unpack(">f" if len(data) == 4 else ">d", data)[0]
        elif element == _DATE and len(data) == 8:
            _note_date(tags, int.from_bytes(data, "big", signed=True))
        elif element == _TITLE:
            _note(tags, "title", data)
        elif element == _NAME:
            name = data.decode("utf-8", "replace").upper()
        elif element == _STRING and name in _MATROSKA_NAMES:
            _note(tags, _MATROSKA_NAMES[name], data)
    if ticks:
        tags["seconds"] = [repr(ticks * scale / 1e9)]
    return tags


def _note_date(tags: Tags, nanoseconds: int) -> None:
    """Of the beginning of 2001."""
    try:
        moment = datetime(2001, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return
    tags["created"] = [moment.isoformat(timespec="seconds")]


def _note(tags: Tags, name: str, data: bytes) -> None:
    if value := " ".join(clean(data.decode("utf-8", "replace")).split("\0")[0].split()):
        values = tags.setdefault(name, [])
        if len(values) < MAX_VALUES:
            values.append(value)


def _elements(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The elements that hold a value, in order; pictures and sound are skipped, and end it where they have no size."""
    for _ in range(MAX_ELEMENTS):
        element, size = _number(stream, keep_marker=True), _number(stream)
        if element is None or size is None:
            return
        if element in _VALUES:
            yield element, stream.read(min(size, MAX_ELEMENT))
            size = max(size - MAX_ELEMENT, 0)
        elif element in _ENTERED:
            continue
        elif size == _UNKNOWN:
            return
        stream.seek(size, 1)


_UNKNOWN = (1 << 56) - 1
"""the size of an element that is still being written"""


def _number(stream: BinaryIO, *, keep_marker: bool = False) -> int | None:
    """A number of one to eight bytes, whose first bits say how many; None at the end or where it is none."""
    first = stream.read(1)
    if not first or not first[0]:
        return None
    length = 9 - first[0].bit_length()
    rest = stream.read(length - 1)
    if len(rest) < length - 1:
        return None
    value = int.from_bytes(first + rest, "big")
    if keep_marker:
        return value
    value &= (1 << 7 * length) - 1
    return _UNKNOWN if value == (1 << 7 * length) - 1 else value


_AVI_NAMES = {b"INAM": "title", b"IART": "artist", b"IGNR": "genre", b"IKEY": "tag", b"ICMT": "comment"}


def avi(stream: BinaryIO) -> Tags:
    """What an AVI file says of itself: its length, and its list INFO."""
    tags: Tags = {}
    for name, data in _chunks(stream):
        if name == b"avih" and len(data) >= 20:
            frame, n_frames = int.from_bytes(data[:4], "little"), int.from_bytes(data[16:20], "little")
            tags["seconds"] = [repr(frame * n_frames / 1e6)]
        elif name in _AVI_NAMES:
            _note(tags, _AVI_NAMES[name], data)
        elif name in (b"ICRD", b"IDIT") and (date := _avi_date(data.decode("latin-1").strip("\0 \r\n"))):
            tags["created"] = [date]
    return tags


def _avi_date(text: str) -> str:
    """ISO 8601 of "2024-05-01", "2024:05:01 10:00:00" and "Wed May 01 10:00:00 2024"; "" for others."""
    for form in ("%Y-%m-%d", "%Y:%m:%d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%a %b %d %H:%M:%S %Y"):
        try:
            moment = datetime.strptime(text, form)
        except ValueError:
            continue
        return moment.date().isoformat() if "%H" not in form else moment.isoformat()
    return ""


def _chunks(stream: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """The small chunks outside of the list `movi`, with what they hold."""
    stream.seek(12)
    for _ in range(MAX_ELEMENTS):
        head = stream.read(8)
        if len(head) < 8:
            return
        name, size = head[:4], int.from_bytes(head[4:], "little")
        if name == b"LIST" and stream.read(4) != b"movi":
            continue
        if name == b"LIST":
            stream.seek(size - 4 + (size & 1), 1)
        elif size <= MAX_ELEMENT:
            yield name, stream.read(size)
            stream.seek(size & 1, 1)
        else:
            stream.seek(size + (size & 1), 1)


def gif(stream: BinaryIO) -> Tags:
    """The size of a GIF, and its comments."""
    head = stream.read(13)
    if len(head) < 13 or head[:4] != b"GIF8":
        return {}
    width, height = struct.unpack("<HH", head[6:10])
    tags: Tags = {"pixels": [f"{width}x{height}"]} if width and height else {}
    stream.seek(_colours(head[10]), 1)
    for _ in range(MAX_ELEMENTS):
        kind = stream.read(1)
        if kind == b"!":
            is_comment = stream.read(1) == b"\xfe"
            data = _blocks(stream)
            if is_comment:
                _note(tags, "comment", data)
        elif kind == b"," and len(frame := stream.read(9)) == 9:
            stream.seek(_colours(frame[8]) + 1, 1)
            _blocks(stream)
        else:
            break
    return tags


def _colours(flags: int) -> int:
    """Bytes of the table of colours that a byte of flags announces."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _blocks(stream: BinaryIO) -> bytes:
    """What a row of blocks holds, up to the empty one; at most `MAX_ELEMENT` bytes of it."""
    data = bytearray()
    while size := stream.read(1):
        block = stream.read(size[0])
        if not block:
            break
        if len(data) < MAX_ELEMENT:
            data += block
    return bytes(data)
