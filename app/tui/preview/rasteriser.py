"""Drawing a picture, or a page of a PDF, as points: runs in a process of its own, with limits of time and memory.

Pictures come from anywhere, so few formats are opened, the size of the file and its points are looked at before
anything is decoded, and a JPEG is decoded small. Pictures need the extra `pictures`, PDFs nothing more than their text.
"""

from __future__ import annotations

import contextlib
import stat

from msgspec import Struct

from indexer.confined.given_files import mapped, open_file, status_of
from indexer.errors import ExtractionError
from indexer.extract.source import Limits

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF")
MOST_BYTES = 60_000_000
MOST_POINTS = 60_000_000
DAMAGED = "damaged or cut off"
NO_PILLOW = "pictures are shown with the extra `pictures`"
GROUND = (0, 0, 0, 255)
"""what is behind a picture that is transparent"""


class Drawing(Struct, frozen=True):
    """Points of what a file shows."""

    width: int
    height: int
    points: bytes
    """[height, width, 3]: red, green and blue of 0 to 255"""
    n_pages: int = 1


def address_of(path: str, page: int, box: tuple[int, int]) -> str:
    """What `draw` is asked for: a page, counted from 0, within (width, height) in points."""
    return f"{path}#page={page}&size={box[0]}x{box[1]}"


def files_of(address: str) -> tuple[str]:
    """The path in an address."""
    return (address.rpartition("#page=")[0],)


def draw(address: str, limits: Limits) -> Drawing:
    """Draw what an address names; the process is ended by its limits. Raises ExtractionError."""
    path, _, wanted = address.rpartition("#page=")
    page, width, height = map(int, wanted.replace("&size=", " ").replace("x", " ").split())
    try:
        about = status_of(path)
        if not stat.S_ISREG(about.st_mode):  # a pipe would be waited for
            raise ExtractionError("unreadable", "it is no file")
        if about.st_size > MOST_BYTES:
            raise ExtractionError("too-large", f"it has more than {MOST_BYTES // 1_000_000} MB")
        box = (width, height)
        return _page(path, page, box) if path.lower().endswith(".pdf") else _picture(path, box)
    except OSError as error:
        raise ExtractionError("malformed", error.strerror or DAMAGED) from error


def _picture(path: str, box: tuple[int, int]) -> Drawing:
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise ExtractionError("unsupported", NO_PILLOW) from None
    try:
        with open_file(path) as stream, Image.open(stream, formats=FORMATS) as image:
            if image.width * image.height > MOST_POINTS:
                raise ExtractionError("too-large", f"it has {image.width} x {image.height} points")
            square = (max(box), max(box))  # it may have to be turned
            image.draft("RGB", square)
            image.thumbnail(square)
            with contextlib.suppress(SyntaxError, ValueError):  # a damaged description; the picture is there
                ImageOps.exif_transpose(image, in_place=True)
            small = image.convert("RGBA")
    except UnidentifiedImageError as error:  # whose own words name the whole path
        raise ExtractionError("malformed", "damaged, or no picture of a kind that is shown") from error
    except Image.DecompressionBombError as error:
        raise ExtractionError("too-large", "it has too many points") from error
    except (SyntaxError, ValueError) as error:
        raise ExtractionError("malformed", DAMAGED) from error
    small.thumbnail(box)
    ground = Image.new("RGBA", small.size, GROUND)
    ground.alpha_composite(small)
    return Drawing(small.width, small.height, ground.convert("RGB").tobytes())


def _page(path: str, number: int, box: tuple[int, int]) -> Drawing:
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(mapped(path))
        try:
            page = pdf[number]
            width, height = page.get_size()
            scale = min(box[0] / max(width, 1), box[1] / max(height, 1))
            bitmap = page.render(scale=scale, rev_byteorder=True)
            points, used = bytes(bitmap.buffer), 3 * bitmap.width
            lines = (points[start : start + used] for start in range(0, bitmap.stride * bitmap.height, bitmap.stride))
            return Drawing(bitmap.width, bitmap.height, b"".join(lines), len(pdf))
        finally:
            pdf.close()
    except (pypdfium2.PdfiumError, IndexError) as error:
        raise ExtractionError("malformed", "the page cannot be read (damaged or encrypted)") from error
