"""Recognising the text of pictures, and of PDFs whose pages are pictures, in a worker process."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Any

import msgspec

from indexer.confined.confinement import end_with_parent
from indexer.confined.given import mapped, open_file
from indexer.errors import ExtractionError
from indexer.extract.media.ocr_engines import SIDE, ReadPicture, TextEngine
from indexer.extract.source import Limits
from indexer.extract.workers.programs import processor_seconds
from indexer.files.fingerprint import fingerprint

MAX_PIXELS = 50_000_000
"""of one picture; larger ones are not opened"""
MIN_SIDE = 48
"""pixels: smaller pictures are icons"""


class RecognitionOrder(msgspec.Struct, frozen=True):
    """How one file is to be read."""

    engine: TextEngine
    seconds: float
    """of processor time; what was read by then is kept"""
    max_pages: int
    """of one PDF"""
    may_be_suspended: bool = False
    """whether its process must end with its parent even while it is stopped"""


class Recognised(msgspec.Struct, frozen=True):
    """What was found in one file."""

    digest: bytes
    """of the file's content, taken before it was read"""
    pages: list[str]
    left_out: str = ""
    """what was read when a limit ended it, as "first 30 of 200 pages"; "" for all"""
    seconds: float = 0.0
    """of processor time that it took"""


def recognise_file(path: str, limits: Limits, *, order: RecognitionOrder) -> Recognised:
    """The text of each page of a PDF, or of one picture; raises ExtractionError."""
    if order.may_be_suspended:
        end_with_parent()
    digest, began = fingerprint(path), processor_seconds()
    if not digest:
        raise ExtractionError("unreadable", "it cannot be opened")
    try:
        with contextlib.closing(_pictures(path)) as pictures:
            pages, n_pages = _read(pictures, order)
    except (ExtractionError, MemoryError):
        raise
    except Exception as error:  # whatever a decoder raises on damaged data is that file's failure
        raise ExtractionError("malformed", f"cannot be read as a picture ({type(error).__name__})") from error
    left_out = f"first {len(pages)} of {n_pages} pages" if len(pages) < n_pages else ""
    return Recognised(digest, pages, left_out, processor_seconds() - began)


def _read(pictures: Iterator[tuple[Any, int]], order: RecognitionOrder) -> tuple[list[str], int]:
    """The texts of `pictures`, as far as time and pages go, and how many there are."""
    read, pages, n_pages = order.engine.load(), list[str](), 0
    ends = processor_seconds() + order.seconds
    for picture, n_pages in pictures:  # noqa: B007  # the last one is wanted
        try:
            pages.append(_text(read, picture, ends - processor_seconds()))
        except ExtractionError as error:
            if error.kind != "timeout" or not pages:
                raise
            break
        if processor_seconds() > ends or len(pages) >= order.max_pages:
            break
    return pages, n_pages


def _pictures(path: str) -> Generator[tuple[Any, int], None, None]:
    """Each picture of the file, and how many there are in all."""
    if not path.lower().endswith(".pdf"):
        yield _of_picture(path), 1
        return
    import pypdfium2

    pdf = pypdfium2.PdfDocument(mapped(path))
    try:
        for number in range(len(pdf)):
            page = pdf[number]
            picture = page.render(scale=SIDE / max(*page.get_size(), 1)).to_numpy()
            page.close()
            yield picture[:, :, :3], len(pdf)
    finally:
        pdf.close()


def _of_picture(path: str) -> Any:
    import numpy as np
    from PIL import Image

    with open_file(path) as stream, Image.open(stream) as picture:
        if picture.width * picture.height > MAX_PIXELS:
            raise ExtractionError("too-large", f"a picture of more than {MAX_PIXELS // 10**6} million pixels")
        picture.thumbnail((SIDE, SIDE))
        return np.asarray(picture.convert("RGB"))[:, :, ::-1].copy()


def _text(read: ReadPicture, picture: Any, seconds: float) -> str:
    """What `read` finds in a picture; "" where that holds no letter or digit."""
    if min(picture.shape[:2]) < MIN_SIDE:
        return ""
    text = read(picture, seconds)
    return text if any(map(str.isalnum, text)) else ""
