"""Tables in aligned columns: what stands between commas, tabs or pipes, each cell with its place in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.tui.preview.preview_rows import Piece, Rendered, Row, cells, text_cells

WIDEST = 32
"""cells that a column takes at most; what is longer is cut with an ellipsis"""
MEASURED = 400
"""rows that the widths of columns are taken from"""
LONGEST = 300_000
"""characters of a text; what is longer is shown as written"""
SEPARATORS = ",;\t|"
_NUMBER = re.compile(r"[-+]?[$€£]?[\d.,'\s]*\d[\d.,]*\s?[%€$£]?")


def delimited_rows(text: str, width: int, *, separators: str = SEPARATORS) -> Rendered | None:
    """A table with a row for each line of `text`, the first staying at the top; None where there are no columns.

    What divides the columns is the commonest of `separators` in the first line that has one.
    """
    first = next((line for line in text.splitlines() if any(mark in line for mark in separators)), "")
    records = _records(text, max(separators, key=first.count)) if first else []
    if not records:  # of a file of nothing but separators, too
        return None
    starts, table = [start for start, _ in records], [line for _, line in records]
    n_above = next((n for n, line in enumerate(table) if len(line) > 1), 0)  # as the name of a sheet
    rows = [tuple(line) for line in table[:n_above]] + table_rows(table[n_above:], widest=WIDEST)
    return Rendered(width, tuple(rows), tuple(starts), head=rows[n_above], wide=max(cells(row) for row in rows))


def _records(text: str, separator: str) -> list[tuple[int, list[Piece]]]:
    """(start, cells) of each record; a quoted cell may hold separators and line ends (RFC 4180)."""
    field = re.compile(rf'"((?:[^"]|"")*)"[^{re.escape(separator)}\n]*|[^{re.escape(separator)}\n]*')
    records: list[tuple[int, list[Piece]]] = []
    position, record, begin = 0, list[Piece](), 0
    while position <= len(text):
        found = field.match(text, position)
        assert found is not None  # the second branch takes nothing as well
        group = 1 if found[1] is not None else 0
        raw = found[group].rstrip("\r")
        record.append(Piece(raw, "", found.start(group)))
        position = found.end()
        if position >= len(text) or text[position] == "\n":
            if any(cell.text for cell in record):
                records.append((begin, record))
            record, begin = [], position + 1
        position += 1
    return records


def table_rows(table: Sequence[Sequence[Piece]], *, widest: int) -> list[Row]:
    """One row for each line of a table: columns aligned, numbers to the right, the first line as a heading."""
    n_columns = max((len(line) for line in table), default=0)
    sample = table[:MEASURED]
    columns = [[line[n] for line in sample if n < len(line)] for n in range(n_columns)]
    widths = [min(widest, max((text_cells(cell.text) for cell in column), default=0)) for column in columns]
    right = [
        bool(column[1:]) and all(_NUMBER.fullmatch(cell.text) for cell in column[1:] if cell.text.strip())
        for column in columns
    ]
    return [
        tuple(
            piece
            for n, cell in enumerate(line)
            for piece in _cell(cell, widths[n], "heading" if not number else "", to_right=right[n])
        )
        for number, line in enumerate(table)
    ]


def _cell(cell: Piece, width: int, style: str, *, to_right: bool) -> Row:
    """A cell in so many cells of the terminal, and two blanks."""
    text, more = cell.text, ""
    if text_cells(text) > width:
        more = "…"
        while text and text_cells(text) > width - 1:
            text = text[:-1]
    gap = " " * max(0, width - text_cells(text + more))
    shown = (Piece(text, style, cell.start), Piece(more, "quiet"))
    return (Piece(gap), *shown, Piece("  ")) if to_right else (*shown, Piece(gap + "  "))
