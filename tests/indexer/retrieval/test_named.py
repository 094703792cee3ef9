"""What a query names, on a real disk and asked through the product."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from indexer.retrieval.named import (
    NAME,
    NAME_WORDS,
    STEM,
    TITLE,
    TITLE_WORDS,
    VERY_NAME,
    name_level,
    names_meant,
    title_level,
)
from tests.app.search.homes import searching

SOURCE = '"""Settings of the program."""\n\nNAME = 1\n'
MENTIONS = (
    "Learning to rank.md, ranking by clicks, app/settings.py, web/settings.py, online/pdgd.py, name see cover x,"
    " A and B not C, tax return 2024\n"
)
TAXES = "# Taxes of the household\n\nIncome and expenses, in two columns, as every year.\n"
FILES = {
    "notes/Learning to rank.md": "# Ranking by clicks\n\nA short note.\n",
    "src/app/settings.py": SOURCE,
    "src/web/settings.py": SOURCE + "# web\n",
    "src/online/pdgd.py": "def step():\n    return 1\n",
    "odd/name-(see-cover)-x.txt": "Nothing of that.\n",
    "odd/it's \"quoted\" [2].txt": "Nothing of that.\n",
    "odd/A AND B - NOT C.txt": "Nothing of that.\n",
    "odd/100% süß.txt": "Nothing of that.\n",
    "taxes/tax-return-2024.md": TAXES,
    **{f"copies/tax-return-2024 (copy {n}).md": TAXES for n in range(9)},
    **{f"reviews/review {n}.org": f"* Review {n}\n\n" + 3 * MENTIONS for n in range(12)},
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Search]]:
    """Files that others name over and over."""
    base = tmp_path_factory.mktemp("named")
    with searching(base, FILES) as search:
        yield base / "home", search


def ask(search: Search, text: str) -> ResultPage:
    return search.search(SearchRequest(text))


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith(("copies", "reviews"))])
def test_a_name_that_is_typed_or_pasted_stands_first(home: tuple[Path, Search], name: str) -> None:
    """By name, by the end of the path, by the path as a shell or a file manager writes it; without a complaint."""
    folder, search = home
    path = str(folder / name)
    typed = [name, path, shlex.quote(path), f'"{path}"', "file://" + quote(path), f"{path}:12", f"./{name}"]
    if "settings" not in name:
        typed.append(Path(name).name)
    if not set(name) & set("'\""):
        typed.append("".join("\\" + sign if sign in " ()[]%" else sign for sign in path))
    for text in typed:
        page = ask(search, text)
        assert (text, page.hits[0].path if page.hits else "", page.problems) == (text, path, ())


def test_a_home_folder_is_written_short(home: tuple[Path, Search], monkeypatch: pytest.MonkeyPatch) -> None:
    """~ stands for it."""
    folder, search = home
    monkeypatch.setenv("HOME", str(folder))
    assert ask(search, "~/src/online/pdgd.py").hits[0].path == str(folder / "src/online/pdgd.py")


def test_a_title_that_is_typed_stands_first(home: tuple[Path, Search]) -> None:
    """Before the texts that say it again and again."""
    folder, search = home
    assert ask(search, "Ranking by clicks").hits[0].path == str(folder / "notes/Learning to rank.md")


def test_of_copies_the_one_that_is_named_is_shown(home: tuple[Path, Search]) -> None:
    """In the row that stands for all of them, with its ending and without."""
    folder, search = home
    for text in ("tax-return-2024.md", "tax return 2024", "tax-return-2024 (copy 3).md"):
        name = "copies/" + text if "copy" in text else "taxes/tax-return-2024.md"
        assert ask(search, text).hits[0].path == str(folder / name)
    assert len(ask(search, "tax return 2024").hits[0].copies) == 9


def test_what_a_facet_leaves_out_is_not_named(home: tuple[Path, Search]) -> None:
    """A folder that an agent may not see, or that is not chosen, has no names either."""
    folder, search = home
    request = SearchRequest("src/online/pdgd.py", within=(str(folder / "odd"),))
    assert search.search(request).hits == ()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("'a b.txt'", "a b.txt"),
        ("a\\ b\\(1\\).txt", "a b(1).txt"),
        ("file:///x/a%20b.txt", "/x/a b.txt"),
        ("file://host/x/%C3%A4", "/x/ä"),
        ("a.py:12:3", "a.py"),
        ("“a b”", "a b"),
        ("it's", "it's"),
    ],
)
def test_what_a_pasted_name_means(text: str, meant: str) -> None:
    """Beside the text itself, which may be a name as it stands."""
    assert names_meant(text)[0] == text
    assert meant in names_meant(text)


@pytest.mark.parametrize(
    ("path", "typed", "level"),
    [
        ("/h/a/Notes.md", "a/Notes.md", VERY_NAME),
        ("/h/a/Notes.md", "A/notes.MD", NAME),
        ("/h/a/my-notes.md", "my notes.md", NAME_WORDS),
        ("/h/a/Notes.md", "notes", STEM),
        ("/h/a/Notes.md", "b/Notes.md", 0),
        ("/h/a/Notes.md", "x/h/a/Notes.md", 0),
        ("/h/a/…", "…", VERY_NAME),
        ("/h/a/…", "—", 0),
    ],
)
def test_how_surely_a_path_is_meant(path: str, typed: str, level: int) -> None:
    """Sign by sign, in another case, by its words, without its ending; never where a folder differs."""
    assert name_level(path, "", typed.split("/")) == level


def test_how_surely_a_title_is_meant() -> None:
    """Blanks aside; "C" is no "C++" where both are there."""
    assert [title_level(title, "C++  primer") for title in ("C++ primer", "c primer", "primer")] == [
        TITLE,
        TITLE_WORDS,
        0,
    ]
