"""Tables: printed, kept as data and shown on a page; what was measured, with the aim and its verdict beside it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.load import cores


@dataclass(slots=True)
class Table:
    """Rows of text below a heading."""

    heading: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        self.rows.append(tuple(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells))

    def __str__(self) -> str:
        """In Markdown, its columns padded for a terminal."""
        everything = [self.heading, *self.rows]
        widths = [max(len(row[i]) for row in everything) for i in range(len(self.heading))]
        rule = tuple("-" * width for width in widths)
        padded = ([c.ljust(w) for c, w in zip(row, widths, strict=True)] for row in (self.heading, rule, *self.rows))
        return "\n".join(map(_line, padded))

    def markdown(self) -> list[str]:
        """Its lines on a page, where a changed cell changes one line."""
        return [_line(row) for row in (self.heading, ["---"] * len(self.heading), *self.rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def tables_in(lines: Iterable[str]) -> Iterator[Table]:
    """The tables among lines of Markdown."""
    table: Table | None = None
    for line in lines:
        if not line.startswith("|"):
            table = None
            continue
        cells = tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))
        if table is None:
            table = Table(cells)
            yield table
        elif any(cell.strip("-") for cell in cells):
            table.rows.append(cells)


def verdict(met: bool) -> str:
    """One word for a person who skims."""
    return "met" if met else "NOT met"


def change(new: float, old: float) -> str:
    """The relative change as "+2.1 %"."""
    return f"{100 * (new / old - 1):+.1f} %" if old else "-"


def machine() -> str:
    """Cores, architecture and Python, without naming the machine."""
    return f"{cores()} cores, {platform.machine()}, {platform.system()}, Python {sys.version.split()[0]}"
