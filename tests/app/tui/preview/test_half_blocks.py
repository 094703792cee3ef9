"""Pictures as half blocks."""

from __future__ import annotations

from app.tui.preview.picture_drawing import Drawing
from app.tui.preview.picture_rows import half_block_rows

RED, BLUE = b"\xff\0\0", b"\0\0\xff"


def test_two_points_in_a_cell() -> None:
    """Red over blue is a red half block on blue; equal neighbours are one piece; below an odd line is nothing."""
    rows = half_block_rows(Drawing(4, 3, RED * 4 + BLUE * 4 + RED * 3 + BLUE))
    assert rows == (
        (("▀▀▀▀", "#ff0000 #0000ff", -1),),
        (("▀▀▀", "#ff0000", -1), ("▀", "#0000ff", -1)),
    )
