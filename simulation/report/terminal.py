"""Tables and learning curves in a terminal, and as plain text in files and pipes.

Curves are drawn by plotext: braille lines in colours, or letters where there are none.
"""

from __future__ import annotations

import io
import os
import shutil
import string
from collections.abc import Mapping, Sequence
from typing import Literal, TextIO

from msgspec import Struct
from msgspec.structs import replace
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from simulation.report.display_names import caption, key_titles, short_number
from simulation.report.statistics import Curve, Settings, X

GAP = "  "

UNBOUNDED = 10_000
"""columns; wider than any table"""


class Grid(Struct, frozen=True):
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
        aligned = (cell.ljust(widths[n]) if n < grid.left else cell.rjust(widths[n]) for n, cell in enumerate(row))
        print(GAP.join(aligned).rstrip(), file=text)
    print(*grid.notes, sep="\n", end="\n" if grid.notes else "", file=text)
    return text.getvalue()


def _table(grid: Grid) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for column, name in enumerate(grid.header):
        table.add_column(Text(name), justify="left" if column < grid.left else "right", overflow="fold")
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table


def _encodable(text: str, stream: TextIO) -> str:
    """The text without characters that the stream cannot carry."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.replace("±", "+-").encode(encoding, "replace").decode(encoding)
    return text


COLOURS = (32, 166, 36, 175, 178, 74, 143, 245)
"""of the 256 of a terminal: near those of the pictures, legible on dark and on light ground"""

MAX_WIDTH, MIN_WIDTH, HEIGHT = 110, 30, 18
"""in characters; the height with axes and title"""

MAX_CURVES = 12
"""more lines than that cannot be told apart in a terminal"""

PLAIN_WIDTH = 80
"""where there is no terminal"""

N_TICKS = 5

Look = Literal["colours", "letters", "ascii"]

_ASCII = str.maketrans("┌┐└┘─│┤├┬┴┼", "++++-|++++" + "+")


def show_curves(
    curves: Mapping[Settings, Curve],
    stream: TextIO,
    *,
    title: str,
    x: X = "interactions",
    papers: Sequence[tuple[Settings, Curve]] = (),
) -> None:
    """Print the curves as wide as the terminal; nothing where no curve has two points.

    The paper's beside them are drawn where there is room for all. Without a terminal the picture is of ASCII letters
    80 wide; NO_COLOR (no-color.org) is obeyed.
    """
    drawn = [curve for curve in curves.values() if len(curve.rounds) > 1]
    if drawn:
        beside = [replace(curve, settings=(*settings, ("source", "paper"))) for settings, curve in papers]
        if len(drawn) + len(beside) <= MAX_CURVES:
            drawn += beside
        width = shutil.get_terminal_size().columns if stream.isatty() else PLAIN_WIDTH
        stream.write(picture(drawn, title=title, width=width, look=look_for(stream, os.environ), x=x) + "\n")


def look_for(stream: TextIO, environment: Mapping[str, str]) -> Look:
    """What the stream can show: colours only on a terminal that has them, more than ASCII only in UTF-8."""
    unicode = (stream.encoding or "").lower().replace("-", "") == "utf8"
    if not stream.isatty() or not unicode:
        return "ascii"
    return "letters" if environment.get("NO_COLOR") or environment.get("TERM") == "dumb" else "colours"


def picture(curves: Sequence[Curve], *, title: str, width: int, look: Look, x: X = "interactions") -> str:
    """The plot and its legend as lines of text, at most `width` characters wide; curves after the twelfth are left out.

    Letters and ASCII have no escape codes.
    """
    shown, left_out = curves[:MAX_CURVES], len(curves) - MAX_CURVES
    titles = key_titles(curve.settings for curve in curves)
    lines = [_plot(shown, title, max(MIN_WIDTH, min(width, MAX_WIDTH)), look, x)]
    for number, curve in enumerate(shown):
        sign, n_hidden = _sign(number, look)
        lines.append(f"  {sign} {caption(curve.settings, titles)}"[: width + n_hidden])
    if left_out > 0:
        lines.append(f"  and {left_out} more in the pictures")
    return "\n".join(lines)


def _plot(curves: Sequence[Curve], title: str, width: int, look: Look, x: X) -> str:
    """The axes and lines; plotext has one figure for the whole process, so it is wiped first."""
    import plotext  # loads slowly, and what draws no curve does without

    figure = plotext.figure
    plotext.terminal.limit(False, False)
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, HEIGHT)
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)] if look == "colours" else None
        marker = plotext.marker("braille" if colour is not None else string.ascii_letters[number], colour)
        figure.draw(figure.signal(curve.at(x).tolist(), curve.mean.tolist(), marker=marker).lines())
    end = float(max(curve.at(x)[-1] for curve in curves))
    ticks = [end * step / (N_TICKS - 1) for step in range(N_TICKS)]
    figure.ruler("x").ticks(ticks, [short_number(round(tick)) for tick in ticks])
    figure.title(title)
    figure.label(x, "x")
    text: str = figure.build().string(look != "colours")
    figure.clear()
    text = "\n".join(line.rstrip() for line in text.splitlines())
    return text.translate(_ASCII) if look == "ascii" else text


def _sign(number: int, look: Look) -> tuple[str, int]:
    """What stands for the curve in the legend, and how many of its characters take no room."""
    if look != "colours":
        return string.ascii_letters[number], 0
    colour, end = f"\x1b[38;5;{COLOURS[number % len(COLOURS)]}m", "\x1b[0m"
    return f"{colour}━━{end}", len(colour) + len(end)
