"""XLSX: the cells of each sheet as a stream, one line per row; a sheet is a page.

Only cell values are read, never formulas. Own streaming instead of openpyxl, which builds an object per cell.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.xml import attribute
from indexer.extract.office.open_xml import add_paragraphs, main_part, office_facts, relations
from indexer.extract.source import MOST_EMPTY, Limits, Sink, Source, row_line
from indexer.extract.zipped import Zipped, open_zip

_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
"""Numbers of the built-in formats that show a date or time"""
_SHOWN = re.compile(r'"[^"]*"|\[[^\]]*\]|[\\_*].')
"""what of a format is shown as it is, or says how, not what"""
EPOCH = datetime(1899, 12, 30)
EPOCH_1904 = datetime(1904, 1, 1)


def extract(source: Source, limits: Limits) -> Extraction:
    """One document with the sheets in their order, each under its name; comments and text boxes after the cells."""
    notes: list[str] = []
    with open_zip(source, limits) as parts:
        about = office_facts(parts)
        main = main_part(parts, "xl/workbook.xml")
        book = _Book(parts, main)
        sink = Sink(limits)
        for name, sheet in book.sheets:
            sink.begin_page()
            sink.add(clean(name) + "\n")
            try:
                rows = _Sheet(sink, book)
                parts.parse(sheet, rows.start, rows.end, rows.text, is_done=lambda: sink.full)
                _add_beside(parts, sheet, sink)
            except ExtractionError as error:
                notes.append(f"{name}: {error}")
            if sink.full:
                break
    if book.sheets and len(notes) == len(book.sheets):
        raise ExtractionError("malformed", notes[0])
    return sink.extraction("spreadsheet", about.title, about.author, about.properties, notes=notes)


class _Book:
    """What the sheets refer to: their names, shared strings, which styles are dates."""

    def __init__(self, parts: Zipped, main: str) -> None:
        self.sheets: list[tuple[str, str]] = []
        self.epoch = EPOCH
        self._related = related = relations(parts, main)
        parts.parse(main, self._workbook)
        self.sheets = [(name, part) for name, part in self.sheets if part in parts]
        by_kind = {kind: name for kind, name in related.values() if name in parts}
        self.strings = _shared_strings(parts, by_kind["sharedStrings"]) if "sharedStrings" in by_kind else []
        self.date_styles = _date_styles(parts, by_kind["styles"]) if "styles" in by_kind else frozenset()

    def _workbook(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            relation = attributes.get("r:id", "") or attribute(attributes, "id")
            self.sheets.append((attributes.get("name", ""), self._related.get(relation, ("", ""))[1]))
        elif name == "workbookPr" and attributes.get("date1904") in ("1", "true"):
            self.epoch = EPOCH_1904

    def shown(self, kind: str, style: str, value: str) -> str:
        """The text of a cell of type `kind` ("s" shared string, "n" number, "b" truth value, ...)."""
        if kind == "s":
            return self.strings[int(value)] if value.isdecimal() and int(value) < len(self.strings) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind in ("", "n") and style in self.date_styles:
            return shown_date(value, self.epoch)
        if kind in ("", "n"):
            with suppress(ValueError):
                return f"{float(value):.15g}"  # the digits that are shown: 19.99 is stored as 19.989999999999998
        return value


class _Sheet:
    """Handlers for the rows of one sheet."""

    def __init__(self, sink: Sink, book: _Book) -> None:
        self._sink, self._book = sink, book
        self._row: list[str] = []
        self._value: list[str] = []
        self._cell = ("", "")
        self._reading = False
        self._hidden = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("v", "t"):
            self._reading = not self._hidden
        elif name == "c":
            self._row += [""] * (_column(attributes.get("r", "")) - 1 - len(self._row))
            self._cell = (attributes.get("t", ""), attributes.get("s", ""))
            self._value.clear()
        elif name == "rPh":
            self._hidden += 1

    def text(self, characters: str) -> None:
        if self._reading:
            self._value.append(characters)

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._reading = False
        elif name == "c":
            self._row.append(self._book.shown(*self._cell, "".join(self._value)))
        elif name == "row":
            line = row_line(self._row)
            self._row.clear()
            if line:
                self._sink.add(clean(line) + "\n")
        elif name == "rPh":
            self._hidden -= 1


def _column(place: str) -> int:
    """The number of the column in "C5", 1 for A; 0 for none, or one so far right that nobody looks there."""
    number = 0
    for letter in place.rstrip("0123456789"):
        number = number * 26 + ord(letter) - ord("A") + 1 if "A" <= letter <= "Z" else MOST_EMPTY + 1
    return number if number <= MOST_EMPTY else 0


def _add_beside(parts: Zipped, sheet: str, sink: Sink) -> None:
    """Comments, text boxes, charts and diagrams of a sheet."""
    for kind, name in relations(parts, sheet).values():
        if name not in parts or sink.full:
            continue
        if kind in ("comments", "drawing"):
            add_paragraphs(parts, name, sink)
        if kind == "drawing":
            for inner, drawn in relations(parts, name).values():
                if inner in ("chart", "diagramData") and drawn in parts:
                    add_paragraphs(parts, drawn, sink)


def _shared_strings(parts: Zipped, name: str) -> list[str]:
    strings: list[str] = []
    current: list[str] = []
    state = {"reading": False, "hidden": 0}

    def start(name: str, attributes: dict[str, str]) -> None:
        state["hidden"] += name == "rPh"
        state["reading"] = name == "t" and not state["hidden"]

    def end(name: str) -> None:
        state["reading"] = False
        state["hidden"] -= name == "rPh"
        if name == "si":
            strings.append("".join(current))
            current.clear()

    def text(characters: str) -> None:
        if state["reading"]:
            current.append(characters)

    parts.parse(name, start, end, text)
    return strings


def _date_styles(parts: Zipped, name: str) -> frozenset[str]:
    """Numbers of the cell styles, as text, whose format shows a date."""
    dates = {str(number) for number in _DATE_FORMATS}
    styles: list[str] = []
    inside: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "numFmt":
            code = _SHOWN.sub("", attributes.get("formatCode", "").lower())
            if "yy" in code or "mmm" in code or ("d" in code and "m" in code) or "h:mm" in code:
                dates.add(attributes.get("numFmtId", ""))
        elif name == "xf" and inside and inside[-1] == "cellXfs":
            styles.append(attributes.get("numFmtId", ""))
        inside.append(name)

    parts.parse(name, start, lambda _: inside.pop())
    return frozenset(str(i) for i, number in enumerate(styles) if number in dates)


def shown_date(value: str, epoch: datetime) -> str:
    """A serial day number as ISO date, with the time where it has one; `value` itself when it is none.

    Day 60 is a 29 February 1900 that never was, so the days before it are one later.
    """
    try:
        days = float(value)
        moment = epoch + timedelta(days=epoch == EPOCH and days < 60, seconds=round(days * 86_400))
    except (ValueError, OverflowError):
        return value
    if 0 <= days < 1:
        return moment.strftime("%H:%M:%S")
    return moment.strftime("%Y-%m-%d" if days == int(days) else "%Y-%m-%d %H:%M")
