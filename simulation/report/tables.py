"""A table of text: drawn in a terminal, as plain columns for files and pipes, or as Markdown."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

GAP = "  "

UNBOUNDED = 10_000
"""columns; wider than any table"""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of text below a heading; all rows are as long as the header."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    """below the table"""
    left: int = 1
    """how many columns at the left are words; the others are numbers and stand to the right"""


def show(choices: Sequence[Grid], stream: TextIO) -> None:
    """Print the first of the grids that fits the terminal, else the last; elsewhere the first, in plain columns."""
    if not choices:
        return
    if not stream.isatty():
        stream.write(_encodable(plain(choices[0]), stream) + "\n")
        return
    console = Console(file=stream, highlight=False)
    unbounded = console.options.update(width=UNBOUNDED)
    tables = [(grid, _table(grid)) for grid in choices]
    fitting = [pair for pair in tables if Measurement.get(console, unbounded, pair[1]).maximum <= console.width]
    grid, table = (fitting or tables[-1:])[0]
    console.print(Text(grid.title, style="bold"))
    console.print(table)
    for note in grid.notes:
        console.print(Text(note, style="dim"))
    console.print()


def plain(grid: Grid) -> str:
    """The grid in aligned columns, no escape codes, no line broken."""
    table = [grid.header, *grid.rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(grid.header))]
    text = io.StringIO()
    print(grid.title, file=text)
    for row in table:
        print(GAP.join(_aligned(cell, widths[n], left=n < grid.left) for n, cell in enumerate(row)).rstrip(), file=text)
    print(*grid.notes, sep="\n", end="\n" if grid.notes else "", file=text)
    return text.getvalue()


def markdown(grid: Grid) -> str:
    """The grid as a section with a Markdown table."""
    rule = [":--" if column < grid.left else "--:" for column in range(len(grid.header))]
    lines = [f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in (grid.header, rule, *grid.rows)]
    return "\n".join([f"## {grid.title}", "", *lines, "", *(f"{note}\n" for note in map(_escaped, grid.notes))])


def _table(grid: Grid) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for column, name in enumerate(grid.header):
        table.add_column(Text(name), justify="left" if column < grid.left else "right")
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table


def _aligned(cell: str, width: int, *, left: bool) -> str:
    return cell.ljust(width) if left else cell.rjust(width)


def _encodable(text: str, stream: TextIO) -> str:
    """The text without characters that the stream cannot carry."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.replace("±", "+-").encode(encoding, "replace").decode(encoding)
    return text


def _escaped(cell: str) -> str:
    return cell.strip().replace("|", "\\|").replace("*", "\\*")
