"""A picture as half blocks: each cell of the terminal shows two points, one above the other.

Pictures come from anywhere, so few formats are opened, the size of the file and its points are looked at before
anything is decoded, and a JPEG is decoded small. Needs the extra `pictures`; without it one line says so.
"""

from __future__ import annotations

import os
from itertools import groupby

from app.tui.preview_rows import Piece, Row

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF")
MOST_BYTES = 60_000_000
MOST_POINTS = 60_000_000
HIGHEST = 48
"""rows that a picture takes at most"""
HOW = "pictures are shown with the extra: pip install 'foltr-search[pictures]'"


def picture_rows(path: str, width: int) -> tuple[Row, ...]:
    """The picture in rows of at most `width` cells; one line instead where it cannot be shown."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        return _line(HOW)
    try:
        if os.path.getsize(path) > MOST_BYTES:
            return _line(f"a picture of more than {MOST_BYTES // 1_000_000} MB is not shown")
        with Image.open(path, formats=FORMATS) as image:
            if image.width * image.height > MOST_POINTS:
                return _line(f"a picture of {image.width} x {image.height} points is not shown")
            about = f"{image.width} x {image.height}"
            if "NO_COLOR" in os.environ:
                return _line(about)
            image.draft("RGB", (width * 2, HIGHEST * 4))
            image.thumbnail((width * 4, HIGHEST * 8))
            small = ImageOps.exif_transpose(image).convert("RGBA")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return _line(f"the picture cannot be shown: {error}")
    small.thumbnail((max(1, width), HIGHEST * 2))
    ground = Image.new("RGBA", (small.width, small.height + small.height % 2), (0, 0, 0, 255))
    ground.alpha_composite(small)
    points = ground.convert("RGB").tobytes()
    stride = ground.width * 3
    rows = tuple(
        _row(points[top : top + stride], points[top + stride : top + 2 * stride])
        for top in range(0, len(points), 2 * stride)
    )
    return (*rows, (), (Piece(about, "quiet"),))


def _row(upper: bytes, lower: bytes) -> Row:
    """Two lines of points as one row: the upper one is the colour of the sign, the lower one that behind it."""
    styles = (f"#{upper[at : at + 3].hex()} #{lower[at : at + 3].hex()}" for at in range(0, len(upper), 3))
    return tuple(Piece("▀" * len(list(same)), style) for style, same in groupby(styles))


def _line(text: str) -> tuple[Row]:
    return ((Piece(text, "quiet"),),)
