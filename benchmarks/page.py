"""The tables of docs/benchmarks.md: each below a line `<!-- NAME N -->`, the N-th of results/NAME.json.

The text around them is written by hand. What no command prints, such as a comparison with an earlier version, is kept
in results/by_hand.json: a table that is written into the page without a mark is added there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.running import RESULTS, Result, keep, results
from benchmarks.tables import Table, tables_in

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
MARK = re.compile(r"<!-- (\w+) (\d+) -->")


def marked(text: str, folder: Path = RESULTS) -> str:
    """The page with a mark above each table; those that had none are kept from now on."""
    by_hand: list[Table] = [table for result in results("by_hand", folder) for table in result.tables]
    lines, known = [""], len(by_hand)
    for number, line in enumerate(page := text.split("\n")):
        if line.startswith("|") and not (lines[-1].startswith("|") or MARK.fullmatch(lines[-1])):
            fresh, *_ = tables_in(page[number:])
            by_hand.append(fresh)
            lines.append(f"<!-- by_hand {len(by_hand)} -->")
        lines.append(line)
    if len(by_hand) > known:
        keep("by_hand", Result("", by_hand), folder)
    return "\n".join(lines[1:])


def filled(text: str, folder: Path = RESULTS) -> str:
    """The page with the tables that are kept; LookupError names one that is not there."""
    return "\n".join(_filled(text.split("\n"), folder))


def _filled(lines: list[str], folder: Path) -> Iterator[str]:
    within = False
    for line in lines:
        within = within and line.startswith("|")
        if not within:
            yield line
        if mark := MARK.fullmatch(line):
            within = True
            yield from _table(mark[1], int(mark[2]), folder)


def _table(name: str, number: int, folder: Path) -> list[str]:
    tables = [table for result in results(name, folder) for table in result.tables]
    if not 0 < number <= len(tables):
        raise LookupError(f"results/{name}.json has {len(tables)} tables, the page wants number {number}")
    return tables[number - 1].markdown()
