"""Pictures in sixels, read back by a decoder of their own."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.tui.preview.graphics_protocols import sixel_rows
from app.tui.preview.rasteriser import Drawing

COMMAND = re.compile(r'"1;1;(\d+);(\d+)|#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|(\$)|(-)|!(\d+)(.)|(.)')


def decoded(image: str) -> np.ndarray:
    """The points of an image, [height, width, 3] in per cent; -1 for those that it leaves out."""
    assert image.startswith("\x1bP0;1q")
    assert image.endswith("\x1b\\")
    colours: dict[str, tuple[int, ...]] = {}
    x = y = 0
    colour, points = "", np.zeros((0, 0, 3))
    for w, h, register, r, g, b, chosen, back, down, n, repeated, single in COMMAND.findall(image[6:-2]):
        if w:
            points = np.full((int(h), int(w), 3), -1)
        elif register:
            colours[register] = (int(r), int(g), int(b))
        elif chosen:
            colour = chosen
        elif back:
            x = 0
        elif down:
            x, y = 0, y + 6
        else:
            end = x + int(n or 1)
            for bit in range(6):
                if ord(repeated or single) - 63 >> bit & 1:
                    points[y + bit, x:end] = colours[colour]
            x = end
    return points


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_rows_hold_the_picture(width: int, height: int, row: int, seed: int) -> None:
    """Below each other they are as large as it, no point is left out, and few colours are kept as they are."""
    palette = np.array([[4, 4, 4], [252, 4, 4], [4, 252, 4], [132, 132, 132]], np.uint8)
    points = palette[np.random.default_rng(seed).integers(0, 4, (height, width))]
    images = sixel_rows(Drawing(width, height, points.tobytes()), row)
    shown = np.concatenate([decoded(image) for image in images])
    assert shown.shape == points.shape
    assert np.abs(shown - points / 2.55).max() <= 0.5 + 1e-9


def test_a_photograph_comes_near() -> None:
    """Of 4,096 colours 250 remain, and no point is farther from its own than a few of the coarse steps."""
    points = np.indices((64, 64)).transpose(1, 2, 0).repeat(2, axis=2)[..., :3].astype(np.uint8) * 4
    shown = decoded(sixel_rows(Drawing(64, 64, points.tobytes()), 64)[0])
    assert np.abs(shown * 2.55 - points).mean() < 16
