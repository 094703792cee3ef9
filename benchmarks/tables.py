"""Tables on stdout: what was measured, with the aim and its verdict beside it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.load import cores


@dataclass(slots=True)
class Table:
    """Rows of text; the first row is the heading. Prints as a Markdown table, so that it can go into docs/ as it is."""

    heading: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        self.rows.append(tuple(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells))

    def __str__(self) -> str:
        everything = [self.heading, *self.rows]
        widths = [max(len(row[i]) for row in everything) for i in range(len(self.heading))]
        rule = tuple("-" * width for width in widths)
        return "\n".join(_line(row, widths) for row in [self.heading, rule, *self.rows])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"


def verdict(met: bool) -> str:
    """One word for a person who skims."""
    return "met" if met else "NOT met"


def change(new: float, old: float) -> str:
    """The relative change as "+2.1 %"."""
    return f"{100 * (new / old - 1):+.1f} %" if old else "-"


def machine() -> str:
    """Cores, architecture and Python, without naming the machine."""
    return f"{cores()} cores, {platform.machine()}, {platform.system()}, Python {sys.version.split()[0]}"
