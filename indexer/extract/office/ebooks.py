"""E-books: the chapters of EPUB, the text records of Kindle books, what recognition has left in DjVu.

Sources: for .mobi, .azw, .azw3 and .prc the Palm database and PalmDOC formats, MobileRead's description of the MOBI and
EXTH headers; books under DRM and those packed by Huffman codes (HUFF/CDIC) are named as what they are. DjVu is read by
the program djvutxt where it is installed. A chapter is a page.
"""

from __future__ import annotations

import posixpath
import re
import struct
from collections.abc import Iterator
from urllib.parse import unquote

from indexer.confined.programs import output_of, program_path, seconds_left
from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.html import one_line, read_html
from indexer.extract.office.metadata import MAX_TAGS, elements, first
from indexer.extract.source import Limits, Sink, Source
from indexer.extract.zipped import Zipped, open_zip


def extract_epub(source: Source, limits: Limits) -> Extraction:
    """One document; a missing or damaged chapter becomes a note, a book under DRM a failure "encrypted"."""
    notes: list[str] = []
    with open_zip(source, limits) as parts:
        package = _Package(parts)
        protected = _protected(parts)
        if protected and all(name in protected for name in package.chapters):
            raise ExtractionError("encrypted", "the chapters are encrypted (DRM)")
        sink = Sink(limits)
        for name in package.chapters:
            try:
                text = read_html(parts.read(name)).text
            except ExtractionError as error:
                notes.append(f"{name}: {error}")
                continue
            sink.begin_page()
            sink.add(text + "\n")
            if sink.full:
                break
    if notes and not sink.pages:
        raise ExtractionError("malformed", notes[0])
    tags = tuple(("tag", tag) for tag in map(one_line, package.subjects[:MAX_TAGS]) if tag)
    return sink.extraction("ebook", one_line(package.title), one_line(", ".join(package.authors)), tags, notes=notes)


