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
    assert home.why(page, page.hits[0]) == "all words in its name"


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


GESAGT = (
    "Das Fenster in der Küche muss noch repariert werden, und der Garten ist nass. Theo kommt am Freitag mit dem Rad. "
)
OFFICE = {
    "Bank/standing order.md": f"To the caretaker, IBAN DE44 2004 1133 0712 0035 00. {SAID}",
    "Bank/telephones.md": f"Office +43 1 512 88 40, bailiff 0664 301 77 25. {SAID}",
    "Bank/parcel.md": f"Number 00340434161094022115 arrives today. {SAID}",
    "Bank/books.md": f"Natura 7, 978-3-12-049320-4, deposit 2.670 euros. {SAID}",
    "Cases/Lorenz/2019_03_19-agreement.md": SAID,
    "Cases/Lorenz/2019_03_20-agreement.md": SAID,
    "Cases/Huber/letter.md": f"# Letter\n\nThe agreement of 19. März 2019 holds. {SAID}",
    "Travel/2023-08 Morocco/bill.md": SAID,
    "Travel/2023-09 Norway/bill.md": SAID,
    "Bank/statement 2024-02.md": SAID,
    "Bank/statement 2024-03.md": SAID,
    "Scans/Mrz_2023_scan.pdf": b"%PDF-1.4\n%%EOF",
    "Scans/custom scan plan.md": f"# Custom scan\n\n{SAID}",
    "Novel/Chapter 07 - The Crossing.md": SAID,
    "Notes/manual.md": f"# Chapter 7\n\nChapter 7, chapter 7 of the manual. {SAID}",
    "Standards/rfc-0793.md": SAID,
    "Standards/rfc-0794.md": f"As in RFC 793, which RFC 793 says. {SAID}",
    "Band/drums_take1.md": SAID,
    "Band/drums_take2.md": SAID,
    "Akten/Räumungsklage.md": f"Der Mieter hat nicht gezahlt, und die Wohnung ist nicht leer. {GESAGT}",
    **{f"Akten/Klage {name}.md": f"Die Klage wegen der Forderung und der Zinsen. {GESAGT}" for name in ("A", "B", "C")},
    "Strom/Rechnung.md": f"Die Rechnung für das Jahr und der Strom. {GESAGT}",
    "Taxes/Steuer 2022.md": SAID,
    "Band/kickoff.md": SAID,
    "guests.md": f"The password is herring42. {SAID}",
    "Band/bicycle.md": f"Frame WTB8823K1907. {SAID}",
    "Akten/Arbeitszeugnis Lena.md": GESAGT,
    "Chor/Gemellaggio Füssen.md": GESAGT,
    "Chor/address.md": f"To vorstand@choir-fuessen.example. {GESAGT * 2}",
    "Chor/Buergermeister.md": f"Die Rede. {GESAGT}",
    "School/move.md": f"To the lycée Guist'hau. {SAID}",
    "School/printer.md": f"Its cable is usb3. {SAID}",
    **{f"Club/accounts {year}.md": f"Audited by 22 members. {SAID}" for year in (2021, 2023)},
    "Club/accounts 2022.md": f"Audited by some members. {SAID}",
    "Letters/answer.md": f"The contract was signed by 23 people. {SAID}",
    "Letters/reply.md": f"The contract was signed in December 2023 by them. {SAID}",
}  # fmt: skip


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    with searching(tmp_path_factory.mktemp("office"), OFFICE) as search:
        yield search


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("DE44200411330712003500", "Bank/standing order.md"),
        ("06643017725", "Bank/telephones.md"),
        ("015128840", "Bank/telephones.md"),
        ("0664 3017725", "Bank/telephones.md"),
        ("0664 30 177 25", "Bank/telephones.md"),
        ("0034 0434 1610 9402 2115", "Bank/parcel.md"),
        ("9783120493204", "Bank/books.md"),
        ("2670", "Bank/books.md"),
    ],
)
def test_a_number_is_found_however_it_is_grouped(office: Search, query: str, first: str) -> None:
    """In groups where it was typed in one, in one where it was typed in groups, without the nought of a trunk call."""
    assert paths(office, query)[0] == first
    assert office.search(SearchRequest(query)).n_all_words == 1


