"""A picture as half blocks: each cell of the terminal shows two points, one above the other."""

from __future__ import annotations

from itertools import groupby

from app.tui.drawing import Drawing
from app.tui.preview_rows import Piece, Row

POINTS = (1, 2)
"""of one cell, across and down"""


def half_block_rows(drawing: Drawing) -> tuple[Row, ...]:
    """As many cells wide as the drawing has points, and half as many rows; below an odd last line it is black."""
    stride = 3 * drawing.width
    points = drawing.points + bytes(stride * (drawing.height % 2))
    return tuple(
        _row(points[top : top + stride], points[top + stride : top + 2 * stride])
        for top in range(0, len(points), 2 * stride)
    )


def _row(upper: bytes, lower: bytes) -> Row:
    """Two lines of points as one row: the upper one is the colour of the sign, the lower one that behind it."""
    styles = (f"#{upper[at : at + 3].hex()} #{lower[at : at + 3].hex()}" for at in range(0, len(upper), 3))
    return tuple(Piece("▀" * len(list(same)), style) for style, same in groupby(styles))
