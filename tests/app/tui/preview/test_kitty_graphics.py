"""What is sent of a picture by kitty's protocol, byte for byte."""

from __future__ import annotations

import os
import re
import zlib
from base64 import b64decode

from app.tui.preview.graphics_protocols import (
    CHUNK,
    MOST_COLUMNS,
    _diacritics,
    deletion,
    placeholder_rows,
    through_tmux,
    transmission,
)
from app.tui.preview.picture_preview import HIGHEST
from app.tui.preview.preview_rows import cells
from app.tui.preview.rasteriser import Drawing


def test_the_protocols_own_example() -> None:
    """Two by two cells of picture 42: U+0305 is 0 and U+030D is 1, the row first."""
    assert [row[0][:2] for row in placeholder_rows(42, 2, 2)] == [
        ("\U0010eeee\u0305\u0305\U0010eeee\u0305\u030d", "#00002a"),
        ("\U0010eeee\u030d\u0305\U0010eeee\u030d\u030d", "#00002a"),
    ]


def test_signs_for_every_row_and_column() -> None:
    """Each is another one, as many as a picture may need; some of the protocol's list, counted from 0."""
    signs = _diacritics()
    assert len(set(signs)) == len(signs) == 129
    assert max(HIGHEST, MOST_COLUMNS) <= len(signs)
    listed = {0: 0x305, 4: 0x312, 5: 0x33D, 24: 0x36A, 30: 0x483, 64: 0x659, 100: 0x7EB, 128: 0x82D}
    assert {place: ord(signs[place]) for place in listed} == listed


def test_each_cell_takes_one_cell() -> None:
    """The layout counts them as the terminal does."""
    assert [cells(row) for row in placeholder_rows(0xABCDEF, 7, 2)] == [7, 7]


def test_a_small_picture_is_one_sequence() -> None:
    """Number, format, size in points and cells, no answer wanted; the data are the points."""
    points = bytes(range(2 * 3 * 3))
    (sequence,) = transmission(0x010203, Drawing(3, 2, points), 4, 5)
    head, _, data = sequence.partition(";")
    assert head == f"\x1b_Ga=T,U=1,i={0x010203},f=24,o=z,s=3,v=2,c=4,r=5,q=2,m=0"
    assert data.endswith("\x1b\\")
    assert zlib.decompress(b64decode(data[:-2])) == points


def test_a_large_one_is_cut_into_chunks() -> None:
    """Only the first names the picture, all but the last say that more follows, none is longer than allowed."""
    points = os.urandom(100 * 80 * 3)
    sequences = list(transmission(7, Drawing(100, 80, points), 10, 4))
    found = [re.fullmatch(r"\x1b_G(.*?);([A-Za-z0-9+/=]+)\x1b\\", one) for one in sequences]
    assert len(sequences) == -(-len("".join(one[2] for one in found if one)) // CHUNK) > 2
    assert [one[1] for one in found[1:] if one] == ["m=1"] * (len(sequences) - 2) + ["m=0"]
    assert all(len(one[2]) <= CHUNK for one in found if one)
    assert zlib.decompress(b64decode("".join(one[2] for one in found if one))) == points


def test_letting_go_and_tmux() -> None:
    """A picture is deleted with its data; within tmux's own sequence each escape stands twice."""
    assert deletion(9) == "\x1b_Ga=d,d=I,i=9,q=2\x1b\\"
    assert through_tmux("\x1b_Gm=0;AA==\x1b\\") == "\x1bPtmux;\x1b\x1b_Gm=0;AA==\x1b\x1b\\\x1b\\"