def test_a_short_year_is_found_in_names_of_one_number_and_as_it_was_typed(tmp_path: Path) -> None:
    """`nov 24` finds all its words in scan_20241103, though others spell 2024 out; `march 15` may be a day."""
    names = ("scan_20241103", "scan_20241207", "scan_20231105", "report 2024")
    texts = {f"{name}.md": SAID for name in names} | {
        "roof.md": f"We meet for the roof on march 15 at ten. {SAID}", "fence.md": f"A fence of march 2015. {SAID}",
    }  # fmt: skip
    with searching(tmp_path, texts) as search:
        page = search.search(SearchRequest("scan nov 24"))
        assert (page.hits[0].path.rpartition("/")[2], page.n_all_words) == ("scan_20241103.md", 1)
        assert search.search(SearchRequest("roof march 15")).hits[0].path.endswith("roof.md")


@pytest.mark.parametrize("query", ["june 2024", "2024 june", "juni 24", "2024-06", "6/2024"])
def test_a_month_is_found_in_names_that_write_its_days_as_one_number(tmp_path: Path, query: str) -> None:
    """Photographs of June 2024 have all words of `june 2024`, and stand before texts that hold only the year."""
    names = ("IMG_20240603_101112.jpg", "PXL_20240630_2.jpg", "IMG_20240703_101112.jpg", "IMG_20230603_101112.jpg")
    texts = dict.fromkeys(names, "no picture") | {"plan.md": f"A plan for 2024. {SAID}", "old.md": f"In june. {SAID}"}
    with searching(tmp_path, texts) as search:
        found = search.search(SearchRequest(query))
        assert {hit.path.rpartition("/")[2] for hit in found.hits[: found.n_all_words]} == set(names[:2])


def test_an_amount_is_found_with_its_comma_beside_the_bare_number(tmp_path: Path) -> None:
    """A table that holds the number as it was typed hides no contract; a year stays a year."""
    texts = {
        "table.md": f"rows 48499 48500 48501 of 2024. {SAID}", "contract.md": f"The sum of $48,500.00 is due. {SAID}",
        "offer.md": f"Es gelten 48.500 Euro, Artikel 2.024. {SAID}", "other.md": f"48 pages, 500 words. {SAID}",
    }  # fmt: skip
    with searching(tmp_path, texts) as search:
        found = search.search(SearchRequest("48500"))
        assert {hit.path.rpartition("/")[2] for hit in found.hits} == {"table.md", "contract.md", "offer.md"}
        assert search.search(SearchRequest("2024")).n_all_words == 1


