"""EPUB: the chapters in reading order; a chapter is a page."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.markup.html import one_line, read_html
from indexer.extract.markup.xml import parse
from indexer.extract.source import Limits, Sink, Source
from indexer.extract.zipped import Zipped, open_zip


def extract(source: Source, limits: Limits) -> Extraction:
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
    document = ExtractedDocument(
        text=sink.text,
        type="ebook",
        title=one_line(package.title),
        author=one_line(", ".join(package.authors)),
        pages=tuple(sink.pages),
        truncated=sink.truncated,
    )
    return Extraction(documents=(document,), notes=tuple(notes))


class _Package:
    """The package file: title, authors, and the names of the chapters in order."""

    def __init__(self, parts: Zipped) -> None:
        self.title = ""
        self.authors: list[str] = []
        self._items: dict[str, str] = {}
        self._spine: list[str] = []
        self._current = ""
        self._path = ""
        path = self._find(parts)
        self._parse(parts, path)
        folder = posixpath.dirname(path)
        names = [self._items[one] for one in self._spine if one in self._items]
        self.chapters = [posixpath.normpath(posixpath.join(folder, unquote(name))) for name in names]

    def _find(self, parts: Zipped) -> str:
        if "META-INF/container.xml" in parts:
            self._parse(parts, "META-INF/container.xml")
        if self._path in parts:
            return self._path
        found = parts.matching("", ".opf")
        if not found:
            raise ExtractionError("malformed", "no package file, so the chapters are not known")
        return found[0]

    def _parse(self, parts: Zipped, name: str) -> None:
        with parts.open(name) as stream:
            parse(stream, self._start, self._end, self._text, is_done=lambda: False, entities=True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._current = name
        if name == "rootfile" and not self._path:
            self._path = attributes.get("full-path", "")
        elif name == "item" and "html" in attributes.get("media-type", ""):
            self._items[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self._spine.append(attributes.get("idref", ""))
        elif name == "creator":
            self.authors.append("")
        elif name == "title" and self.title:
            self._current = ""

    def _end(self, name: str) -> None:
        self._current = ""

    def _text(self, characters: str) -> None:
        if self._current == "title":
            self.title += characters
        elif self._current == "creator":
            self.authors[-1] += characters


def _protected(parts: Zipped) -> frozenset[str]:
    """Names of the encrypted members; fonts often are without any harm."""
    names: set[str] = set()
    if "META-INF/encryption.xml" not in parts:
        return frozenset()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "CipherReference":
            names.add(unquote(attributes.get("URI", "")))

    with parts.open("META-INF/encryption.xml") as stream:
        parse(stream, start, lambda _: None, lambda _: None, is_done=lambda: False)
    return frozenset(names)
