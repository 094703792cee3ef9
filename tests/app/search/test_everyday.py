"""Short queries over a person's home: the document that is meant stands first."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.search.results import SearchRequest
from app.search.search import Search
from tests.app.search.homes import searching

SAID = "The kitchen window still has to be repaired, and the garden is wet. Theo will come on Friday with the bicycle. "
CODE = "# Sync the {0}: {0} in, {0} out.\n\ndef sync(path):\n    return path\n"


def rtf(text: str) -> str:
    return r"{\rtf1 " + text + "}"


def mail(subject: str) -> str:
    return f"From: anna@home.example\nSubject: {subject}\nDate: Fri, 1 Mar 2024 09:00:00 +0000\n\n{SAID}"


DAYS = {
    f"Notes/diary/day {i}.md": f"# Day\n\nthe scan of the report and the contract of {i}. {SAID * 3}" for i in range(9)
}
HOME = {
    **DAYS,
    "Notes/Chapters plan.md": f"# Planning\n\n{SAID}",
    "Scans/scan0012.md": SAID,
    "Documents/Bills/bill-2024-03 electricity.rtf": rtf(f"Northlight. {SAID}"),
    "Documents/Bills/factuur_2024-03.txt": f"Huur. {SAID}",
    "Documents/Bills/factuur_2024-05.txt": f"Huur. {SAID}",
    "Letters/0412.rtf": rtf(f"The meter reading appointment is on Tuesday. {SAID * 5}"),
    "Travel/Lisbon/hotel booking.md": f"# Confirmation\n\n{SAID}",
    "Notes/lisbon.md": f"# Trip\n\n{'A hotel, lisbon hotel after lisbon hotel. ' * 5}",
    **{f"code/src/{module}_{name}.py": CODE.format(name.replace("_", " ")) * 3
       for module in ("sync", "parse", "check") for name in ("electricity_bill", "meter_reading", "block_cache")},
    "Mail/1.eml": mail("The cache of the garden"),
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    with searching(tmp_path_factory.mktemp("everyday"), HOME) as search:
        yield search


def paths(search: Search, text: str) -> list[str]:
    """The results, by folder and name, or by name and the part."""
    hits = search.search(SearchRequest(text)).hits
    return [f"{Path(hit.path).name}/{hit.part}" if hit.part else "/".join(Path(hit.path).parts[-2:]) for hit in hits]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("electricity bill", "Bills/bill-2024-03 electricity.rtf"),
        ("meter reading appointment", "Letters/0412.rtf"),
        ("maart factuur", "Bills/factuur_2024-03.txt"),
        ("factuur may", "Bills/factuur_2024-05.txt"),
        ("lisbon hotel", "Lisbon/hotel booking.md"),
        ("chapter", "Notes/Chapters plan.md"),
    ],
)
def test_the_document_that_is_meant_stands_first(home: Search, query: str, first: str) -> None:
    """Before source code, before notes that speak of it, by the number of a month and another form in its name."""
    assert paths(home, query)[0] == first


@pytest.mark.parametrize("query", ["block cache", "sync_electricity_bill", "type:source electricity bill"])
def test_source_code_leads_where_no_document_answers_and_where_it_is_meant(home: Search, query: str) -> None:
    """A mail with one of the words is no answer, nor is a bill to an identifier."""
    assert paths(home, query)[0].startswith("src/")


def test_what_is_not_in_a_name_is_not_said_to_be(home: Search) -> None:
    """The letter holds all words in its text alone."""
    page = home.search(SearchRequest("meter reading appointment"))
    assert home.why(page, page.hits[0]) == "all your words, in no source code"
    page = home.search(SearchRequest("electricity bill"))
    assert home.why(page, page.hits[0]) == "called by all your words"


def test_a_name_that_goes_on_with_a_number_is_found_behind_the_word_as_it_was_typed(home: Search) -> None:
    """`scan` is in nine texts; scan0012 and, for 2024, names that begin with the date come after those."""
    found = paths(home, "scan")
    assert len(found) == 10
    assert found[-1] == "Scans/scan0012.md"


def test_a_member_of_an_archive_is_found_by_its_path_before_the_archive(tmp_path: Path) -> None:
    """By its whole path in it, by the words of that, and by a word before its name."""
    with zipfile.ZipFile(tmp_path / "heron.zip", "w") as archive:
        archive.writestr("heron/plan.md", f"# Where it breeds\n\n{SAID}")
        archive.writestr("heron/aunt.txt", SAID)
    files: dict[str, str | bytes] = {"heron.zip": (tmp_path / "heron.zip").read_bytes(), "work/plan.md": SAID[:50]}
    with searching(tmp_path / "all", files) as search:
        for query in ("heron/plan.md", "heron plan.md"):
            assert paths(search, query)[0] == "heron.zip/heron/plan.md"
        assert paths(search, "heron aunt")[:2] == ["heron.zip/heron/aunt.txt", "home/heron.zip"]
        assert paths(search, "heron.zip")[0] == "home/heron.zip"


def dated(base: Path, files: dict[str, int]) -> dict[str, str | bytes]:
    """Files of so many days' age."""
    for name, age in files.items():
        path = base / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name.split('/')[0]}. {SAID}{age} days.", encoding="utf-8")
        os.utime(path, (path.stat().st_mtime - age * 86_400.0,) * 2)
    return {}


def test_the_last_version_stands_first_whatever_was_saved_last(tmp_path: Path) -> None:
    """A draft that was opened again is no newer than the final."""
    ages = {"tax/tax return draft.txt": 1, "tax/tax return v2.txt": 9, "tax/tax return v10.txt": 8,
            "tax/tax return FINAL.txt": 7, "tax/tax return signed.txt": 20}  # fmt: skip
    with searching(tmp_path, dated(tmp_path, ages)) as search:
        found = [path.removeprefix("tax/tax return ") for path in paths(search, "tax return")]
        assert found == ["signed.txt", "FINAL.txt", "v10.txt", "v2.txt", "draft.txt"]
        assert paths(search, "tax return draft")[0] == "tax/tax return draft.txt"
        page = search.search(SearchRequest("tax return"))
        assert page.reasons is not None
        assert page.reasons.notes["alike"][page.reasons.shown[0]] == "newest of 5 alike by their versions"


def test_what_is_asked_for_first_by_age(tmp_path: Path) -> None:
    """By the dates in names, or else of the files; what holds all that was typed in a row comes before it."""
    ages = {
        "a/invoice 2025-03 boat.txt": 900,
        "b/heron invoice.txt": 400,
        "c/invoice 2024-11 shed.txt": 1,
        "latest/notes.txt": 3,
    }
    dated(tmp_path, ages)
    files = {
        "d/money.md": f"# Money\n\nThe latest invoice was too high. {SAID}",
        "d/far.md": f"The latest. {SAID} An invoice.",
    }
    with searching(tmp_path, files) as search:
        found = paths(search, "latest invoice")
        assert found[:4] == [
            "d/money.md",
            "b/heron invoice.txt",
            "a/invoice 2025-03 boat.txt",
            "c/invoice 2024-11 shed.txt",
        ]
        page = search.search(SearchRequest("latest invoice"))
        assert search.why(page, page.hits[1]) == "newest first, as asked"
        assert paths(search, "latest notes")[0] == "latest/notes.txt"
        assert paths(search, "invoice latest")[0] in ("d/money.md", "d/far.md")
