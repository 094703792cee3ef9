"""Pictures with text in them, from the outside: the engine, the worker process and the index are real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indexer.extract.recognised import recalled, remember, tried

if TYPE_CHECKING:
    from tests.app.conftest import Device

pytest.importorskip("rapidocr")


def picture(path: Path, text: str) -> None:
    """White, with one line of black text; as PNG, or as a PDF that is a picture."""
    from PIL import Image, ImageDraw, ImageFont

    drawn = Image.new("RGB", (900, 200), "white")
    ImageDraw.Draw(drawn).text((30, 70), text, font=ImageFont.load_default(size=44), fill="black")
    drawn.save(path)


def found(device: Device, query: str) -> list[str]:
    return sorted(Path(line).name for line in device.run("search", query, "--format", "{path}").stdout.splitlines())


def test_the_text_of_pictures_is_found_once_it_is_asked_for(device: Device) -> None:
    """Not before; a damaged picture is passed over; a rebuilt index has the texts without reading them again."""
    picture(device.notes / "screenshot.png", "The bittern booms tonight")
    picture(device.notes / "scan.pdf", "Receipt of the bittern club")
    (device.notes / "broken.png").write_bytes(b"\x89PNG\r\n and no more")
    device.index()
    assert found(device, "bittern") == []
    done = device.run("index", "--ocr")
    assert done.returncode == 0, done.stderr
    assert "text recognised in pictures: 2 files" in done.stderr
    assert found(device, "bittern") == ["scan.pdf", "screenshot.png"]
    assert "text recognised in a picture" in device.run("search", "bittern booms", "--json").stdout
    device.run("index", "--rebuild")
    assert found(device, "bittern") == ["scan.pdf", "screenshot.png"]
    assert "text recognised in pictures: 0 files" in device.run("index", "--ocr").stderr


def test_the_engine_cannot_reach_a_network() -> None:
    """In the process that recognises, a connection is refused before it leaves, and the engine works all the same."""
    code = """
import socket, numpy
from indexer.extract import recognition
engine = recognition._engine()
assert recognition._text(engine, numpy.full((200, 400, 3), 255, dtype=numpy.uint8)) == ""
try:
    socket.create_connection(("127.0.0.1", 9))
except PermissionError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "recognising text needs no network\n", done.stderr


def test_a_text_is_kept_by_the_content_it_was_made_of(tmp_path: Path) -> None:
    """Another content has none; a second text replaces the first; no file, no texts."""
    store = tmp_path / "ocr.sqlite"
    assert recalled(store, b"1") is None
    assert tried(store) == {}
    remember(store, b"1", engine="a", pages=["x"])
    remember(store, b"1", engine="b", pages=["x", "y"])
    assert recalled(store, b"1") == ("b", ["x", "y"])
    assert recalled(store, b"2") is None
    remember(store, b"3", engine="a", pages=[""], reason="no text")
    assert tried(store) == {b"1": True, b"3": False}
    assert store.stat().st_mode & 0o777 == 0o600
