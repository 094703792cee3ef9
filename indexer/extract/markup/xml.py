"""XML of any kind: its character data, one line per element that holds some; <title> where it comes first.

Each note of Evernote and each page of a wiki is a document of its own. Pictures and the points of tracks are left out.

XML is read as a stream of events, without ever expanding an entity or loading anything from outside. A document that
declares entities itself may be a bomb: an office file that does is refused, elsewhere references are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Protocol
from xml.parsers import expat

from msgspec.structs import replace

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean, decode, is_binary
from indexer.extract.markup.html import MAX_MARKUP, declared_charset, one_line, read_html, sane_lines
from indexer.extract.markup.texts import HEAD
from indexer.extract.source import Gathered, Limits, Sink, Source, cut


class Readable(Protocol):
    """A file, or a member of an archive."""

    def read(self, max_bytes: int, /) -> bytes:
        """At most `max_bytes` more bytes, none at the end."""


Start = Callable[[str, dict[str, str]], object]
End = Callable[[str], object]
Text = Callable[[str], object]

CHUNK = 1 << 16
"""bytes parsed between looks at whether the reader has enough"""


def _pass_over(*event: object) -> None:
    """What nobody asked for."""


def parse(
    stream: Readable, start: Start, end: End = _pass_over, text: Text = _pass_over, *,
    is_done: Callable[[], object] = _pass_over, entities: bool = False,
) -> None:  # fmt: skip
    """Call `start(name, attributes)`, `end(name)` and `text(characters)` for `stream` until `is_done()`.

    Names come without their namespace prefix, attribute names too. `entities` allows a document to declare
    some, which are then left out. Raises ExtractionError "malformed" with the line of the fault.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: start(local(name), attributes)
    parser.EndElementHandler = lambda name: end(local(name))
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = None if entities else _refuse
    if entities:
        parser.UseForeignDTD(True)
        parser.DefaultHandler = _pass_over  # an unexpanded entity reference
    try:
        while chunk := stream.read(CHUNK):
            parser.Parse(chunk, False)
            if is_done():
                return
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, "unknown fault")
        raise ExtractionError("malformed", f"XML is not well-formed: {reason} at line {error.lineno}") from error
    except (LookupError, ValueError) as error:
        raise ExtractionError("malformed", f"XML in an encoding that is not known: {error}") from error


def local(name: str) -> str:
    """`name` without its namespace prefix."""
    return name.rpartition(":")[2]


def attribute(attributes: dict[str, str], name: str) -> str:
    """The attribute called `name` under any prefix, "" when there is none."""
    if name in attributes:
        return attributes[name]
    return next((value for key, value in attributes.items() if key.rpartition(":")[2] == name), "")


def _refuse(*declaration: object) -> None:
    raise ExtractionError("malformed", "the file declares XML entities, which office files never need")


_TAG = re.compile(r"<[^<>]*(?:>|\Z)")
_XHTML = re.compile(rb"<(?:!DOCTYPE\s+)?html\b", re.IGNORECASE)
_TITLES = frozenset({"title", "Title", "book-title"})
_PICTURES = frozenset({"binary", "binary-data", "coordinates", "coord"})
_HOLDS_PAGES = frozenset({"rss", "feed", "RDF", "xbrl", "en-export"})
"""Outermost elements of feeds, business reports and notes, which keep HTML as escaped text."""
_RECORDS = {"en-export": "note", "mediawiki": "page"}
"""Outermost elements of exports -> those inside that are documents"""
_DATES = {"en-export": ("created", "updated"), "mediawiki": ("timestamp",)}
"""the same -> what dates one, the last of them before others"""
_NAMES = {"en-export": ("author",), "FictionBook": ("first-name", "middle-name", "last-name")}
"""the same, and books -> what names the author, of a book before its title"""
_ESCAPED_TAG = re.compile(r"</[a-zA-Z][a-zA-Z0-9]*>|<br ?/?>")


