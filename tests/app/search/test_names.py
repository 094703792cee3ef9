"""Files without text are found by their names, and stand behind the texts that people mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.search.results import SearchRequest
from app.search.search import Search
from tests.app.search.homes import searching

TEXTS = {
    "projects/boat/README.md": "# Boat\n\nThis readme tells how to build it.\n" + "wood nails paint " * 40,
    "Documents/report.md": "# Quarterly report\n\nSales rose.\n" + "figures and tables " * 60,
    "Documents/Annual report 2025.txt": "Annual report\n\n" + "The year in numbers. The report ends here. " * 30,
    "Documents/letter.txt": "Dear Ann, please find the report attached. " + "kind regards " * 20,
}
NAMES = (
    "Music/Nina Simone/Pastel Blues/10 Sinnerman.wma", "Pictures/Screenshot from 2026-08-15.gif",
    "Pictures/IMG_20260815_101112.gif", "Pictures/IMG_2026_0001.gif", "Pictures/IMG_20250101_101112.gif",
    *(f"icons/{name}{i}.{ending}" for name in ("report", "readme") for ending in ("ico", "ttf", "exe")
      for i in ("", *(f"-{n}" for n in range(20)))),
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    """A search over a home of four texts and 131 files without."""
    with searching(
        tmp_path_factory.mktemp("names"), {**TEXTS, **{name: TEXTS.get(name, "") for name in NAMES}}
    ) as search:
        yield search


def names(search: Search, text: str) -> list[str]:
    return [Path(hit.path).name for hit in search.search(SearchRequest(text=text)).hits]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("IMG_2026", {"IMG_20260815_101112.gif", "IMG_2026_0001.gif"}),
        ("Nina Simone", {"10 Sinnerman.wma"}),
        ("Screenshot", {"Screenshot from 2026-08-15.gif"}),
        ("type:picture screenshot", {"Screenshot from 2026-08-15.gif"}),
        ("type:music pastel", {"10 Sinnerman.wma"}),
    ],
)
def test_names_and_folders_find_files_without_text(home: Search, query: str, found: set[str]) -> None:
    """By the words of the name, of a folder, by the beginning of a date, and by type."""
    assert set(names(home, query)) == found


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("report", ["report.md", "Annual report 2025.txt"]),
        ("readme", ["README.md"]),
        ("annual report", ["Annual report 2025.txt", "report.md"]),
        ("quarterly report", ["report.md", "Annual report 2025.txt"]),
    ],
)
def test_texts_stand_before_names_alone(home: Search, query: str, first: list[str]) -> None:
    """Sixty icons called like the query push no text that is about it away."""
    assert names(home, query)[: len(first)] == first


def test_a_text_that_mentions_the_word_is_on_the_first_page(home: Search) -> None:
    """Files that are alike stand together, the newest of them first, so that they do not fill the page."""
    assert "letter.txt" in names(home, "report")[:12]


def test_facets_and_previews_know_files_without_text(home: Search) -> None:
    """The types are counted; there is nothing to preview, and nothing breaks."""
    page = home.search(SearchRequest(text="type:image screenshot"))
    assert [(facet.value, facet.n_documents) for facet in page.facets.types] == [("image", 1)]
    preview = home.preview(page, page.hits[0])
    assert (preview.text, preview.spans) == ("", ())
    assert home.snippet(page, page.hits[0]).text == ""
