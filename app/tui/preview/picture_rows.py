"""A picture as rows of text: by kitty's graphics protocol, or as blocks, four quarters of a cell in two colours.

By the protocol a picture is sent once, under a number, and placed by characters that stand for its cells. Each is
U+10EEEE with two diacritics that say which row and column of the picture it shows, in a foreground colour that is the
picture's number. So a picture is text to Textual and to tmux: it scrolls, is cut off and is covered as text is, and
nothing has to be erased. No answer is asked for (q=2), for it would look like keys.
"""

from __future__ import annotations

import unicodedata
import zlib
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from app.tui.preview.picture_drawing import Drawing
from app.tui.preview.preview_rows import Piece, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
