"""What people wrote about a picture: XMP and IPTC, wherever a JPEG, PNG, TIFF, WebP or GIF file keeps them.

XMP is a packet of XML that stands in the file as it is; IPTC (IIM 4.2) is a row of records in the resource 0x0404 of
Photoshop.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.html import one_line
from indexer.extract.markup.xml import parse

MAX_HEAD = 512_000
"""bytes at the beginning of a file in which a packet is looked for"""
MAX_VALUES = 200

Caption = list[tuple[str, str]]
"""(name, value): title, description, author, tag, place, taken"""

_PACKET_BEGINS, _PACKET_ENDS = b"<x:xmpmeta", b"</x:xmpmeta>"
_XMP_NAMES = {
    "title": "title", "Headline": "title", "description": "description", "creator": "author", "subject": "tag",
    "hierarchicalSubject": "tag", "TagsList": "tag", "City": "place", "State": "place", "Country": "place",
    "Location": "place", "CountryName": "place", "ProvinceState": "place", "Sublocation": "place",
    "DateCreated": "taken", "DateTimeOriginal": "taken",
}  # fmt: skip
_HELD = frozenset({"li", "Bag", "Seq", "Alt"})
"""elements of RDF that hold the values of the one around them"""


def xmp(head: bytes) -> Caption:
    """What the first packet of XMP in `head` says; [] where there is none, or a damaged one."""
    start = head.find(_PACKET_BEGINS)
    end = head.find(_PACKET_ENDS, start)
    if min(start, end) < 0:
        return []
    reader = _Reader()
    with contextlib.suppress(ExtractionError):  # what came before a fault is kept
        packet = io.BytesIO(head[start : end + len(_PACKET_ENDS)])
        parse(packet, reader.start, reader.end, reader.text)
    return reader.found


class _Reader:
    """Handlers that keep the values of the known names, written as elements or as attributes."""

    def __init__(self) -> None:
        self.found: Caption = []
        self._name = ""
        self._text: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name not in _HELD:
            self._name = _XMP_NAMES.get(name, "")
        self._text.clear()
        for key, value in attributes.items():
            self._keep(_XMP_NAMES.get(key.rpartition(":")[2], ""), value)

    def text(self, characters: str) -> None:
        self._text.append(characters)

    def end(self, name: str) -> None:
        self._keep(self._name, "".join(self._text))
        self._text.clear()
        if name not in _HELD:
            self._name = ""

    def _keep(self, name: str, value: str) -> None:
        value = one_line(clean(value)).replace("|", "/")  # as Lightroom parts the levels of a keyword
        if name and value and len(self.found) < MAX_VALUES and (name, value) not in self.found:
            self.found.append((name, value))


_RECORDS = {
    5: "title", 105: "title", 120: "description", 80: "author", 25: "tag", 90: "place", 92: "place", 95: "place",
    101: "place",
}  # fmt: skip
"""data sets of record 2"""


def iptc(head: bytes) -> Caption:
    """What the records of IPTC in `head` say; [] where there are none."""
    start = head.find(b"8BIM\x04\x04")
    if start < 0:
        return []
    at = start + 6 + (head[start + 6] + 2 & ~1 if start + 6 < len(head) else 0)
    end = at + 4 + int.from_bytes(head[at : at + 4], "big")
    records = list(_records(head[at + 4 : end]))
    charset = "utf-8" if (1, 90, b"\x1b%G") in records else ""
    found = ((_RECORDS.get(number, ""), _decoded(data, charset)) for record, number, data in records if record == 2)
    return list(dict.fromkeys((name, value) for name, value in found if name and value))[:MAX_VALUES]


def _records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(record, number, value) of each data set, up to one that is damaged or longer than the standard form holds."""
    at = 0
    while at + 5 <= len(data) and data[at] == 0x1C:
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        if size & 0x8000:
            return
        yield data[at + 1], data[at + 2], data[at + 5 : at + 5 + size]
        at += 5 + size


def _decoded(data: bytes, charset: str) -> str:
    """Text in the charset that is declared; else UTF-8 where it is that, or Windows' Latin."""
    try:
        text = data.decode(charset or "utf-8", "replace" if charset else "strict")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return one_line(clean(text))