def extract(source: Source, limits: Limits, type_: str = "data") -> Extraction:
    """One document; what is not well-formed is read to the fault and beyond it without its tags, with a note."""
    head = source.read(HEAD)
    if is_binary(head):
        raise ExtractionError("unsupported", "binary content without text")
    if _XHTML.search(head[:1024]):
        page = read_html(source.read(MAX_MARKUP))
        text, truncated = cut(page.text, limits.max_text_bytes)
        return ExtractedDocument(
            text=text, type="data", title=page.title, author=page.author, truncated=truncated
        ).alone()
    reader = _Reader(limits, type_)
    try:
        with source.open() as stream:
            parse(stream, reader.start, reader.end, reader.text, is_done=lambda: reader.is_full, entities=True)
    except ExtractionError as error:
        return _read_loosely(source, limits, note=str(error))
    return reader.extraction()


extract_book = partial(extract, type_="ebook")
extract_notes = partial(extract, type_="markdown")


class _Reader:
    """Handlers that keep the character data."""

    def __init__(self, limits: Limits, type_: str) -> None:
        self._limits, self._type = limits, type_
        self._records = Gathered(limits)
        self._n_records = 0
        self._line: list[str] = []
        self._root = self._left_out = ""
        self._begin()

    def _begin(self) -> None:
        self._sink, self._title, self._names = Sink(self._limits), "", list[str]()
        self._tags: list[tuple[str, str]] = []
        self._modified: float | None = None

    @property
    def is_full(self) -> bool:
        """Whether nothing more is kept of the file."""
        return self._records.full or (self._root not in _RECORDS and self._sink.full)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._root = self._root or name
        if name == _RECORDS.get(self._root):
            self._begin()
        if name == "trkpt" or attributes.get("encoding") == "base64":  # a point of a track: heights and times
            self._left_out = name
        for key in ("text", "title", "label", "value", "content"):  # opml, property lists, metadata
            if attributes.get(key, "").strip():
                self._line.append(attributes[key] + " ")

    def end(self, name: str) -> None:
        line = "" if name in _PICTURES or self._left_out else sane_lines("".join(self._line))
        self._line.clear()
        if name == self._left_out:
            self._left_out = ""
        if self._root in _HOLDS_PAGES and _ESCAPED_TAG.search(line):
            line = read_html(line.encode()).text
        if line and not self._describes(name, line):
            self._sink.add(clean(line) + "\n")
        if name == _RECORDS.get(self._root):
            self._n_records += 1
            self._records.add(self._document(), f"{name} {self._n_records}")

    def _describes(self, name: str, line: str) -> bool:
        """Whether an element says something of its document that is no text of it, which is then kept."""
        if not self._title and (name in _TITLES or (name == "name" and self._root in ("gpx", "kml"))):
            self._title = line
        elif name in _DATES.get(self._root, ()):
            with suppress(ValueError):
                self._modified = datetime.fromisoformat(line).timestamp()
            return True
        elif self._root == "en-export" and name == "tag":
            self._tags.append((name, line))
            return True
        elif name in _NAMES.get(self._root, ()) and not (self._title and self._root == "FictionBook"):
            self._names.append(line)
            return self._root in _RECORDS
        return False

    def _document(self) -> Extraction:
        author = one_line(" ".join(self._names))
        found = self._sink.extraction(self._type, one_line(self._title), author, tuple(self._tags))
        return replace(found.documents[0], modified=self._modified).alone(found.notes)

    def extraction(self) -> Extraction:
        """The document, or those of an export."""
        return self._records.extraction() if self._n_records else self._document()

    def text(self, characters: str) -> None:
        self._line.append(characters)


def _read_loosely(source: Source, limits: Limits, *, note: str) -> Extraction:
    data = source.read(2 * limits.max_text_bytes)
    text = decode(data, declared=declared_charset(data), is_cut=len(data) == 2 * limits.max_text_bytes)
    text = sane_lines(_TAG.sub("\n", text))
    if not text:
        raise ExtractionError("malformed", note)
    text, truncated = cut(text, limits.max_text_bytes)
    return ExtractedDocument(text=text, type="data", truncated=truncated).alone([note])
