"""What holds an identifier as it is written stands before what only holds its pieces, whatever else speaks for that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.search.results import SearchRequest
from app.search.search import Search
from tests.app.search.homes import searching

FILES = {
    "get or create.md": "# Get or create\n\nHow to get or create a row: get or create, get or create.",
    "manual.txt": "filler " * 400 + "\nand at last get_or_create is called once\n" + "filler " * 400,
    "code.py": "row = get_or_create(key)\n",
    "other.txt": "nothing of that here",
}


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Search]:
    with searching(tmp_path, FILES) as opened:
        yield opened


def names(search: Search, text: str) -> list[str]:
    return [os.path.basename(hit.path) for hit in search.search(SearchRequest(text)).hits]


def test_as_written_comes_before_the_pieces_in_title_and_name(search: Search) -> None:
    """The pieces are all that a title and a file name say; the identifier stands once in a long text."""
    page = search.search(SearchRequest("get_or_create"))
    assert [os.path.basename(hit.path) for hit in page.hits] == ["code.py", "manual.txt", "get or create.md"]
    assert search.why(page, page.hits[2]) in ("", "not written as you typed it")
    assert names(search, "get or create")[0] == "get or create.md"


def test_what_was_opened_for_it_comes_first_all_the_same(search: Search) -> None:
    for _ in range(3):
        page = search.search(SearchRequest("get_or_create"))
        search.opened(page, next(hit for hit in page.hits if hit.path.endswith(".md")))
        search.leave(page)
    assert names(search, "get_or_create")[0] == "get or create.md"
