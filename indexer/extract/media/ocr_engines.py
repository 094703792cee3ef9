"""What recognises text in a picture: rapidocr (the extra `ocr`), or Debian's tesseract where it is installed.

A picture is an array [height, width, 3] of bytes, blue first. Neither engine reaches a network: rapidocr's models are
named by their files, and the process in which it runs refuses every connection; tesseract is started without one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from indexer.errors import ExtractionError
from indexer.extract.workers.programs import installed, output_of

SIDE = 2_000
"""pixels of the longer side that an engine gets at most"""

ReadPicture = Callable[[Any, float], str]
"""(picture, processor seconds that it may take) -> the lines from top to bottom, "" where there are none"""


class TextEngine(msgspec.Struct, frozen=True):
    """An engine and what it is told."""

    name: str
    """rapidocr or tesseract"""
    languages: tuple[str, ...] = ()
    """names of tesseract's data, as in "eng"; rapidocr reads what its models know"""

    @property
    def label(self) -> str:
        """As it is kept with what it found: another label may find more."""
        return " ".join([self.name, "+".join(self.languages)]).strip()

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
    return f"{' and '.join(lacking)} missing: pip install 'foltr-search[ocr]'" if lacking else ""


def _why_no_tesseract(languages: Sequence[str]) -> str:
    if not installed("tesseract") or find_spec("PIL") is None:
        return "tesseract or Pillow missing: apt install tesseract-ocr, pip install 'foltr-search[pictures]'"
    lacking = sorted(set(languages) - known_languages())
    return f"tesseract lacks {' '.join(lacking)} (ocr.languages)" if lacking else ""


@lru_cache(maxsize=1)
def known_languages() -> frozenset[str]:
    """The names of the data that tesseract has; none where it is not installed."""
    done = subprocess.run([installed("tesseract"), "--list-langs"], capture_output=True, text=True, check=False)
    return frozenset(done.stdout.splitlines()[1:])


def _no_connections(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise PermissionError("recognising text needs no network")


@lru_cache(maxsize=1)
def _rapidocr() -> ReadPicture:
    """The engine on one thread; loading takes 2.5 s of processor time."""
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
