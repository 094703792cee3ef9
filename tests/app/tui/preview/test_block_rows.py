"""Pictures in quarters of cells."""

from __future__ import annotations

import numpy as np
import pytest

from app.tui.preview.graphics_protocols import BLOCK_POINTS, QUARTERS, block_rows
from app.tui.preview.rasteriser import Drawing

RED, BLUE = (255, 0, 0), (0, 0, 255)


def drawing(quarters: list[list[tuple[int, int, int]]]) -> Drawing:
    """Each colour as large as a quarter of a cell."""
    across, down = BLOCK_POINTS[0] // 2, BLOCK_POINTS[1] // 2
    points = np.repeat(np.repeat(np.array(quarters, np.uint8), down, axis=0), across, axis=1)
    return Drawing(points.shape[1], points.shape[0], points.tobytes())


@pytest.mark.parametrize("number", range(16))
def test_each_set_of_quarters_has_its_sign(number: int) -> None:
    """Red where the bit is set, blue elsewhere: painted again from the sign and its two colours it is the same."""
    colours = [RED if number >> bit & 1 else BLUE for bit in range(4)]
    ((text, style, _),), *_ = block_rows(drawing([colours[:2], colours[2:]]))
    front, _, behind = style.partition(" ")
    shown = [front if QUARTERS.index(text) >> bit & 1 else behind for bit in range(4)]
    assert shown == [f"#{bytes(colour).hex()}" for colour in colours]


def test_equal_cells_are_one_piece() -> None:
    """Three red cells, then a blue one; what is beyond an odd edge goes on as the edge."""
    ((first, second),) = block_rows(drawing([[RED] * 6 + [BLUE]] * 2))
    assert (first.text, first.style.split()[1]) == ("   ", "#ff0000")
    assert (second.text, second.style.split()[1]) == (" ", "#0000ff")


def test_of_four_colours_the_two_that_tell_most_remain() -> None:
    """Two dark and two light ones are parted between dark and light."""
    ((cell,),) = block_rows(drawing([[(0, 0, 0), (10, 10, 10)], [(240, 240, 240), (250, 250, 250)]]))
    assert cell.text == "▀"
    assert cell.style == "#050505 #f5f5f5"