class _Package:
    """The package file: title, authors, subjects, and the names of the chapters in order."""

    def __init__(self, parts: Zipped) -> None:
        self._items: dict[str, str] = {}
        self._spine: list[str] = []
        self._path = ""
        path = self._find(parts)
        parts.parse(path, self._start, entities=True)
        about = elements(parts, path, ("title", "creator", "subject"), entities=True)
        self.title, self.authors = first(about, "title"), about.get("creator", [])
        self.subjects = about.get("subject", [])
        folder = posixpath.dirname(path)
        names = [self._items[one] for one in self._spine if one in self._items]
        self.chapters = [posixpath.normpath(posixpath.join(folder, unquote(name))) for name in names]

    def _find(self, parts: Zipped) -> str:
        if "META-INF/container.xml" in parts:
            parts.parse("META-INF/container.xml", self._start, entities=True)
        if self._path in parts:
            return self._path
        found = parts.matching("", ".opf")
        if not found:
            raise ExtractionError("malformed", "no package file, so the chapters are not known")
        return found[0]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "rootfile" and not self._path:
            self._path = attributes.get("full-path", "")
        elif name == "item" and "html" in attributes.get("media-type", ""):
            self._items[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self._spine.append(attributes.get("idref", ""))


def _protected(parts: Zipped) -> frozenset[str]:
    """Names of the encrypted members; fonts often are without any harm."""
    names: set[str] = set()
    if "META-INF/encryption.xml" not in parts:
        return frozenset()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "CipherReference":
            names.add(unquote(attributes.get("URI", "")))

    parts.parse("META-INF/encryption.xml", start)
    return frozenset(names)


_PLAIN, _PALMDOC = 1, 2
_UTF_8 = 65001
_TRAILERS = 0xF2
"""where the first record says, in its bits, what stands behind the text of each record"""
_MAX_RECORD = 65_536
"""bytes of a record that are read; the format counts them in 16 bits"""
_AUTHOR, _SUBJECT, _TITLE = 100, 105, 503
"""types of EXTH records"""
_PAGE_BREAK = re.compile(rb"<mbp:pagebreak[^<>]*>", re.IGNORECASE)


def extract_mobi(source: Source, limits: Limits) -> Extraction:
    """One document, a part between page breaks is a page; raises "encrypted" for a book under DRM."""
    data = source.read(limits.max_archive_bytes)
    if data[60:68] not in (b"BOOKMOBI", b"TEXtREAd"):
        raise ExtractionError("unsupported", "not a Kindle book")
    records = _records(data)
    if not records or len(records[0]) < 16:
        raise ExtractionError("malformed", "not a readable Kindle book (no first record)")
    head = bytes(records[0])
    packing, n_records, protection = struct.unpack_from(">H6xH2xH", head)
    if protection:
        raise ExtractionError("encrypted", "protected by DRM")
    if packing not in (_PLAIN, _PALMDOC):
        raise ExtractionError("unsupported", "a Kindle book packed by Huffman codes")
    text = b"".join(_texts(records[1 : 1 + n_records], packing == _PALMDOC, _number(head, _TRAILERS, ">H"), limits))
    encoding = "utf-8" if _number(head, 28, ">I") == _UTF_8 else "cp1252"
    facts = _facts(head, encoding)
    sink = Sink(limits)
    for part in _PAGE_BREAK.split(text) if head[16:20] == b"MOBI" else [text]:
        sink.begin_page()
        sink.add(read_html(part, declared=encoding).text + "\n")
        if sink.full:
            break
    start, length = _number(head, 84, ">I"), _number(head, 88, ">I")
    titles = [*facts.get(_TITLE, []), head[start : start + length].decode(encoding, "replace")]
    title = next((one for one in map(one_line, titles) if one), "")
    tags = tuple(("tag", tag) for tag in map(one_line, facts.get(_SUBJECT, [])) if tag)
    return sink.extraction("ebook", title, one_line("; ".join(facts.get(_AUTHOR, []))), tags)


def _records(data: bytes) -> list[memoryview]:
    """The records of the database, as far as their places lie in the file and in order; damaged ones may overlap."""
    n_records = _number(data, 76, ">H")
    starts = [_number(data, 78 + 8 * number, ">I") for number in range(n_records)]
    bounds = [*starts, len(data)]
    view = memoryview(data)
    return [view[start:end] for start, end in zip(starts, bounds[1:], strict=True) if 0 < start <= end <= len(data)]


def _number(data: bytes, at: int, form: str) -> int:
    """The number at a place, 0 where the data end before it."""
    return int(struct.unpack_from(form, data, at)[0]) if at + struct.calcsize(form) <= len(data) else 0


def _texts(records: list[memoryview], is_packed: bool, trailers: int, limits: Limits) -> Iterator[bytes]:
    n_bytes = 0
    for record in records:
        text = bytes(_without_trailers(record, trailers)[:_MAX_RECORD])
        yield (text := unpacked(text) if is_packed else text)
        n_bytes += len(text)
        if n_bytes > limits.max_member_bytes or limits.is_late:
            return


def _without_trailers(record: memoryview, trailers: int) -> memoryview:
    """`record` without what each bit but the first stands for (its size is at its end) and the rest of a character."""
    for _ in range((trailers >> 1).bit_count()):
        size = 0
        for byte in record[-4:]:  # seven bits a byte; a set eighth bit begins the number
            size = byte & 0x7F if byte & 0x80 else size << 7 | byte
        record = record[: max(len(record) - size, 0)]
    return record[: len(record) - (record[-1] & 3) - 1] if trailers & 1 and record else record


def unpacked(data: bytes) -> bytes:
    """The text of a PalmDOC record: bytes as they are, blanks with a letter, what stood at most 2,047 bytes before."""
    out = bytearray()
    at = 0
    while at < len(data):
        byte = data[at]
        at += 1
        if 1 <= byte <= 8:
            out += data[at : at + byte]
            at += byte
        elif byte < 0x80:
            out.append(byte)
        elif byte >= 0xC0:
            out += bytes((0x20, byte ^ 0x80))
        elif at < len(data):
            pair = (byte << 8 | data[at]) & 0x3FFF
            at += 1
            start, length = len(out) - (pair >> 3), (pair & 7) + 3
            if not 0 <= start < len(out):
                raise ExtractionError("malformed", "the packed text is damaged")
            for place in range(start, start + length):
                out.append(out[place])
    return bytes(out)


def _facts(head: bytes, encoding: str) -> dict[int, list[str]]:
    """The EXTH records by type: what the book says of itself."""
    found: dict[int, list[str]] = {}
    at = 16 + _number(head, 20, ">I")
    if head[at : at + 4] != b"EXTH":
        return found
    n_records, at = _number(head, at + 8, ">I"), at + 12
    for _ in range(min(n_records, 1_000)):
        size = _number(head, at + 4, ">I")
        if size < 8:
            break
        value = head[at + 8 : at + size].decode(encoding, "replace")
        found.setdefault(_number(head, at, ">I"), []).append(value)
        at += size
    return found


def extract_djvu(source: Source, limits: Limits) -> Extraction:
    """One document; a file of pictures alone has no text."""
    program = program_path("djvutxt", "djvulibre-bin")
    sink = Sink(limits)
    with output_of([program, "-"], seconds=seconds_left(limits), given=source) as out:
        text = out.read(limits.max_text_bytes + 1)
    for page in text.decode("utf-8", "replace").rstrip("\f\n").split("\f"):
        sink.begin_page()
        sink.add(clean(page.strip()) + "\n")
    return sink.extraction("ebook")
