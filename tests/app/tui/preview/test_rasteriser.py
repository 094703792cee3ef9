"""Drawing pictures and pages, and the ones that are better not decoded."""

from __future__ import annotations

import os
import struct
import sys
import zlib
from pathlib import Path

import pytest

from app.tui.preview.rasteriser import MOST_BYTES, NO_PILLOW, Drawing, address_of, draw
from indexer.errors import ExtractionError
from indexer.extract.source import Limits

Image = pytest.importorskip("PIL.Image")


def _drawn(path: Path, box: tuple[int, int] = (60, 40), page: int = 0) -> Drawing:
    return draw(address_of(str(path), page, box), Limits())


def test_any_shape_fits(tmp_path: Path) -> None:
    """Wide ones take the width, high ones the height, small ones are as they are; the points are all there."""
    for size, expected in {(900, 10): (60, 1), (10, 800): (1, 40), (30, 20): (30, 20), (1, 1): (1, 1)}.items():
        Image.new("L", size, 128).save(tmp_path / "a#page=1.png")
        drawing = _drawn(tmp_path / "a#page=1.png")
        assert (drawing.width, drawing.height, drawing.n_pages) == (*expected, 1)
        assert drawing.points == b"\x80" * (3 * expected[0] * expected[1])


def test_a_photograph_stands_upright_and_what_is_transparent_is_black(tmp_path: Path) -> None:
    """EXIF's orientation 6 is a quarter turn to the right."""
    photograph = Image.new("RGB", (40, 20), (0, 0, 255))
    exif = Image.Exif()
    exif[0x0112] = 6
    photograph.save(tmp_path / "a.jpg", exif=exif)
    assert (_drawn(tmp_path / "a.jpg").width, _drawn(tmp_path / "a.jpg").height) == (20, 40)
    Image.new("RGBA", (1, 1), (255, 255, 255, 0)).save(tmp_path / "a.png")
    assert _drawn(tmp_path / "a.png").points == b"\0\0\0"


def test_hostile_and_broken_pictures_are_refused(tmp_path: Path) -> None:
    """Bombs of 100,000 x 100,000 points in some bytes and of 20,000 x 20,000, half a picture, others, a folder."""
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    Image.new("1", (20_000, 20_000)).save(tmp_path / "large.png")
    Image.new("1", (8_000, 8_000)).save(tmp_path / "map.png")
    Image.effect_noise((300, 300), 50).save(tmp_path / "whole.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "whole.png").read_bytes()[:5000])
    for name in ("words.png", "words.pdf"):
        (tmp_path / name).write_text("no picture")
    with (tmp_path / "heavy.png").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    reasons = {}
    for name in ("bomb.png", "large.png", "map.png", "half.png", "words.png", "words.pdf", "heavy.png", "gone", "."):
        with pytest.raises(ExtractionError) as caught:
            _drawn(tmp_path / name)
        reasons[name] = str(caught.value)
    assert reasons["large.png"] == "it has too many points"
    assert reasons["map.png"] == "it has 8000 x 8000 points"
    assert reasons["heavy.png"] == "it has more than 60 MB"
    assert reasons["gone"] == "No such file or directory"
    assert reasons["words.png"] == "damaged, or no picture of a kind that is shown"
    assert reasons["."] == "it is no file"
    os.mkfifo(tmp_path / "pipe.png")  # in the place of a file, once that was found
    with pytest.raises(ExtractionError, match="it is no file"):
        _drawn(tmp_path / "pipe.png")


def test_a_damaged_description_leaves_the_picture(tmp_path: Path) -> None:
    """Only the way it was held is in there; half a picture is said in plain words, whatever its decoder says."""
    Image.new("RGB", (30, 20)).save(tmp_path / "a.png")
    whole, bad = (tmp_path / "a.png").read_bytes(), b"\xff\xfe\xfd garbage"
    part = struct.pack(">I", len(bad)) + b"eXIf" + bad + struct.pack(">I", zlib.crc32(b"eXIf" + bad))
    (tmp_path / "a.png").write_bytes(whole[:33] + part + whole[33:])
    assert (_drawn(tmp_path / "a.png").width, _drawn(tmp_path / "a.png").height) == (30, 20)
    (tmp_path / "b.png").write_bytes(whole[:50])
    with pytest.raises(ExtractionError, match=r"^damaged or cut off$"):
        _drawn(tmp_path / "b.png")


def test_pages_of_a_pdf(tmp_path: Path) -> None:
    """Each page by its number, as large as fits; one that is not there is refused."""
    red, green = Image.new("RGB", (100, 50), (255, 0, 0)), Image.new("RGB", (50, 100), (0, 255, 0))
    red.save(tmp_path / "a.pdf", save_all=True, append_images=[green], resolution=72, quality=100)
    first, second = _drawn(tmp_path / "a.pdf"), _drawn(tmp_path / "a.pdf", page=1)
    assert (first.width, first.height, first.n_pages) == (60, 30, 2)
    assert (second.width, second.height) == (20, 40)
    for drawing, colour in ((first, (255, 0, 0)), (second, (0, 255, 0))):
        middle = 3 * (drawing.width * (drawing.height // 2) + drawing.width // 2)
        assert len(drawing.points) == 3 * drawing.width * drawing.height
        assert all(abs(a - b) < 8 for a, b in zip(drawing.points[middle : middle + 3], colour, strict=True))
    with pytest.raises(ExtractionError):
        _drawn(tmp_path / "a.pdf", page=2)


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that decodes pictures is not there; pages of PDFs need none."""
    Image.new("RGB", (8, 8)).save(tmp_path / "a.pdf")
    (tmp_path / "a.png").touch()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ExtractionError, match=NO_PILLOW):
        _drawn(tmp_path / "a.png")
    assert _drawn(tmp_path / "a.pdf").n_pages == 1
