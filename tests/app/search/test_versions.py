"""Near-equal files on a real disk: the newest first, then the one that is named, or picked; twins in one row."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.following.indexing import update_index
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, LearningSettings, Paths, Settings
from tests.app.search.homes import searching

DAY = 86_400.0
SETTINGS = Settings(index=IndexSettings(workers=1), learning=LearningSettings(exploration=0.0))
LETTER = "Dear customer, please find below what you used and what it costs; thank you for your payment in time."
GUIDE = "How to prune an apple tree in winter without harm to its buds, with a sharp saw and a steady ladder there. "
OTHERS = {
    "letters/garden.txt": "A letter about the garden and the pond; the electricity of spring is in the air.",
    "letters/sea.txt": "A letter about the sea, its invoice of salt and wind and what the gulls make of it all.",
    "letters/hill.txt": "A letter about the hill where larks rise before dawn and nobody asks for anything.",
}


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Search]:
    """Ten bills of two firms, seven years apart; a guide as web page and as text; some letters."""
    now, files = time.time(), dict[str, tuple[str, float]]()
    for i, year in enumerate(range(2019, 2024)):
        for firm in ("electricity", "water"):
            total = f"{firm} {37 * (i + 3)} units, {19 * (i + 2)} to pay. " * (3 - i % 3)
            files[f"bills/{firm}-{year}.txt"] = (f"Invoice for {firm} {year}\n{total}{LETTER}", 365 * (2024 - year))
    files["guide.txt"] = (GUIDE * 3, 10)
    files["guide.html"] = (f"<html><body><p>{GUIDE * 3}</p></body></html>", 400)
    files |= {name: (text, 50.0 + i) for i, (name, text) in enumerate(OTHERS.items())}
    for name, (text, age) in files.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (now - age * DAY, now - age * DAY))
    paths = Paths(tmp_path / "config", tmp_path / "data")
    update_index(SETTINGS, paths, roots=[str(tmp_path / "files")])
    opened = Search(SETTINGS, paths)
    yield opened
    opened.close()


def ask(search: Search, text: str) -> ResultPage:
    return search.search(SearchRequest(text))


def names(page: ResultPage) -> list[str]:
    return [os.path.basename(hit.path) for hit in page.hits]


NEWEST_FIRST = [f"electricity-{year}.txt" for year in range(2023, 2018, -1)]


def test_the_newest_of_like_files_comes_first(search: Search) -> None:
    """All of the firm's bills, newest first, before the other firm's; the first says of how many; scores descend."""
    page = ask(search, "invoice electricity")
    assert names(page)[:5] == NEWEST_FIRST
    assert [search.why(page, hit) for hit in page.hits[:1]] == ["newest of 5 alike by their names"]
    scores = [hit.score for hit in page.hits]
    assert scores == sorted(set(scores), reverse=True)


def test_without_its_date_it_falls(search: Search, tmp_path: Path) -> None:
    """The newest bill, named like the oldest: another one is the newest of them, and says so."""
    bills = tmp_path / "files" / "bills"
    (bills / "electricity-2023.txt").rename(bills / "electricity-2018.txt")
    update_index(SETTINGS, Paths(tmp_path / "config", tmp_path / "data"), roots=[str(tmp_path / "files")])
    assert search.refresh()
    page = ask(search, "invoice electricity")
    assert names(page)[:5] == [*NEWEST_FIRST[1:], "electricity-2018.txt"]
    assert "newest" not in search.why(page, page.hits[4])


def test_a_year_in_the_query_comes_before_a_newer_file(search: Search) -> None:
    for year in range(2019, 2024):
        assert names(ask(search, f"invoice electricity {year}"))[0] == f"electricity-{year}.txt"


def test_what_was_opened_for_the_query_comes_before_a_newer_file(search: Search) -> None:
    """It is no longer one of many; the rest stay newest first."""
    for _ in range(2):
        page = ask(search, "invoice electricity")
        search.opened(page, page.hits[names(page).index("electricity-2020.txt")])
        search.leave(page)
    page = ask(search, "invoice electricity")
    assert names(page)[0] == "electricity-2020.txt"
    assert names(page)[1:5] == [name for name in NEWEST_FIRST if "2020" not in name]
    assert names(ask(search, "invoice water"))[:2] == ["water-2023.txt", "water-2022.txt"]


def test_openings_for_other_queries_leave_like_files_newest_first(search: Search) -> None:
    """Old files opened twenty times for other words."""
    for text in ("letter garden", "letter sea", "letter hill", "guide apple") * 5:
        page = ask(search, text)
        search.opened(page, page.hits[-1])
        search.leave(page)
    assert names(ask(search, "invoice electricity"))[:5] == NEWEST_FIRST


def test_one_text_in_two_formats_is_one_row(search: Search) -> None:
    """It names the other file, whichever of them stands for both."""
    page = ask(search, "prune apple tree")
    hit = page.hits[0]
    assert sorted(os.path.basename(path) for path in hit.paths) == ["guide.html", "guide.txt"]
    assert (len(hit.twins), hit.copies) == (1, ())
    assert [other for other in page.hits if "guide" in other.path] == [hit]


def mail(day: str, number: int) -> str:
    """One mail of a subject, which answers no other."""
    return (
        f"From: Ann <ann@example.org>\nTo: bob@example.org\nMessage-ID: <{number}@example.org>\n"
        f"Subject: {'Re: ' * (number % 2)}Contract renewal\nDate: {day} 10:00:00 +0000\n\n"
        f"{'The contract is renewed. ' * (number % 4)}Regards, Ann, {'x' * number}\n"
    )


def test_mails_of_one_subject_are_newest_first_wherever_they_lie(tmp_path: Path) -> None:
    """In files of their own and in an mbox, answers or not: by the dates of the mails, not those of their files."""
    days = [f"{1 + i:02} {('Jan', 'Apr', 'Sep')[i % 3]} {2021 + i // 3}" for i in range(12)]
    files = tmp_path / "files"
    (files / "eml").mkdir(parents=True)
    for number in range(0, 12, 2):
        (files / "eml" / f"{'abcdefghijkl'[number]} saved.eml").write_text(mail(days[number], number))
    box = "".join(f"From ann@example.org Thu Jan  1 00:00:00 2026\n{mail(days[i], i)}\n" for i in range(1, 12, 2))
    (files / "Archive.mbox").write_text(box)
    paths = Paths(tmp_path / "config", tmp_path / "data")
    update_index(SETTINGS, paths, roots=[str(files)])
    search = Search(SETTINGS, paths)
    page = search.search(SearchRequest("contract renewal"))
    dates = [hit.modified for hit in page.hits]
    search.close()
    assert len(dates) == 12
    assert dates == sorted(dates, reverse=True)


def test_a_date_in_the_future_is_not_believed(tmp_path: Path) -> None:
    """A camera's or a container's wrong clock makes no letter the newest of its like, nor one of today's."""
    ages = {"one": 40.0, "two": 3.0, "three": -1600.0}
    with searching(tmp_path, {f"{place}/letter.txt": f"{LETTER} {place}" for place in ages}) as search:
        for place, age in ages.items():
            os.utime(tmp_path / "home" / place / "letter.txt", (time.time() - age * DAY,) * 2)
        update_index(Settings(index=IndexSettings(roots=[str(tmp_path / "home")], workers=1)), search._paths)
        search.refresh()
        page = ask(search, "letter payment")
        assert [Path(hit.path).parent.name for hit in page.hits] == ["two", "one", "three"]
        assert [(one.value, one.n_documents) for one in page.facets.times] == [("week", 1), ("month", 1), ("year", 2)]
        within_a_year = search.search(SearchRequest("letter", time="year"))
        assert {Path(hit.path).parent.name for hit in within_a_year.hits} == {"one", "two"}
