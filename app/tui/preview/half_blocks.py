"""A picture as half blocks: each cell of the terminal shows two points, one above the other."""

from __future__ import annotations

from itertools import groupby, zip_longest

from app.tui.preview.drawing import Drawing
from app.tui.preview.preview_rows import Piece, Row

POINTS = (1, 2)
"""of one cell, across and down"""


def half_block_rows(drawing: Drawing) -> tuple[Row, ...]:
    """As many cells wide as the drawing has points, and half as many rows; below an odd last line is what is behind."""
    stride = 3 * drawing.width
    lines = [drawing.points[start : start + stride] for start in range(0, len(drawing.points), stride)]
    return tuple(_row(upper, lower) for upper, lower in zip_longest(lines[::2], lines[1::2], fillvalue=b""))


def _row(upper: bytes, lower: bytes) -> Row:
    """Two lines of points as one row: the upper one is the colour of the sign, the lower one that behind it."""
    pairs = ((upper[at : at + 3].hex(), lower[at : at + 3].hex()) for at in range(0, len(upper), 3))
    styles = (f"#{above} #{below}" if below else f"#{above}" for above, below in pairs)
    return tuple(Piece("▀" * len(list(same)), style) for style, same in groupby(styles))
