"""A picture in sixels (DEC VT340), one image for each row of cells, so that any part of it may be scrolled or covered.

A row is blank text to Textual. Its image is sent behind the frame that painted the blanks, at their place; when they
are painted again, the image is sent again. Six points above each other are one character in one colour.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.tui.preview.picture_drawing import Drawing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.uint8]
    Colours = NDArray[np.uint8]

MOST_COLOURS = 128
COARSE = 3
"""bits of each part of a colour that are left out"""
_RUN = re.compile(rb"(.)\1{3,}", re.S)


def sixel_rows(drawing: Drawing, height: int) -> tuple[str, ...]:
    """The image of each row of `height` points, complete with its colours."""
    import numpy as np

    points = np.frombuffer(drawing.points, np.uint8).reshape(drawing.height, drawing.width, 3)
    places, colours = _reduced(points)
    return tuple(_image(places[top : top + height], colours) for top in range(0, drawing.height, height))


def _reduced(points: NDArray[np.uint8]) -> tuple[Places, Colours]:
    """The place of each point in a list of colours [height, width], and the colours [n, 3].

    By median cut (Heckbert 1982): the colours are parted again and again in the middle of their longest side.
    """
    import numpy as np

    coarse = points.astype(np.int32) >> COARSE
    codes = (coarse[..., 0] << 10) | (coarse[..., 1] << 5) | coarse[..., 2]
    found, which, often = np.unique(codes, return_inverse=True, return_counts=True)
    parts = np.stack([found >> 10, found >> 5 & 31, found & 31], axis=1)
    groups = [np.arange(len(found))]
    while len(groups) < MOST_COLOURS:
        spread = [np.ptp(parts[group], axis=0).max() * often[group].sum() for group in groups]
        widest = int(np.argmax(spread))
        if not spread[widest]:
            break
        groups += _parted(groups.pop(widest), parts, often)
    place = np.empty(len(found), np.uint8)
    for number, group in enumerate(groups):
        place[group] = number
    means = [np.average(parts[group], axis=0, weights=often[group]) for group in groups]
    colours = np.array(means) * (1 << COARSE) + (1 << COARSE >> 1)
    return place[which].reshape(codes.shape), np.minimum(np.rint(colours), 255).astype(np.uint8)


def _parted(group: NDArray[np.int64], parts: NDArray[np.int32], often: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """A group of colours in two, along the side on which they differ most, each with half of the points."""
    import numpy as np

    own = parts[group]
    group = group[np.argsort(own[:, np.ptp(own, axis=0).argmax()], kind="stable")]
    points = np.cumsum(often[group])
    middle = min(max(int(np.searchsorted(points, points[-1] / 2)), 1), len(group) - 1)
    return [group[:middle], group[middle:]]


def _image(places: Places, colours: Colours) -> str:
    """One image of places [height, width] in colours [n, 3]; points that it leaves out stay as they are."""
    import numpy as np

    height, width = places.shape
    used = np.unique(places).tolist()
    percent = np.rint(colours[used] / 2.55).astype(int).tolist()
    registers = "".join(f"#{place};2;{r};{g};{b}" for place, (r, g, b) in zip(used, percent, strict=True))
    bands = "-".join(_band(places[top : top + 6]) for top in range(0, height, 6))
    return f'\x1bP0;1q"1;1;{width};{height}{registers}{bands}\x1b\\'


def _band(places: Places) -> str:
    """Six lines of points or fewer, colour by colour."""
    import numpy as np

    bits = (1 << np.arange(len(places))).astype(np.uint8)[:, None]
    lines = []
    for place in np.unique(places).tolist():
        line = (((places == place) * bits).sum(axis=0, dtype=np.uint8) + 63).tobytes().rstrip(b"?")
        lines.append(f"#{place}" + _RUN.sub(_repeated, line).decode("ascii"))
    return "$".join(lines)


def _repeated(run: re.Match[bytes]) -> bytes:
    return b"!%d%s" % (len(run[0]), run[1])
