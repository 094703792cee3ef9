"""A picture as rows of text: by kitty's graphics protocol, in sixels, or as blocks, a cell's quarters in two colours.

By the protocol a picture is sent once, under a number, and placed by characters that stand for its cells. Each is
U+10EEEE with two diacritics that say which row and column of the picture it shows, in a foreground colour that is the
picture's number. So a picture is text to Textual and to tmux: it scrolls, is cut off and is covered as text is, and
nothing has to be erased. No answer is asked for (q=2), for it would look like keys.

In sixels (DEC VT340) each row of cells is one image, so that any part of it may be scrolled or covered. A row is blank
text to Textual. Its image is sent behind the frame that painted the blanks, at their place; when they are painted
again, the image is sent again. Six points above each other are one character in one colour.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from app.tui.preview.preview_rows import Piece, Row
from app.tui.preview.rasteriser import Drawing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.uint8]
    Colours = NDArray[np.uint8]

CELL = (10, 20)
"""of one cell, across and down: what is sent of a picture; the terminal fits it to its own cells"""
MOST_COLUMNS = 120
PLACEHOLDER = "\U0010eeee"
CHUNK = 4096
"""characters of base64 in one escape sequence at most, a multiple of 4"""
_COMPOSED = frozenset(
    "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030f\u0311\u0313\u0314\u0342\u0653\u0654"
)
"""diacritics that normalisation may join with a letter; the protocol leaves them out"""
_LAST = 0x82D
"""the protocol's diacritics are those of Unicode 6.0; up to here no later version has added one"""


def placeholder_rows(number: int, columns: int, rows: int) -> tuple[Row, ...]:
    """The cells of a picture; each says its own place, so that any part of them may be covered or cut off."""
    marks, style = _diacritics(), f"#{number:06x}"
    return tuple(
        (Piece("".join(PLACEHOLDER + marks[row] + marks[column] for column in range(columns)), style),)
        for row in range(rows)
    )


def transmission(number: int, drawing: Drawing, columns: int, rows: int) -> Iterator[str]:
    """The escape sequences that give the terminal a picture to be fitted into so many cells."""
    data = b64encode(zlib.compress(drawing.points)).decode("ascii")
    keys = f"a=T,U=1,i={number},f=24,o=z,s={drawing.width},v={drawing.height},c={columns},r={rows},q=2,"
    for start in range(0, len(data), CHUNK):
        more = int(start + CHUNK < len(data))
        yield f"\x1b_G{keys if start == 0 else ''}m={more};{data[start : start + CHUNK]}\x1b\\"


def deletion(number: int) -> str:
    """Let the terminal forget a picture and free what it takes."""
    return f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


def through_tmux(sequence: str) -> str:
    """A sequence that tmux hands on to the terminal around it, where its allow-passthrough is on."""
    return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"


@lru_cache(maxsize=1)
def _diacritics() -> tuple[str, ...]:
    """The signs for 0, 1, 2, ...: all that stand above a letter (class 230) and are not joined with one."""
    signs = map(chr, range(0x300, _LAST + 1))
    return tuple(
        sign
        for sign in signs
        if unicodedata.category(sign) == "Mn"
        and unicodedata.combining(sign) == 230
        and not unicodedata.decomposition(sign)
        and sign not in _COMPOSED
    )


BLOCK_POINTS = (4, 8)
"""of one cell, across and down: each quarter of it is the mean of 2 by 4"""
QUARTERS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
"""the sign for each set of quarters; 1 is the left upper one, 2 the right upper one, 4 and 8 those below"""


def block_rows(drawing: Drawing) -> tuple[Row, ...]:
    """A picture in quarters of cells: of each cell two colours, and the sign that parts it where they differ most."""
    import numpy as np

    across, down = BLOCK_POINTS
    points = np.frombuffer(drawing.points, np.uint8).reshape(drawing.height, drawing.width, 3)
    beyond = (-drawing.height % down, -drawing.width % across)
    points = np.pad(points, ((0, beyond[0]), (0, beyond[1]), (0, 0)), "edge").astype(np.float64)
    n_rows, n_columns = points.shape[0] // down, points.shape[1] // across
    quarters = points.reshape(n_rows, 2, down // 2, n_columns, 2, across // 2, 3).mean(axis=(2, 5))
    quarters = quarters.transpose(0, 2, 1, 3, 4).reshape(n_rows, n_columns, 4, 3)
    sets = np.arange(8)[:, None] >> np.arange(4) & 1  # the others are these, front and back exchanged
    front = np.einsum("kq,rcqp->rckp", sets, quarters)
    behind = quarters.sum(axis=2)[:, :, None] - front
    n_front = np.maximum(sets.sum(axis=1), 1)[:, None]
    n_behind = (4 - sets.sum(axis=1))[:, None]
    told = (front**2 / n_front + behind**2 / n_behind).sum(axis=3)  # the sum of squares that the two means explain
    best = told.round(6).argmax(axis=2)
    place = (*np.indices(best.shape), best)
    colours = [np.rint(part[place]).astype(np.uint8) for part in (front / n_front, behind / n_behind)]
    return tuple(_row(best[row], colours[0][row], colours[1][row]) for row in range(n_rows))


def _row(signs: NDArray[np.int64], front: NDArray[np.uint8], behind: NDArray[np.uint8]) -> Row:
    """A row of cells, those of one sign and one pair of colours in one piece."""
    cells = zip(signs.tolist(), front, behind, strict=True)
    styled = ((QUARTERS[sign], f"#{above.tobytes().hex()} #{below.tobytes().hex()}") for sign, above, below in cells)
    return tuple(Piece("".join(sign for sign, _ in same), style) for style, same in groupby(styled, lambda one: one[1]))


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
        lines.append(f"#{place}" + _RUN.sub(lambda run: b"!%d%s" % (len(run[0]), run[1]), line).decode("ascii"))
    return "$".join(lines)
