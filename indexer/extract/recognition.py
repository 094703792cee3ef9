"""Recognising the text of pictures, and of PDFs whose pages are pictures, in a worker process without a network.

rapidocr (the extra `ocr`) brings its models in its package; they are named by their files, so that none is fetched, and
the process in which it runs refuses every connection.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from indexer.errors import ExtractionError
from indexer.extract.source import Limits

MAX_PAGES = 30
"""of one PDF"""
MAX_PIXELS = 50_000_000
"""of one picture; larger ones are not opened"""
SIDE = 2_000
"""pixels of the longer side that the engine gets at most"""
MIN_SIDE = 48
"""pixels: smaller pictures are icons"""
ENGINE = "rapidocr"


class Recognised(msgspec.Struct, frozen=True):
    """What was found in one file."""

    pages: list[str]
    engine: str = ENGINE


def why_no_engine() -> str:
    """Why pictures cannot be read, "" where they can."""
    missing = [name for name in ("rapidocr", "onnxruntime") if find_spec(name) is None]
    return f"{' and '.join(missing)} missing: pip install 'foltr-search[ocr]'" if missing else ""


def recognise_file(path: str, limits: Limits) -> Recognised:
    """The text of each page of a PDF, or of one picture; raises ExtractionError."""
    engine = _engine()
    is_pdf = path.lower().endswith(".pdf")
    try:
        return Recognised(_of_pdf(path, engine, limits) if is_pdf else [_text(engine, _of_picture(path))])
    except (ExtractionError, MemoryError):
        raise
    except Exception as error:  # whatever a decoder raises on damaged data is that file's failure
        raise ExtractionError("malformed", f"cannot be read as a picture ({type(error).__name__})") from error


def _no_connections(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise PermissionError("recognising text needs no network")


@lru_cache(maxsize=1)
def _engine() -> Any:
    """The engine on one thread; loading takes 1.5 s of processor time."""
    sys.addaudithook(_no_connections)
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
    return rapidocr.RapidOCR(params=chosen)


def _of_pdf(path: str, engine: Any, limits: Limits) -> list[str]:
    import pypdfium2

    pages: list[str] = []
    pdf = pypdfium2.PdfDocument(path)
    try:
        for number in range(min(len(pdf), MAX_PAGES)):
            page = pdf[number]
            picture = page.render(scale=SIDE / max(*page.get_size(), 1)).to_numpy()
            page.close()
            pages.append(_text(engine, picture[:, :, :3]))
            if limits.is_late:
                break
    finally:
        pdf.close()
    return pages


def _of_picture(path: str) -> Any:
    import numpy as np
    from PIL import Image

    with Image.open(path) as picture:
        if picture.width * picture.height > MAX_PIXELS:
            raise ExtractionError("too-large", f"a picture of more than {MAX_PIXELS // 10**6} million pixels")
        picture.thumbnail((SIDE, SIDE))
        return np.asarray(picture.convert("RGB"))[:, :, ::-1].copy()


def _text(engine: Any, picture: Any) -> str:
    """The lines from top to bottom; "" where there are none."""
    if min(picture.shape[:2]) < MIN_SIDE:
        return ""
    return "\n".join(str(line) for line in engine(picture).txts or ())
