"""Pictures and recordings: their descriptions, for they hold no text.

EXIF by exifread (JPEG, TIFF, WebP, PNG, HEIC), what people wrote as XMP and IPTC (wherever a file keeps them), tags of
recordings by tinytag (ID3, Vorbis comments, the atoms of MP4), those of Matroska, AVI and GIF by their own structure
(containers). A file whose description is damaged or missing is found by its name all the same.

XMP is a packet of XML in the file as it is; IPTC (IIM 4.2) is a row of records in Photoshop's resource 0x0404.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.html import one_line
from indexer.extract.markup.xml import parse
from indexer.extract.media import containers
from indexer.extract.source import Extractor, Limits, Source

MAX_VALUE = 500
"""characters of one value that are kept"""

_JUNK = re.compile(
    r"^(?:(?:olympus|sony|samsung|minolta|konica)[\w .-]* digital camera|screenshot|untitled|\W*|default)$", re.I
)
"""captions that a camera writes into every picture"""
_DATE = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d:\d\d:\d\d)")
_ZONE = re.compile(r"[+-]\d\d:\d\d")
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""markers of JPEG that begin a frame: its height and width follow"""


def extract_picture(source: Source, limits: Limits) -> Extraction:
    """One document without text: when, where and by what it was taken, what was written of it, its size in pixels."""
    with source.open() as stream:
        tags, note = _exif(stream)
        stream.seek(0)
        size = _size(stream) or (_number(tags.get("EXIF ExifImageWidth")), _number(tags.get("EXIF ExifImageLength")))
        stream.seek(0)
        drawn = containers.gif(stream)
        stream.seek(0)
        head = stream.read(MAX_HEAD)
    written = _by_name([*xmp(head), *iptc(head)])
    caption = _line(tags.get("Image ImageDescription") or tags.get("Image XPTitle") or tags.get("Image XPComment"))
    said = [one for one in (*written["title"], caption, *written["description"]) if one and not _JUNK.match(one)]
    words = re.split(r"[;,]", _line(tags.get("Image XPKeywords")))
    pixels = [f"{size[0]}x{size[1]}"] if all(size) else drawn.get("pixels", [])
    return _described(
        "image", [
            ("camera", _camera(tags)),
            ("taken", _taken(tags) or "".join(written["taken"][:1])),
            ("place", _place(tags)),
            *(("place", one) for one in written["place"]),
            ("pixels", "".join(pixels)),
            *(("tag", one) for one in dict.fromkeys([*(word.strip() for word in words), *written["tag"]])),
            *(("description", one) for one in dict.fromkeys(said[1:]) if one != said[0]),
            *(("comment", one) for one in drawn.get("comment", [])),
        ],
        title="".join(said[:1]), author=_line(tags.get("Image Artist")) or "; ".join(written["author"]), note=note,
    )  # fmt: skip


def _by_name(pairs: Caption) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in ("title", "description", "author", "tag", "place", "taken")}
    for name, value in dict.fromkeys(pairs):
        found[name].append(value)
    return found


def extract_film(source: Source, limits: Limits) -> Extraction:
    """One document without text: what it is called, how long it is, and when it was made."""
    with source.open() as stream:
        head = stream.read(12)
        stream.seek(0)
        if head.startswith(b"\x1aE\xdf\xa3"):
            found = containers.matroska(stream)
        elif head.startswith(b"RIFF") and head.endswith(b"AVI "):
            found = containers.avi(stream)
        else:
            return recording("video")(source, limits)
    properties = [(name, one) for name in ("artist", "album", "genre", "tag", "comment") for one in found.get(name, [])]
    properties += [("year", one[:4]) for one in found.get("year", []) if one[:4].isdecimal()]
    properties += [("created", one) for one in found.get("created", [])]
    properties += [("duration", _duration(float(one))) for one in found.get("seconds", [])]
    return _described("video", properties, title="".join(found.get("title", [])[:1]))


def recording(type_: str) -> Extractor:
    """The extractor of recordings of one type: audio or video."""

    def extract(source: Source, limits: Limits) -> Extraction:
        """One document without text: who plays what, and how long."""
        from tinytag import TinyTag, TinyTagException

        note = ""
        with source.open() as stream:
            try:
                tags = TinyTag.get(file_obj=stream)
            except (TinyTagException, ValueError, IndexError, KeyError, OverflowError):
                tags, note = TinyTag(), "its tags are damaged, or of a kind that is not read"
        artists = dict.fromkeys(_line(one) for one in (tags.artist, tags.albumartist, tags.composer))
        year = re.match(r"\d{4}", _line(tags.year))
        return _described(
            type_, [
                *(("artist", one) for one in artists),
                ("album", _line(tags.album)),
                ("genre", _line(tags.genre)),
                ("year", year[0] if year else ""),
                ("duration", _duration(tags.duration or 0.0)),
            ],
            title=_line(tags.title), note=note,
        )  # fmt: skip

    return extract


