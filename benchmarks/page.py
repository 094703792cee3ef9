"""The tables of docs/benchmarks.md: each below a line `<!-- NAME N -->`, the N-th of results/NAME.json.

The words around them are written by hand. What no command prints, as a comparison with the program of the day before,
is kept in results/by_hand.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.running import RESULTS, results

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
MARK = re.compile(r"<!-- (\w+) (\d+) -->")


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
