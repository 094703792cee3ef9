"""PowerPoint 97 to 2003 (.ppt): the text of the slides as they are now, a slide a page, with notes and comments.

A file keeps its old states; its last edit's directory says what counts ([MS-PPT] 2.1.2); if damaged, all text does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.office.compound import Compound
from indexer.extract.source import Limits, Sink

_DOCUMENT, _SLIDE_ATOM, _MASTER, _PERSIST_ATOM, _LIST = 0x03E8, 0x03EF, 0x03F8, 0x03F3, 0x0FF0
_CHARS, _BYTES, _STRING, _EDIT, _DIRECTORY, _COMMENT = 0x0FA0, 0x0FA8, 0x0FBA, 0x0FF5, 0x1772, 0x2EE0
"""types of records ([MS-PPT] 2.13.24)"""
_SLIDES, _NOTES = 0, 2
"""instances of the lists of slides"""
_PROTECTED = 0xF3D1C4DF
MAX_DEPTH = 32
"""of records in one another"""
MAX_EDITS = 10_000


class SlideRecord(NamedTuple):
    """One record, its content from byte `start` to `end`."""

    type: int
    instance: int
    start: int
    end: int
    is_container: bool


def records(data: bytes, start: int, end: int) -> Iterator[SlideRecord]:
    """The records in data[start:end], one after the other; the last may be cut off."""
    while start + 8 <= end:
        head, kind, size = struct.unpack_from("<HHI", data, start)
        start += 8
        yield SlideRecord(kind, head >> 4, start, min(start + size, end), head & 0xF == 0xF)
        start += size


def extract(compound: Compound, limits: Limits) -> Extraction:
    """One document; raises "encrypted" for a protected one."""
    data = compound.read("PowerPoint Document")
    user = compound.read("Current User")
    if len(user) >= 16 and struct.unpack_from("<I", user, 12)[0] == _PROTECTED:
        raise ExtractionError("encrypted", "protected by a password")
    sink = Sink(limits)
    try:
        _Presentation(data, user, sink).read()
    except (struct.error, KeyError):
        if not sink.text:
            for line in _texts(data, 0, len(data)):
                sink.add(line + "\n")
    return sink.extraction("presentation", *compound.summary())


class _Presentation:
    """Reads the slides into a sink; struct.error or KeyError when its directory leads nowhere."""

    def __init__(self, data: bytes, user: bytes, sink: Sink) -> None:
        self._data, self._sink = data, sink
        self._places: dict[int, int] = {}
        """offset of each object that slides and document are known by"""
        (edit,) = struct.unpack_from("<I", user, 16)
        self._document = self._read_edits(edit)

    def _read_edits(self, edit: int) -> int:
        """Fill the directory from the newest edit to the oldest; gives the number of the document."""
        document, seen = -1, set[int]()
        while edit not in seen and len(seen) < MAX_EDITS:
            seen.add(edit)
            found = self._record(edit)
            if found.type != _EDIT:
                raise KeyError(edit)
            older, directory, number = struct.unpack_from("<8xIII", self._data, found.start)
            document = number if document < 0 else document
            self._read_directory(self._record(directory))
            if not older:
                break
            edit = older
        return document

    def _read_directory(self, found: SlideRecord) -> None:
        at = found.start
        while found.type == _DIRECTORY and at + 4 <= found.end:
            (head,) = struct.unpack_from("<I", self._data, at)
            first, count = head & 0xFFFFF, min(head >> 20, (found.end - at - 4) // 4)
            for number, place in enumerate(struct.unpack_from(f"<{count}I", self._data, at + 4), first):
                self._places.setdefault(number, place)
            at += 4 + 4 * count

    def _record(self, at: int) -> SlideRecord:
        for found in records(self._data, at, len(self._data)):
            return found
        raise KeyError(at)

    def read(self) -> None:
        lists = {
            one.instance: one for one in self._inside(self._record(self._places[self._document])) if one.type == _LIST
        }
        notes: dict[int, int] = {}
        for one in self._inside(lists[_NOTES]) if _NOTES in lists else ():
            if one.type == _PERSIST_ATOM:
                number, slide_id = struct.unpack_from("<I8xI", self._data, one.start)
                notes[slide_id] = number
        outline: list[str] = []
        slide = -1
        for one in self._inside(lists[_SLIDES]):
            if self._sink.full:
                return
            if one.type == _PERSIST_ATOM:
                self._add_slide(slide, outline, notes)
                (slide,) = struct.unpack_from("<I", self._data, one.start)
                outline = []
            elif text := _text(self._data, one):
                outline.append(text)
        self._add_slide(slide, outline, notes)

    def _inside(self, outer: SlideRecord) -> Iterator[SlideRecord]:
        return records(self._data, outer.start, outer.end)

    def _add_slide(self, number: int, outline: list[str], notes: dict[int, int]) -> None:
        """The outline's text, that of other shapes, and the notes; a slide that lies nowhere has its outline."""
        if number < 0:
            return
        self._sink.begin_page()
        lines = list(outline)
        if number in self._places:
            slide = self._record(self._places[number])
            lines += _texts(self._data, slide.start, slide.end)
            for one in self._inside(slide):
                if one.type == _SLIDE_ATOM and one.end - one.start >= 20:
                    (of_notes,) = struct.unpack_from("<I", self._data, one.start + 16)
                    if (place := self._places.get(notes.get(of_notes, -1))) is not None:
                        found = self._record(place)
                        lines += _texts(self._data, found.start, found.end)
        for line in dict.fromkeys(lines):
            self._sink.add(line + "\n")


def _texts(data: bytes, start: int, end: int, depth: int = 0) -> Iterator[str]:
    """The texts of all shapes and comments between two bytes, those of masters left out."""
    for one in records(data, start, end):
        if one.type == _COMMENT:
            for inner in records(data, one.start, one.end):
                if inner.type == _STRING and inner.instance < 2 and (text := _decoded(data, inner, "utf-16-le")):
                    yield text
        elif one.is_container and one.type != _MASTER and depth < MAX_DEPTH:
            yield from _texts(data, one.start, one.end, depth + 1)
        elif text := _text(data, one):
            yield text


def _text(data: bytes, one: SlideRecord) -> str:
    """What a text atom shows; "" for any other record."""
    if one.type == _CHARS:
        return _decoded(data, one, "utf-16-le")
    return _decoded(data, one, "latin-1") if one.type == _BYTES else ""


def _decoded(data: bytes, one: SlideRecord, codec: str) -> str:
    text = data[one.start : one.end].decode(codec, "replace").replace("\x0b", "\n")
    shown = clean(text).strip()
    return "" if shown == "*" else shown  # the place of a number or a date
