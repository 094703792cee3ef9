"""Excel workbooks of before 2007: sheets, cells, protection."""

from __future__ import annotations

from collections.abc import Callable

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
