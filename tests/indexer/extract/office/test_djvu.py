"""DjVu files made by the programs that come with djvutxt."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from indexer.confined.programs import installed
from indexer.errors import ExtractionError

pytestmark = pytest.mark.skipif(
    not all(map(installed, ("djvutxt", "cjb2", "djvused", "djvm"))), reason="djvulibre is not installed"
)


def djvu(folder: Path, *pages: str) -> bytes:
    """A file with an empty picture for each page, and a text below it."""
    names = []
    for number, text in enumerate(pages):
        picture, page = folder / f"{number}.pbm", folder / f"{number}.djvu"
        picture.write_text("P1\n8 8\n" + "0 " * 64)
        subprocess.run(["cjb2", picture, page], check=True)
        (folder / "text").write_text(f'(page 0 0 8 8 "{text}")', encoding="utf-8")
        subprocess.run(["djvused", page, "-e", "select 1; set-txt text", "-s"], check=True, cwd=folder)
        names.append(page)
    subprocess.run(["djvm", "-c", folder / "book.djvu", *names], check=True)
    return (folder / "book.djvu").read_bytes()


def test_the_text_of_each_page(single, tmp_path: Path) -> None:
    """By pages, from bytes inside another file as from a file of its own."""
    document = single("a.djvu", djvu(tmp_path, "the grey heron", "and the okapi"))
    assert (document.type, document.text) == ("ebook", "the grey heron\nand the okapi\n")
    assert document.pages == (0, len("the grey heron\n"))


def test_damage_is_named(extract, tmp_path: Path) -> None:
    with pytest.raises(ExtractionError, match="djvutxt failed"):
        extract("a.djvu", djvu(tmp_path, "the grey heron")[:20])
