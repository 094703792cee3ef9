"""Pictures as half blocks, and the ones that are better not decoded."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import pytest

from app.tui.picture import HIGHEST, HOW, picture_rows
from app.tui.preview_rows import cells

Image = pytest.importorskip("PIL.Image")


def test_two_points_in_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red over blue is a red half block on blue; equal neighbours are one piece; the size stands below."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    image = Image.new("RGB", (4, 2), (255, 0, 0))
    for x in range(4):
        image.putpixel((x, 1), (0, 0, 255))
    image.save(tmp_path / "a.png")
    (row, blank, about) = picture_rows(str(tmp_path / "a.png"), 20)
    assert row == (("▀▀▀▀", "#ff0000 #0000ff", -1),)
    assert (blank, about[0].text) == ((), "4 x 2")


def test_any_shape_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide ones take the width, high ones the height, none more."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for number, size in enumerate([(900, 10), (10, 900), (500, 501), (1, 1)]):
        path = tmp_path / f"{number}.png"
        Image.new("L", size, 128).save(path)
        rows = picture_rows(str(path), 30)
        assert len(rows) <= HIGHEST + 2
        assert all(cells(row) <= 30 for row in rows)


def test_hostile_and_broken_pictures_are_one_line(tmp_path: Path) -> None:
    """A bomb of 100,000 x 100,000 points in some bytes, half a picture, another format, a folder."""
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    Image.effect_noise((300, 300), 50).save(tmp_path / "whole.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "whole.png").read_bytes()[:5000])
    (tmp_path / "words.png").write_text("no picture")
    for name in ("bomb.png", "half.png", "words.png", "."):
        (row,) = picture_rows(str(tmp_path / name), 40)
        assert "shown" in row[0].text, name


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that decodes is not there."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert picture_rows(str(tmp_path / "a.png"), 40)[0][0].text == HOW
