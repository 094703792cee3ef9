"""Excel workbooks of before 2007: sheets, cells, protection."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from tests.indexer.extract.office.compound_parts import workbook

Single = Callable[..., ExtractedDocument]
Extract = Callable[..., Extraction]


def test_sheets_are_pages_with_their_rows(single: Single) -> None:
    """A sheet begins with its name; whole numbers have no point, empty rows are left out."""
    data = workbook({"Birds": [["zebra", 3.0, 2.5], [], ["", "Größe"]], "Two": [["x"]]})
    document = single("a.xls", data)
    assert document.text == "Birds\nzebra\t3\t2.5\n\tGröße\nTwo\nx\n"
    assert [document.text[at:][:3] for at in document.pages] == ["Bir", "Two"]
    assert document.type == "spreadsheet"


@pytest.mark.parametrize(
    ("since_1904", "dates"),
    [
        (False, "2024-05-01\t2024-05-01 12:00\t1900-02-28\t12:00:00\tTRUE"),
        (True, "2028-05-02\t2028-05-02 12:00\t1904-02-29\t12:00:00\tTRUE"),
    ],
)
def test_dates_and_truth_values_are_shown(single: Single, *, since_1904: bool, dates: str) -> None:
    """Days count from the first of 1900, or of 1904 where the workbook says so; less than one is a time of day."""
    row = [*(timedelta(days=days) for days in (45413, 45413.5, 59, 0.5)), True]
    assert single("a.xls", workbook({"S": [row]}, since_1904=since_1904)).text == f"S\n{dates}\n"


def test_rows_end_when_the_text_is_full(single: Single) -> None:
    """A limit cuts within a sheet and says so."""
    document = single("a.xls", workbook({"S": [[f"word{i}"] for i in range(100)]}), max_text_bytes=50)
    assert len(document.text) == 50
    assert document.truncated == "first 50 bytes"


def test_a_protected_workbook_is_named(extract: Extract) -> None:
    """Excel asks for a password; so does the failure."""
    with pytest.raises(ExtractionError) as failure:
        extract("a.xls", workbook({"S": [["x"]]}, is_protected=True))
    assert failure.value.kind == "encrypted"


def test_a_damaged_sheet_is_named_and_a_workbook_of_nothing_else_fails(extract: Extract) -> None:
    """The other sheets are read."""
    found = extract("a.xls", workbook({"Birds": [["zebra"]], "Torn": [[b"\0"]]}))
    assert found.documents[0].text == "Birds\nzebra\nTorn\n"
    assert found.notes == ("Torn: damaged (error)",)
    with pytest.raises(ExtractionError, match="Torn: damaged") as failure:
        extract("a.xls", workbook({"Torn": [[b"\0"]]}))
    assert failure.value.kind == "malformed"
