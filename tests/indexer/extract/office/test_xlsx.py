"""XLSX made by hand: values as a reader sees them."""

from __future__ import annotations

import pytest

from tests.indexer.extract.office.office_parts import related


def workbook(zipped, sheet: str, **more: str) -> bytes:
    parts = {
        "xl/workbook.xml": "<workbook xmlns:r='r'><sheets><sheet name='Costs' r:id='r1'/></sheets></workbook>",
        "xl/_rels/workbook.xml.rels": related(
            ("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml"), ("styles", "styles.xml")
        ),
        "xl/sharedStrings.xml": "<sst><si><t>zebra</t></si>"
        "<si><r><t>two </t></r><r><t>runs</t></r><rPh><t>x</t></rPh></si></sst>",
        "xl/styles.xml": "<s><numFmts><numFmt numFmtId='200' formatCode='dd/mm/yyyy'/></numFmts>"
        "<cellStyleXfs><xf numFmtId='14'/></cellStyleXfs><cellXfs><xf numFmtId='0'/><xf numFmtId='200'/></cellXfs></s>",
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{sheet}</sheetData></worksheet>",
    }
    return zipped(parts | more)


def test_xlsx_shows_values_as_a_reader_sees_them(single, zipped) -> None:
    """Shared and inline strings, numbers, truth values, dates by their format; one line per row, no formulas."""
    rows = (
        "<row><c t='s'><v>0</v></c><c t='s'><v>1</v></c><c><v>3.5</v></c></row>"
        "<row><c t='inlineStr'><is><t>inline</t></is></c><c t='b'><v>1</v></c><c s='1'><v>45413</v></c></row>"
        "<row><c s='1'><v>45413.5</v></c><c><f>SUM(A1)</f><v>7</v></c><c t='s'><v>99</v></c></row>"
    )
    document = single("a.xlsx", workbook(zipped, rows))
    assert document.text.split("\n")[:4] == [
        "Costs",
        "zebra\ttwo runs\t3.5",
        "inline\tTRUE\t2024-05-01",
        "2024-05-01 12:00\t7",
    ]
    assert (document.type, document.pages) == ("spreadsheet", (0,))


def test_cells_stay_in_their_column(single, zipped) -> None:
    """What is empty on the left is a tab, whether the file names the empty cell or passes over it; far away is none."""
    rows = (
        "<row><c r='A1'/><c r='B1'><v>7</v></c></row><row><c r='C2'><v>8</v></c></row><row><c r='A3'/></row>"
        "<row><c r='XFD4'><v>9</v></c></row><row><c r='A5'><v>1</v></c><c r='C5'><v>2</v></c></row>"
    )
    text = single("a.xlsx", workbook(zipped, rows)).text
    assert text == "Costs\n\t7\n\t\t8\n9\n1\t\t2\n"


def test_early_and_odd_dates(single, zipped) -> None:
    """The days before a 29 February 1900 that never was are shown as the office program shows them; no date is left."""
    row = "".join(f"<c s='1'><v>{value}</v></c>" for value in ("1", "59", "61", "0.5", "1e300"))
    text = single("a.xlsx", workbook(zipped, f"<row>{row}</row>")).text
    assert text == "Costs\n1900-01-01\t1900-02-28\t1900-03-01\t12:00:00\t1e300\n"


@pytest.mark.parametrize("code", ['0" mm";[Red]-0" mm"', "[$MDL] 0", r"0 \d\m", "0 _d_m"])
def test_letters_that_a_format_only_shows_make_no_date(single, zipped, code: str) -> None:
    """Units in quotes, colours, currencies, single letters behind a backslash or as wide as one."""
    styles = f"<numFmts><numFmt numFmtId='200' formatCode='{code}'/></numFmts><cellXfs><xf numFmtId='200'/></cellXfs>"
    book = workbook(zipped, "<row><c s='0'><v>42</v></c></row>", **{"xl/styles.xml": f"<s>{styles}</s>"})
    assert single("a.xlsx", book).text == "Costs\n42\n"


def test_what_stands_beside_the_cells_follows_them(single, zipped) -> None:
    """A comment, a text box, and a chart in the drawing."""
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": related(("comments", "../comments1.xml"), ("drawing", "../drawing.xml")),
        "xl/comments1.xml": "<c><comment><text><r><t>heron</t></r></text></comment></c>",
        "xl/drawing.xml": "<d><p><r><t>stork</t></r></p></d>",
        "xl/_rels/drawing.xml.rels": related(("chart", "chart.xml")),
        "xl/chart.xml": "<c><p><r><t>crane</t></r></p></c>",
    }
    text = single("a.xlsx", workbook(zipped, "<row><c><v>7</v></c></row>", **parts)).text
    assert text == "Costs\n7\nheron\nstork\ncrane\n"


def test_a_long_sheet_is_cut(single, zipped) -> None:
    """Reading a sheet stops at the limit of the text."""
    rows = "<row><c><v>123456789</v></c></row>" * 10_000
    document = single("a.xlsx", workbook(zipped, rows), max_text_bytes=1_000)
    assert (len(document.text), document.truncated) == (1_000, "first 1 kB")


def test_numbers_have_the_digits_that_are_shown(single, zipped) -> None:
    """A workbook stores 19.99 and .07 with the seventeen digits of their binary form, and shows fifteen."""
    values = ("19.989999999999998", "7.0000000000000007E-2", "1.23456789012E+11", "5.")
    cells = "".join(f"<c><v>{value}</v></c>" for value in values)
    text = single("a.xlsx", workbook(zipped, f"<row>{cells}</row>")).text
    assert text == "Costs\n19.99\t0.07\t123456789012\t5\n"