@pytest.mark.parametrize("day", ["2019-03-19", "19.3.2019", "20190319", "19.03.2019", "2019_03_19"])
def test_a_day_is_found_however_it_is_written(office: Search, day: str) -> None:
    """In the name of a file, and in a text as 19. März 2019; not the day after."""
    found = paths(office, f"agreement {day}")
    assert set(found[:2]) == {"Lorenz/2019_03_19-agreement.md", "Huber/letter.md"}
    assert office.search(SearchRequest(f"agreement {day}")).n_all_words == 2


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("statement 02/2024", "Bank/statement 2024-02.md"),
        ("statement 3.2024", "Bank/statement 2024-03.md"),
        ("bill august 2023", "2023-08 Morocco/bill.md"),
        ("bill wrzesień 2023", "2023-09 Norway/bill.md"),
        ("scan märz 2023", "Scans/Mrz_2023_scan.pdf"),
        ("novel chapter 7", "Novel/Chapter 07 - The Crossing.md"),
        ("rfc 793", "Standards/rfc-0793.md"),
        ("drums take 2", "Band/drums_take2.md"),
        ("statement feb 2024", "Bank/statement 2024-02.md"),
        ("2024 feb statement", "Bank/statement 2024-02.md"),
        ("statement 02 2024", "Bank/statement 2024-02.md"),
        ("statement feb 24", "Bank/statement 2024-02.md"),
        ("statement februari '24", "Bank/statement 2024-02.md"),
        ("statement 2/24", "Bank/statement 2024-02.md"),
        ("bill aug 23", "2023-08 Morocco/bill.md"),
        ("contract signed dec 23", "Letters/reply.md"),
        ("accounts 22", "Club/accounts 2022.md"),
    ],
)
def test_months_and_numbers_are_known_in_names_and_folders(office: Search, query: str, first: str) -> None:
    """By the number of a month, by its name shortened, a year without its century, with a nought before, and behind a
    word without a blank."""
    assert paths(office, query)[0] == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("klage räumung", "Akten/Räumungsklage.md"),
        ("stromrechnung", "Strom/Rechnung.md"),
        ("kick off", "Band/kickoff.md"),
        ("wtb 8823 k1907", "Band/bicycle.md"),
        ("8823 k1907 wtb", None),
        ("cable usb 3", "School/printer.md"),
        ("guisthau", "School/move.md"),
        ("zeugnis", "Akten/Arbeitszeugnis Lena.md"),
    ],
)
def test_words_are_put_together_and_taken_apart(office: Search, query: str, first: str | None) -> None:
    """Two words stand in one, in either order, the groups of a code in theirs; a word that stands nowhere is the two
    that it is made of, or part of one in a name."""
    page = office.search(SearchRequest(query))
    assert (page.searched, [Path(hit.path).name for hit in page.hits[:1]]) == ("", [Path(first).name] if first else [])


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("gemellaggio fuessen", "Chor/Gemellaggio Füssen.md"),
        ("bürgermeister", "Chor/Buergermeister.md"),
    ],
)
def test_umlauts_may_be_two_letters(office: Search, query: str, first: str) -> None:
    """In the query or in a file, also where a word with the two letters stands somewhere else: nothing is corrected."""
    page = office.search(SearchRequest(query))
    assert "fussen" in page.words or "buergermeister" in page.words
    assert (Path(page.hits[0].path).name, page.searched, page.n_all_words) == (Path(first).name, "", 1)


def test_a_misspelt_word_is_no_compound_of_two_that_stand_in_no_text_together(tmp_path: Path) -> None:
    """Wahl and stet are words, of two texts; Wahlstedt is meant, and of a trip what only the name of a file says."""
    home = {"a.md": f"Die Wahl. {GESAGT}", "b.md": f"Er kommt stet. {GESAGT}", "c.md": f"Herr Wahlstedt. {GESAGT}",
            "Packliste Texas.md": GESAGT}  # fmt: skip
    with searching(tmp_path, home) as search:
        pages = [search.search(SearchRequest(text)) for text in ("wahlstet", "pakcliste")]
        assert [page.searched for page in pages] == ["wahlstedt", "packliste"]
        assert [[Path(hit.path).name for hit in page.hits] for page in pages] == [["c.md"], ["Packliste Texas.md"]]


def test_a_misspelt_word_is_no_compound_of_stems_in_languages_that_make_none(tmp_path: Path) -> None:
    """ "reci" has the Italian stem of reco, "eveing" the English one of eve, and German joins words."""
    italian = "Il lago e la riva di Como, che non sono nel parco."
    home = {"a.md": GESAGT, "b.md": f"{italian} Mi reco al lago per eve.", "c.md": f"On receiving of parcels. {SAID}"}
    with searching(tmp_path, home) as search:
        assert search.search(SearchRequest("recieveing")).suggestion == "receiving"


