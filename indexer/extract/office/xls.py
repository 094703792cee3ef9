"""Excel workbooks of before 2007 (.xls), through xlrd: the rows of each sheet, a sheet a page."""

from __future__ import annotations

import io
from typing import Any

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.office.compound import Compound
from indexer.extract.office.xlsx import EPOCH, EPOCH_1904, shown_date
from indexer.extract.source import Limits, Sink, Source, row_line


def extract(source: Source, limits: Limits) -> Extraction:
    """A workbook of Excel 2 to 4, which is a row of records without a container."""
    return _read(source.read(limits.max_member_bytes), limits)


def extract_compound(compound: Compound, limits: Limits) -> Extraction:
    """One document from the first stream of a workbook."""
    stream = "Workbook" if "Workbook" in compound else "Book"
    return _read(compound.read(stream), limits, *compound.summary())


def _read(stream: bytes, limits: Limits, title: str = "", author: str = "") -> Extraction:
    """One document from the records in `stream`, each sheet under its name."""
    notes: list[str] = []
    sink = Sink(limits)
    book = _opened(stream)
    for number, name in enumerate(book.sheet_names()):
        if sink.full:
            break
        sink.begin_page()
        sink.add(clean(name) + "\n")
        try:
            _add_rows(book.sheet_by_index(number), book.datemode, sink)
            book.unload_sheet(number)
        except Exception as error:  # xlrd raises whatever the damage makes it
            notes.append(f"{clean(name)}: damaged ({type(error).__name__})")
    if notes and len(notes) == book.nsheets:
        raise ExtractionError("malformed", notes[0])
    return sink.extraction("spreadsheet", title, author, notes=notes)


def _opened(stream: bytes) -> Any:
    import xlrd

    try:
        return xlrd.open_workbook(file_contents=stream, logfile=io.StringIO(), on_demand=True, ragged_rows=True)
    except xlrd.XLRDError as error:
        if "encrypted" in str(error):
            raise ExtractionError("encrypted", "protected by a password") from error
        raise ExtractionError("malformed", f"not a readable workbook ({' '.join(str(error).split())[:150]})") from error


def _add_rows(sheet: Any, epoch: int, sink: Sink) -> None:
    for row in range(sheet.nrows):
        cells = zip(sheet.row_types(row), sheet.row_values(row), strict=True)
        line = row_line([_shown(kind, value, epoch) for kind, value in cells])
        if line:
            sink.add(clean(line) + "\n")
        if sink.full:
            return


_NUMBER, _DATE, _TRUTH, _ERROR = 2, 3, 4, 5
"""types of cells; the others are text or nothing"""


def _shown(kind: int, value: Any, epoch: int) -> str:
    """A cell as it reads: whole numbers without ".0", dates as ISO dates, nothing for an error."""
    if kind == _DATE:
        return shown_date(repr(value), EPOCH_1904 if epoch else EPOCH)
    if kind == _NUMBER:
        return f"{value:.15g}"
    if kind == _TRUTH:
        return "TRUE" if value else "FALSE"
    return "" if kind == _ERROR else str(value).strip()
