"""Files without text are found by their names, and stand behind the texts that people mean."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

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


SPEAKING = {
    f"diary/day {i}.md": f"# Day {i}\n\n" + f"the heron came, a heron left on day {i}. " * 9 for i in range(130)
}
CALLED = "travel/Heron Jordan 2025.txt"
LONG = "travel/what we saw by the river and a heron too.txt"


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[Search]:
    """130 days that speak of herons, and two files that do so in their names alone, one of these a long one."""
    with searching(tmp_path, {**SPEAKING, CALLED: "a plan of the journey", LONG: "clouds, mostly"}) as search:
        yield search


def test_a_file_that_is_called_so_stands_before_what_only_speaks_of_it(diary: Search) -> None:
    """Though a hundred others are better by their words; not one of whose name the word is one of ten."""
    found = diary.search(SearchRequest(text="heron"))
    assert Path(found.hits[0].path).name == "Heron Jordan 2025.txt"
    assert Path(LONG).name not in {Path(hit.path).name for hit in found.hits[:10]}
    assert found.reasons is not None
    assert found.reasons.words(0, "text") == "all words in its name"


def test_a_name_that_holds_another_form_of_the_word_stands_behind_it_as_typed(tmp_path: Path) -> None:
    """`report` is not what `Reports plan.md` is called, though both forms are in texts."""
    text = "the people said that the {0} of the year was good, and the {0} is here on day {1}. "
    days = {f"diary/{word[6:]} day {i}.md": text.format(word, i) * 9 for word in ("report", "reports") for i in "123"}
    books = "These are the words that were said about the books of the year and of the people in them. " * 9
    with searching(tmp_path, {**days, "Reports plan.md": books}) as search:
        found = names(search, "report")
        assert "Reports plan.md" in found
        assert set(found[:3]) == {" day 1.md", " day 2.md", " day 3.md"}


def test_of_copies_the_one_outside_of_an_archive_has_the_row(tmp_path: Path) -> None:
    """Wherever the archive's member stands by its path; alone, or named alone, the member has it."""
    text = "the plan of the journey to the heron " * 5
    with zipfile.ZipFile(tmp_path / "heron.zip", "w") as archive:
        archive.writestr("heron/plan.md", text)
        archive.writestr("heron/other.md", "a heron alone " * 9)
    files = {"work/plan.md": text, "heron.zip": (tmp_path / "heron.zip").read_bytes()}
    with searching(tmp_path / "home", files) as search:
        rows = {Path(hit.path).name + hit.part for hit in search.search(SearchRequest(text="heron plan")).hits}
        assert rows == {"plan.md", "heron.zipheron/other.md", "heron.zip"}
        named = search.search(SearchRequest(text="heron.zip/heron/plan.md")).hits[0]
        assert named.part == "heron/plan.md"


def test_archives_are_copies_where_they_hold_the_same_and_not_where_they_name_the_same(tmp_path: Path) -> None:
    """Three list `plan.md`; two are equal, the third holds another plan."""
    archives = {}
    for name, text in (("one", "the heron waits"), ("two", "the heron waits"), ("other", "the kettle boils")):
        with zipfile.ZipFile(path := tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr(zipfile.ZipInfo("plan.md"), text)
        archives[path.name] = path.read_bytes()
    with searching(tmp_path / "home", archives) as search:
        rows = [hit for hit in search.search(SearchRequest(text="plan type:archive")).hits if not hit.part]
        assert sorted(sorted(Path(path).name for path in hit.paths) for hit in rows) == [
            ["one.zip", "two.zip"],
            ["other.zip"],
        ]


@pytest.mark.parametrize("made", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_folder_is_its_path_however_its_accents_are_written(tmp_path: Path, made: str, typed: str) -> None:
    """As a Mac or as others name it, and as a keyboard writes it."""
    with searching(tmp_path, {normalize(made, "Übersicht/한글/a.txt"): "quokka", "b.txt": "the quokka"}) as search:
        folder = tmp_path / "home" / normalize(typed, "Übersicht")
        assert names(search, f'dir:"{folder}" quokka') == ["a.txt"]
