"""XML of any kind: its character data, one line per element that holds some; <title> where it comes first."""

from __future__ import annotations

import re

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean, decode, is_binary
from indexer.extract.html import MAX_MARKUP, declared_charset, one_line, read_html, sane_lines
from indexer.extract.limits import Limits, cut
from indexer.extract.plain import HEAD
from indexer.extract.sink import Sink
from indexer.extract.source import Source
from indexer.extract.xml_stream import parse

_TAG = re.compile(r"<[^<>]*(?:>|\Z)")
_XHTML = re.compile(rb"<(?:!DOCTYPE\s+)?html\b", re.IGNORECASE)
_TITLES = frozenset({"title", "Title"})


def extract(source: Source, limits: Limits) -> Extraction:
    """One document; what is not well-formed is read to the fault and beyond it without its tags, with a note."""
    head = source.read(HEAD)
    if is_binary(head):
        raise ExtractionError("unsupported", "binary content without text")
    if _XHTML.search(head[:1024]):
        text, title, author = read_html(source.read(MAX_MARKUP))
        return _extraction(text, title, author, limits, "")
    reader = _Reader(Sink(limits))
    try:
        with source.open() as stream:
            parse(stream, reader.start, reader.end, reader.text, is_done=lambda: reader.sink.full, entities=True)
    except ExtractionError as error:
        return _read_loosely(source, limits, note=str(error))
    document = ExtractedDocument(
        text=reader.sink.text, type="data", title=one_line(reader.title), truncated=reader.sink.truncated
    )
    return Extraction(documents=(document,))


class _Reader:
    """Handlers that keep the character data."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.title = ""
        self._line: list[str] = []
        self._name = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._name = name
        for key in ("text", "title", "label", "value", "content"):  # opml, property lists, metadata
            if attributes.get(key, "").strip():
                self._line.append(attributes[key] + " ")

    def end(self, name: str) -> None:
        line = sane_lines("".join(self._line))
        self._line.clear()
        if line:
            if name in _TITLES and not self.title:
                self.title = line
            self.sink.add(clean(line) + "\n")

    def text(self, characters: str) -> None:
        self._line.append(characters)


def _read_loosely(source: Source, limits: Limits, *, note: str) -> Extraction:
    data = source.read(2 * limits.max_text_bytes)
    text = decode(data, declared=declared_charset(data), is_cut=len(data) == 2 * limits.max_text_bytes)
    text = sane_lines(_TAG.sub("\n", text))
    if not text:
        raise ExtractionError("malformed", note)
    return _extraction(text, "", "", limits, note)


def _extraction(text: str, title: str, author: str, limits: Limits, note: str) -> Extraction:
    text, truncated = cut(text, limits.max_text_bytes)
    document = ExtractedDocument(text=text, type="data", title=title, author=author, truncated=truncated)
    return Extraction(documents=(document,), notes=(note,) if note else ())
