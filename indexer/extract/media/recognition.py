"""Recognising the text of files that hold none, in a worker process: pictures here, what was said in `speech`.

What recognises it is rapidocr (the extra `ocr`), or Debian's tesseract where it is installed. A picture is an array
[height, width, 3] of bytes, blue first. Neither engine reaches a network: rapidocr's models are named by their files,
and the process in which it runs refuses every connection; tesseract is started without one.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import msgspec

from console.extras import how_to_add
from indexer.confined.confinement import end_with_parent
from indexer.confined.given_files import mapped, open_file
from indexer.confined.programs import installed, output_of, processor_seconds
from indexer.errors import ExtractionError
from indexer.extract.media.recognised import BEGUN, recall_pages
from indexer.extract.source import Limits, fingerprint

MAX_PIXELS = 50_000_000
"""of one picture; larger ones are not opened"""
MIN_SIDE = 48
"""pixels: smaller pictures are icons"""


class Recogniser(Protocol):
    """What reads one kind of file that holds no text."""

    @property
    def label(self) -> str:
        """As it is kept with what it found: another label may find more."""

    def read(self, path: str, pages: list[str], order: RecognitionOrder) -> str:
        """Add to `pages`, which hold what it found before, and say what was left out; it raises what it likes."""


class RecognitionOrder(msgspec.Struct, frozen=True):
    """How one file is to be read."""

    engine: Recogniser
    seconds: float
    """of processor time; what was read by then is kept"""
    most: int
    """pages of one PDF, minutes of one recording"""
    may_be_suspended: bool = False
    """whether its process must end with its parent even while it is stopped"""


class Recognised(msgspec.Struct, frozen=True):
    """What was found in one file."""

    digest: bytes
    """of the file's content, taken before it was read"""
    pages: list[str]
    left_out: str
    """what was read when a limit ended it, as "first 30 of 200 pages"; "" for all"""
    seconds: float
    """of processor time that it took"""


def recognise_file(path: str, limits: Limits, *, order: RecognitionOrder) -> Recognised:
    """The text of each page, behind those that were found when it was begun; raises ExtractionError."""
    if order.may_be_suspended:
        end_with_parent()
    digest, began = fingerprint(path), processor_seconds()
    if not digest:
        raise ExtractionError("unreadable", "it cannot be opened")
    before = recall_pages(Path(limits.recognised), digest) if limits.recognised else None
    pages = before[1] if before and before[2].startswith(BEGUN) else []
    try:
        left_out = order.engine.read(path, pages, order)
    except (ExtractionError, MemoryError):
        raise
    except Exception as error:  # whatever a decoder raises on damaged data is that file's failure
        raise ExtractionError(
            "malformed", f"cannot be read by {order.engine.label} ({type(error).__name__})"
        ) from error
    return Recognised(digest, pages, left_out, processor_seconds() - began)


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


SIDE = 2_000
"""pixels of the longer side that an engine gets at most"""

ReadPicture = Callable[[Any, float], str]
"""(picture, processor seconds that it may take) -> the lines from top to bottom, "" where there are none"""


class TextEngine(msgspec.Struct, frozen=True):
    name: str
    """rapidocr or tesseract"""
    languages: tuple[str, ...] = ()
    """names of tesseract's data, as in "eng"; rapidocr reads what its models know"""

    @property
    def label(self) -> str:
        """Its name, and the languages that it was told."""
        return " ".join([self.name, "+".join(self.languages)]).strip()

    def read(self, path: str, pages: list[str], order: RecognitionOrder) -> str:
        """The texts of the pictures in a file, as far as time and pages go."""
        read, n_pages = self.load(), 0
        ends = processor_seconds() + order.seconds
        with contextlib.closing(_pictures(path)) as pictures:
            for picture, n_pages in pictures:  # noqa: B007  # the last one is wanted
                try:
                    pages.append(_text(read, picture, ends - processor_seconds()))
                except ExtractionError as error:
                    if error.kind != "timeout" or not pages:
                        raise
                    break
                if processor_seconds() > ends or len(pages) >= order.most:
                    break
        return f"first {len(pages)} of {n_pages} pages" if len(pages) < n_pages else ""

    def load(self) -> ReadPicture:
        """What reads a picture; raises ExtractionError when the engine is not as it should be."""
        return _rapidocr() if self.name == "rapidocr" else _tesseract(self.languages)


def choose(wanted: str, languages: Sequence[str]) -> tuple[TextEngine | None, str]:
    """The engine for the setting `wanted` (auto, rapidocr or tesseract), or None and why there is none."""
    missing = {"tesseract": _why_no_tesseract(languages), "rapidocr": _why_no_rapidocr()}
    names = tuple(missing) if wanted == "auto" else (wanted,)
    for name in names:
        if not missing[name]:
            return TextEngine(name, tuple(languages) if name == "tesseract" else ()), ""
    return None, "; ".join(missing[name] for name in names)


def _why_no_rapidocr() -> str:
    lacking = [name for name in ("rapidocr", "onnxruntime") if find_spec(name) is None]
    return f"{' and '.join(lacking)} missing: {how_to_add('ocr')}" if lacking else ""


def _why_no_tesseract(languages: Sequence[str]) -> str:
    if not installed("tesseract") or find_spec("PIL") is None:
        return f"tesseract or Pillow missing: apt install tesseract-ocr, {how_to_add('pictures')}"
    lacking = sorted(set(languages) - known_languages())
    return f"tesseract lacks {' '.join(lacking)} (ocr.languages)" if lacking else ""


@lru_cache(maxsize=1)
def known_languages() -> frozenset[str]:
    """The names of the data that tesseract has; none where it is not installed."""
    done = subprocess.run([installed("tesseract"), "--list-langs"], capture_output=True, text=True, check=False)
    return frozenset(done.stdout.splitlines()[1:])


def no_connections(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise PermissionError("recognising text needs no network")


@lru_cache(maxsize=1)
def _rapidocr() -> ReadPicture:
    """The engine on one thread; loading takes 2.5 s of processor time."""
    sys.addaudithook(no_connections)
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    chosen: dict[str, object] = {"Global.log_level": "critical", "Global.max_side_len": SIDE}
    for part, pattern in (("Det", "*_det_*.onnx"), ("Cls", "*_cls_*.onnx"), ("Rec", "*_rec_*.onnx")):
        found = next(iter(sorted(models.glob(pattern))), None)
        if found is None:
            raise ExtractionError("unsupported", f"rapidocr came without its model {pattern}")
        chosen[f"{part}.model_path"] = str(found)
    for threads in ("intra_op_num_threads", "inter_op_num_threads"):
        chosen[f"EngineConfig.onnxruntime.{threads}"] = 1
    engine: Any = rapidocr.RapidOCR(params=chosen)
    return lambda picture, _: "\n".join(str(line) for line in engine(picture).txts or ())


def _tesseract(languages: tuple[str, ...]) -> ReadPicture:
    """One run of the program for each picture, on one thread."""
    command = (installed("tesseract"), "stdin", "stdout", "-l", "+".join(languages))

    def read(picture: Any, seconds: float) -> str:
        height, width = picture.shape[:2]
        data = b"P6 %d %d 255\n" % (width, height) + picture[:, :, ::-1].tobytes()
        with output_of(command, seconds=seconds, given=data) as output:
            text = output.read().decode("utf-8", "replace")
        return "\n".join(line.strip() for line in text.splitlines() if line.strip())

    return read