def test_another_spelling_is_offered_only_where_a_document_holds_more_of_it(tmp_path: Path) -> None:
    """The text about the boiler holds a meter, and nothing cute; a giraffe stands nowhere."""
    home = {"boiler.md": f"The replacement of the boiler and its meter. {SAID}", "cats.md": f"A cute cat. {SAID}"}
    with searching(tmp_path, home) as search:
        pages = [search.search(SearchRequest(f"{word} boiler giraffe")) for word in ("coute", "metre")]
        assert [page.suggestion for page in pages] == ["", "meter boiler giraffe"]


def test_a_word_that_stands_nowhere_is_the_beginning_of_others(office: Search) -> None:
    """Where nothing else was found; that is said, and not done for a text that is meant as it was typed."""
    page = office.search(SearchRequest("herring"))
    assert ([Path(hit.path).name for hit in page.hits], page.searched) == (["guests.md"], "herring*")
    assert office.search(SearchRequest("herring", as_typed=True)).hits == ()
    assert office.search(SearchRequest("her")).hits == ()


def test_a_file_of_all_words_stands_above_mails_of_some_and_their_senders(tmp_path: Path) -> None:
    """Anna wrote of a lease in two years; the subject that has both words stays in front."""
    notes = {
        f"Mail/{i}.eml": f"From: Anna <a@home.example>\nSubject: Re: lease\n\nOn day {i}.\nAnna\n" for i in range(2)
    }
    home = {**notes, "Mail/9.eml": mail("Lease, Anna"), "Flat/Signed lease by Anna 2022.rtf": rtf(SAID * 30)}
    with searching(tmp_path, home) as search:
        assert set(paths(search, "lease anna")[:2]) == {"Flat/Signed lease by Anna 2022.rtf", "Mail/9.eml"}


def test_of_equal_files_the_one_that_is_no_copy_is_shown(tmp_path: Path) -> None:
    """Whatever was written last; the copy where it is named."""
    ages = {"lease/lease.txt": 9, "lease/lease (1).txt": 2, "lease/backup/lease.txt": 5}
    dated(tmp_path, ages)
    for name, age in ages.items():
        (path := tmp_path / "home" / name).write_text(SAID)
        os.utime(path, (1_700_000_000.0 - age * 86_400.0,) * 2)
    with searching(tmp_path, {}) as search:
        assert paths(search, "lease") == ["lease/lease.txt"]
        assert paths(search, "lease (1).txt") == ["lease/lease (1).txt"]


def test_of_like_files_a_late_copy_of_an_old_one_is_not_the_newest(tmp_path: Path) -> None:
    """A backup gave the copies later dates, the old recipe's the latest; no lot is told of."""
    ages = {"cake/cake.md": 9, "cake/old/cake before.md": 99, "Backup/cake/cake.md": 2, "Backup/cake/cake before.md": 1}
    dated(tmp_path, ages)
    for name, age in ages.items():
        (path := tmp_path / "home" / name).write_text(f"# Cake\n\n{SAID * 3}{'Bake it. ' * ('before' in name)}")
        os.utime(path, (1_700_000_000.0 - age * 86_400.0,) * 2)
    with searching(tmp_path, {}) as search:
        page = search.search(SearchRequest("cake"))
        assert [Path(hit.path).name for hit in page.hits] == ["cake.md", "cake before.md"]
        assert [search.why(page, hit) for hit in page.hits] in (["newest of 4 alike", ""], ["", ""])


@pytest.mark.parametrize("pasted", [r"Taxes\Steuer 2022.md", r'"C:\Taxes\Steuer 2022.md"', "$'Taxes/Steuer 2022.md'"])
def test_a_path_is_taken_from_windows_and_from_bash(office: Search, pasted: str) -> None:
    """With backslashes and a drive, and in the quotes in which bash puts odd names."""
    assert paths(office, pasted)[0] == "Taxes/Steuer 2022.md"
