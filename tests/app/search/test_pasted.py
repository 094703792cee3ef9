"""What people paste into a search, and the ways in which texts may write it: each way finds the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.search.results import SearchRequest
from app.search.search import Search
from tests.app.search.homes import searching

SHA = "3f2a9c1be04d5578aa90cc31be4f00de77a1b2c3"
SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
UUID = "550e8400-e29b-41d4-a716-446655440000"
COMPOUND = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"
CASES: dict[str, tuple[str, str, str]] = {
    "sha": (f"We reverted {SHA} on Monday.", f"{SHA}|{SHA[:7]}|{SHA[:12]}|{SHA.upper()}", "3f2a9d77 is another"),
    "short": ("Fixed in 1a2b3c4d5e6f.", "1a2b3c4d5e6f7890abcdef1234567890abcdef12|1a2b3c4", "Fixed in 1a2b3d4d5e6f."),
    "sum": (f"{SHA256}  empty.bin", f"{SHA256}|{SHA256[:16]}|sha256:{SHA256}", "empty.bin"),
    "uuid": (UUID, f"{UUID}|{UUID.upper()}|{UUID.replace('-', '')}|{{{UUID}}}", UUID[:-1] + "1"),
    "compound": (f"Das {COMPOUND} gilt.", f"{COMPOUND}|{COMPOUND[:25]}", f"Das {COMPOUND[:-6]} gilt nicht."),
    "joined unit": ("Pour 500ml milk.", "500ml|500 ml", "500 cookies, and ml models"),
    "unit": ("A 23 km walk.", "23km|23 km", "23 walkers, and km signs"),
    "disk": ("It has 5GB free.", "5 GB|5gb", "5 disks, and GB is a unit"),
    "radio": ("tuned to 101.7MHz", "101.7 MHz|101.7", "101 stations, 7 are in MHz"),
    "weight": ("weighs 2,5 kg", "2,5kg|2.5 kg|2,5 kg", "2 boxes, 5 kg"),
    "share": ("Der Satz ist 19 %.", "19%|19 %", "19 Sätze, 19 Zeilen, 19"),
    "price": ("It costs €20 today.", "€20|20€|20 €", "20 today, 20 costs, 20"),
    "amount": ("Summe -1.234,56 offen", "1.234,56|1234,56|1234.56", "1.234 und 56"),
    "time": ("We meet at 14:30.", "14:30|14.30|14h30|2:30pm|2:30 pm|2.30 PM", "14 people, 30 chairs, 2 pm"),
    "evening": ("The doctor comes at 3:45pm.", "3:45pm|3:45 pm|3.45 pm|15:45", "3 doctors, 45 patients, 15"),
    "log": ("2024-03-06T14:31:11Z started", "2024-03-06T14:31:11Z|2024-03-06 14:31:11|6 March 2024|2024-03-06",
            "2024-03-07T14:31:11Z started"),
    "day": ("Signed on 6. April 2021.", "06.04.2021|6.4.2021|2021-04-06|April 6, 2021|6th of April 2021",
            "7 April 2021, 6"),
    "century": ("Rechnung vom 06.04.22", "06.04.2022|06.04.22|6 April 2022", "6 Rechnungen, 4 Kunden, 22"),
    "hour": ("The shop opens at 10am.", "10am|10 am|10:00 am|10:00", "10 shops, am I right"),
    "address": ("segfault at 0x80070006", "0x80070006|80070006", "segfault at 80070007"),
    "speed": ("limit 120 km/h", "120km/h|120 km/h", "limit 120"),
    "year": ("budget FY24", "FY 24|FY24", "budget 24"),
    "digits": ("Signed on 06.05.2021.", "6 May 2021|May 6, 2021|6 de mayo de 2021|2021/05/06", "May 7, 2021, 6"),
    "ship": ("Shipped 11/28/2019", "11/28/2019|28 November 2019|28.11.2019", "28 boats, November 2018 and 2019"),
    "node": ("We use nodejs here.", "nodejs|node js", "a node in the tree"),
    "mail": ("Your e-mail quota is full", "email quota|e-mail quota", "a quota"),
    "site": ("see redtrain.example/rooms", "https://www.redtrain.example/rooms|http://redtrain.example/rooms/",
             "red rooms"),
    "phone": ("call 0171 2345678", "+49 171 2345678|+491712345678|0049 171 2345678|(0171) 234-5678|0171/2345678",
              "0171 2345679"),
    "abroad": ("call +49 172 9876543", "0172 9876543|(0172) 987-6543|01729876543|+49 (0)172 9876543", "0172 9876544"),
    "parcel": ("parcel 1Z999AA10123456784", "1Z 999 AA1 01 2345 6784", "parcel 1Z 999"),
    "paper": ("arXiv:2305.12345v2", "2305.12345|arXiv:2305.12345", "2305 and 12345"),
    "card": ("device aabbccddee01", "aa:bb:cc:dd:ee:01", "device aabbccddee02"),
    "books": ("کتاب‌های فارسی", '"کتابهای فارسی"|"کتاب های فارسی"', "کتاب ها و فارسی"),
    "party": ("Party tonight 🎉 at ours", "🎉|party 🎉", "Party tonight at yours"),
}  # fmt: skip
"""name -> a text, what may be typed for it, and a text that only resembles it"""


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    files = {f"{name}.txt": text for name, (text, _, _) in CASES.items()}
    others = {f"other {i}.txt": other for i, (_, _, other) in enumerate(CASES.values())}
    more = {f"more {i}.txt": f"An ordinary text with the number {i}." for i in range(60)}
    with searching(tmp_path_factory.mktemp("pasted"), {**files, **others, **more}) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "typed"), [(name, typed) for name, case in CASES.items() for typed in case[1].split("|")]
)
def test_it_is_found_first_however_it_is_written(search: Search, name: str, typed: str) -> None:
    """Before a text that holds only its parts, and before one that holds its neighbour."""
    assert Path(search.search(SearchRequest(typed)).hits[0].path).stem == name


@pytest.mark.parametrize(
    ("typed", "marked"),
    [(SHA[:9], SHA), (SHA256, SHA256), (COMPOUND.upper(), COMPOUND), ("🎉", "🎉"), ("3:45 pm", "15:45"),
     ("6 April 2021", "06.04.2021")],
)  # fmt: skip
def test_the_passage_shows_where_it_stands(tmp_path: Path, typed: str, marked: str) -> None:
    """In the midst of a long text, marked from its beginning to its end."""
    more, held = "More words are said here.\n" * 100, f"{marked} is it"
    with searching(tmp_path, {"a.txt": f"{more}{held}\n{more}"}) as search:
        page = search.search(SearchRequest(typed))
        passage = search.snippet(page, page.hits[0])
    assert marked in [passage.text[start:end] for start, end in passage.spans]
    assert passage.line == 101


def test_what_is_typed_exactly_comes_before_its_other_spellings(tmp_path: Path) -> None:
    """Each of these is in a file of its own, and each finds the others behind it."""
    for i, ways in enumerate([
        ["14:30", "2:30pm"], ["6 April 2021", "April 6, 2021", "2021-04-06"], ["email", "e-mail"],
        ["0171 2345678", "+49 171 2345678", "01712345678"], ["€20", "20 €"], ["wifi", "wi-fi"], ["1,500", "1500"],
    ]):  # fmt: skip
        files = {f"{n}.txt": f"we write {way} here" for n, way in enumerate(ways)}
        with searching(tmp_path / str(i), files) as search:
            for n, way in enumerate(ways):
                found = [Path(hit.path).stem for hit in search.search(SearchRequest(way)).hits]
                assert (found[0], len(found)) == (str(n), len(ways)), way
