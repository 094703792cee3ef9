"""A picture as rows of text: by kitty's graphics protocol, or as half blocks, two points above each other in a cell.

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
from itertools import groupby, zip_longest

from app.tui.preview.picture_drawing import Drawing
from app.tui.preview.preview_rows import Piece, Row

KITTY_POINTS = (10, 20)
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


BLOCK_POINTS = (1, 2)
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
