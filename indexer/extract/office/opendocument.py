"""OpenDocument text, spreadsheet and presentation: one XML format, three ways to lay it out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.xml import End, Start, attribute, parse
from indexer.extract.office.metadata import Facts, Parts, elements, facts, first
from indexer.extract.source import MOST_EMPTY, Extractor, Limits, Sink, Source, row_line
from indexer.extract.zipped import Zipped, open_zip

_LINES = frozenset({"p", "h"})
_HIDDEN = frozenset({"tracked-changes", "script", "forms", "event-listeners", "ruby-text", "creator-initials"})
_BESIDE = frozenset({"note", "note-citation", "annotation", "creator", "date", "title", "desc"})
"""what stands in the midst of a line and belongs to no word of it: notes, comments with who wrote them, descriptions"""


def _extractor(type_: str, opened: Callable[[Source, Limits], Any] = open_zip) -> Extractor:
    """The extractor for documents of `type_`; pages are slides or sheets."""

    def extract(source: Source, limits: Limits) -> Extraction:
        with opened(source, limits) as parts:
            if "META-INF/manifest.xml" in parts and b"encryption-data" in parts.read("META-INF/manifest.xml"):
                raise ExtractionError("encrypted", "protected by a password")
            about = _facts(parts)
            sink = Sink(limits)
            _Body(sink, paged=type_ != "document", only_within="body").read(parts, "content.xml")
            notes = _add_edges(parts, sink)
        return sink.extraction(type_, about.title, about.author, about.properties, notes=notes)

    return extract


class _Flat:
    """A file that is all of its parts in one."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __contains__(self, name: str) -> bool:
        return False

    def parse(self, name: str, start: Start, *handlers: End, **options: Any) -> None:
        with self._source.open() as stream:
            parse(stream, start, *handlers, **options)


_TYPES = ("document", "spreadsheet", "presentation")
extract_text, extract_sheets, extract_slides = map(_extractor, _TYPES)
extract_flat_text, extract_flat_sheets, extract_flat_slides = (
    _extractor(type_, lambda source, limits: nullcontext(_Flat(source))) for type_ in _TYPES
)


class _Body:
    """Handlers for the text of content.xml."""

    def __init__(self, sink: Sink, *, paged: bool, only_within: str) -> None:
        self._sink, self._paged, self._only_within = sink, paged, only_within
        self._line: list[str] = []
        self._depth = 0
        self._hidden = 0
        self._within = 0
        self._in_cell = 0
        self._n_columns = 1
        """of the cell that is read"""
        self._has_slides = False

    def read(self, parts: Parts, name: str) -> None:
        parts.parse(name, self.start, self.end, self.text, is_done=lambda: self._sink.full)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._hidden or name in _HIDDEN:
            self._hidden += 1
            return
        self._within += name == self._only_within
        if name in _BESIDE:
            self._line.append(" ")
        elif name in _LINES:
            self._depth += 1
        elif name in ("table", "page") and self._paged and not self._in_cell:
            self._begin_page(name, attribute(attributes, "name"))
        elif name == "table-cell":
            self._in_cell += 1
            self._n_columns = _repeated(attributes) if self._in_cell == 1 else 1
        elif name == "covered-table-cell" and not self._in_cell:
            self._line += ["\t"] * _repeated(attributes)
        elif name in ("tab", "line-break"):
            self._line.append("\t" if name == "tab" else "\n")
        elif name == "s":
            count = attribute(attributes, "c")
            self._line.append(" " * min(int(count) if count.isdecimal() else 1, 100))

    def _begin_page(self, name: str, title: str) -> None:
        """A slide, or a sheet under its name; a table on a slide is no page of its own."""
        self._has_slides = self._has_slides or name == "page"
        if name == "page" or not self._has_slides:
            self._sink.begin_page()
        if name == "table" and not self._has_slides:
            self._sink.add(clean(title) + "\n")

    def end(self, name: str) -> None:
        if self._hidden:
            self._hidden -= 1
            return
        self._within -= name == self._only_within
        if name in _BESIDE:
            self._line.append(" ")
        elif name in _LINES:
            self._depth -= 1
            if self._depth == 0 and not self._in_cell:
                self._flush()
            elif self._line:
                self._line.append(" ")
        elif name == "table-cell":
            self._in_cell -= 1
            if self._line[-1:] == [" "]:
                self._line.pop()
            self._line += ["\t"] * self._n_columns
            self._n_columns = 1
        elif name == "table-row":
            self._flush(in_columns=self._paged)

    def text(self, characters: str) -> None:
        if self._depth and not self._hidden and self._within:
            self._line.append(characters)

    def _flush(self, *, in_columns: bool = False) -> None:
        line = "".join(self._line)
        line = row_line(line.split("\t")) if in_columns else line.strip()
        self._line.clear()
        if line:
            self._sink.add(clean(line) + "\n")


def _repeated(attributes: dict[str, str]) -> int:
    """How many columns a cell stands for; what is repeated far and wide is empty."""
    times = attribute(attributes, "number-columns-repeated")
    return max(1, int(times)) if times.isdecimal() and int(times) <= MOST_EMPTY else 1


def _add_edges(parts: Zipped, sink: Sink) -> tuple[str, ...]:
    """Headers and footers, which live among the page styles; damage there is only a note."""
    if "styles.xml" not in parts or sink.full:
        return ()
    try:
        _Body(sink, paged=False, only_within="master-styles").read(parts, "styles.xml")
    except ExtractionError as error:
        return (f"styles.xml: {error}",)
    return ()


def _facts(parts: Parts) -> Facts:
    """What meta.xml says of the file."""
    names = ("title", "initial-creator", "creator", "subject", "keyword", "creation-date", "generator")
    meta = elements(parts, "meta.xml", names)
    return facts(
        first(meta, "title"), first(meta, "initial-creator", "creator"), subject=first(meta, "subject"),
        keywords=meta.get("keyword", ()), created=first(meta, "creation-date").strip(), editor=first(meta, "creator"),
        producers=meta.get("generator", ()),
    )  # fmt: skip
