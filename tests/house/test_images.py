"""The pictures of the documentation show the screen as it is."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest
import textual

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
DRAWN_WITH = "8.2.8"
POINTS = re.compile(r"\d+\.\d\d")


def words(picture: Path) -> list[str]:
    """What is written in a picture, whatever its order: that of folders with as many documents is any; points of a
    score change with the day."""
    lines = re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text(encoding="utf-8"))
    return sorted(POINTS.sub("0.00", html.unescape(line).replace("\xa0", " ").strip()) for line in lines)


@pytest.mark.skipif(textual.__version__ != DRAWN_WITH, reason=f"drawn with Textual {DRAWN_WITH}")
def test_they_are_drawn_anew_with_the_same_words(tmp_path: Path) -> None:
    """All of them, the moving one frame by frame, by the script that made them."""
    subprocess.run([sys.executable, str(IMAGES / "draw.py"), str(tmp_path)], check=True, timeout=900)
    drawn = {path.name: words(path) for path in tmp_path.glob("*.svg")}
    kept = {path.name: words(path) for path in IMAGES.glob("*.svg")}
    assert len(drawn) == 8
    changed = sorted(name for name in drawn.keys() | kept.keys() if drawn.get(name) != kept.get(name))
    assert not changed, f"{changed} are another screen now; look at {tmp_path}, then: cp {tmp_path}/*.svg {IMAGES}"


def test_every_picture_is_shown() -> None:
    """In the README or a page of the documentation."""
    pages = [IMAGES.parents[1] / "README.md", *IMAGES.parent.glob("*.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [path.name for path in IMAGES.glob("*.svg") if f"images/{path.name}" not in shown] == []