extract_recording = recording("audio")


def _described(
    type_: str, properties: list[tuple[str, str]], *, title: str, author: str = "", note: str = ""
) -> Extraction:
    kept = tuple((name, value.strip()) for name, value in properties if value.strip())
    document = ExtractedDocument(text="", type=type_, title=title, author=author, properties=kept)
    return document.alone([note] if note else ())


def _exif(stream: BinaryIO) -> tuple[dict[str, Any], str]:
    """The tags by exifread's names, and why there are none where that is damage."""
    import exifread

    logging.getLogger("exifread").setLevel(logging.CRITICAL)  # it tells of each oddity on stderr
    try:
        found = exifread.process_file(stream, details=False, extract_thumbnail=False)
        return {name: tag.values for name, tag in found.items() if hasattr(tag, "values")}, ""
    except Exception:  # whatever it raises on damaged data: the picture is there all the same
        return {}, "its description (EXIF) is damaged"


def _line(value: object) -> str:
    """A value of any kind as one line."""
    if isinstance(value, list) and all(isinstance(one, int) and 0 <= one < 256 for one in value):
        value = bytes(value).decode("utf-16-le", "replace").rstrip("\0")  # as Windows writes titles and keywords
    return " ".join(clean(value).split())[:MAX_VALUE] if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], int) else 0


def _camera(tags: dict[str, Any]) -> str:
    """Make and model, the make once: "Canon EOS 5D"."""
    make, model = _line(tags.get("Image Make")), _line(tags.get("Image Model"))
    first = make.split(" ")[0]
    return model if first and model.casefold().startswith(first.casefold()) else f"{make} {model}".strip()


def _taken(tags: dict[str, Any]) -> str:
    """The moment as ISO 8601, with the zone where the camera tells it; "" where it is not known."""
    for name, zone in (
        ("EXIF DateTimeOriginal", "EXIF OffsetTimeOriginal"), ("EXIF DateTimeDigitized", "EXIF OffsetTimeDigitized"),
        ("Image DateTime", "EXIF OffsetTime"),
    ):  # fmt: skip
        if match := _DATE.match(_line(tags.get(name))):
            offset = _line(tags.get(zone))
            date = f"{match[1]}-{match[2]}-{match[3]}T{match[4]}"
            return date + (offset if _ZONE.fullmatch(offset) else "")
    return ""


def _place(tags: dict[str, Any]) -> str:
    """Where it was taken: "38.7169 N, 9.1399 W"; "" where it is not known."""
    parts = []
    for axis, signs in (("Latitude", "NS"), ("Longitude", "EW")):
        sign = _line(tags.get(f"GPS GPS{axis}Ref"))[:1].upper()
        try:
            degrees, minutes, seconds = (float(part) for part in tags[f"GPS GPS{axis}"])
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return ""
        parts.append(f"{degrees + minutes / 60 + seconds / 3600:.4f} {sign if sign and sign in signs else signs[0]}")
    return ", ".join(parts)


def _size(stream: BinaryIO) -> tuple[int, int] | None:
    """Width and height as the head of a PNG or JPEG file says; None for others."""
    head = stream.read(24)
    if head.startswith(b"\x89PNG\r\n") and len(head) == 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    return _jpeg_size(stream) if head.startswith(b"\xff\xd8") else None


def _jpeg_size(stream: BinaryIO) -> tuple[int, int] | None:
    for marker, at in _segments(stream):
        if marker in _FRAMES:
            stream.seek(at + 1)
            height, width = stream.read(2), stream.read(2)
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
    return None


def _segments(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    """The marker of each segment of a JPEG file, and where what it holds begins, up to the picture itself."""
    at = 2
    for _ in range(1_000):
        stream.seek(at)
        head = stream.read(4)
        if len(head) < 4 or head[0] != 0xFF or head[1] in (0xD9, 0xDA):
            return
        yield head[1], at + 4
        at += 2 + int.from_bytes(head[2:4], "big")


def _duration(seconds: float) -> str:
    """4:05, 1:02:30; "" for none, and for what is no number."""
    whole = round(seconds) if math.isfinite(seconds) else 0
    hours, minutes = divmod(whole // 60, 60)
    clock = f"{minutes:02}:{whole % 60:02}"
    return "" if whole <= 0 else f"{hours}:{clock}" if hours else clock.removeprefix("0")


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
