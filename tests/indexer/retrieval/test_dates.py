"""Days in names and texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.retrieval import dates
from indexer.retrieval.dates import HEAD, date_spellings, day_of_name, day_of_text, moment_spellings
from indexer.text.analysis import fold


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2024-03-15 notes", date(2024, 3, 15)),
        ("IMG_20240315_101112", date(2024, 3, 15)),
        ("bill 15.03.2024", date(2024, 3, 15)),
        ("bill 15.03.24", date(2024, 3, 15)),
        ("12-24-2023", date(2023, 12, 24)),  # no month 24
        ("bill_15mar24", date(2024, 3, 15)),
        ("Protokoll 15. März 2024", date(2024, 3, 15)),
        ("March 15, 2024", date(2024, 3, 15)),
        ("2024 mars 15", date(2024, 3, 15)),
        ("notulen 15 mrt 2024", date(2024, 3, 15)),
        ("minutes March 2024", date(2024, 3, 1)),
        ("2024-03 bill", date(2024, 3, 1)),
        ("bill 03-2024", date(2024, 3, 1)),
        ("report Q3 2024", date(2024, 9, 1)),
        ("electricity-2013", date(2013, 1, 1)),
        ("v2.10.3", None),
        ("rfc2026", None),
        ("draft 3", None),
        ("may be 20", None),
    ],
)
def test_a_name_tells_a_day(name: str, day: date | None) -> None:
    """As people and programs write it; a version, a number or a word that is none tells nothing."""
    found = day_of_name(name)
    assert (found and date.fromordinal(int(found))) == day


def test_the_time_of_day_counts() -> None:
    """Two pictures of one day."""
    early, late = day_of_name("20240315_101112"), day_of_name("20240315_101113")
    assert early is not None
    assert late is not None
    assert early < late


def test_a_text_tells_its_first_whole_date() -> None:
    """At its beginning; a year or a month in a sentence is no date of the text."""
    assert day_of_text("Since 2019 in May\nDate: 3 March 2024\n1.1.2025") == date(2024, 3, 3).toordinal()
    assert day_of_text("x" * HEAD + " 3 March 2024") is None


@given(st.text(max_size=60))
def test_any_name_is_taken(name: str) -> None:
    """No name is too odd, and no day lies outside the centuries that are looked for."""
    found = day_of_name(name)
    assert found is None or date(1900, 1, 1).toordinal() <= found < date(2100, 1, 1).toordinal()


@given(
    st.lists(st.sampled_from(["19", "20", "24", "3", "march", "Mär", "mai", "q3", "x", " ", "-", ".", "_"]), max_size=8)
)
def test_a_name_is_passed_over_only_where_no_pattern_finds_a_day(parts: list[str]) -> None:
    """The quick look says no less than all patterns one after the other."""
    name = "".join(parts)
    assert day_of_name(name) == next(_days(fold(name), (*dates._WHOLE, *dates._PARTS)), None)


def _days(text: str, ways: Iterable[tuple[str, dates.Made]]) -> Iterator[float]:
    for pattern, made in ways:
        for match in re.finditer(pattern, text):
            with suppress(ValueError):
                yield made(*match.groups())


def test_a_day_and_a_month_are_spelled_in_many_ways() -> None:
    """The fifth of March in seven orders of digits, four without century, and with its name; 5/3 is not 3/5; a version
    is no date, nor is the 13th month."""
    digits = {way for way in date_spellings("5.3.2019") if "".join(way).isdecimal() and way[-1] != "19"}
    assert digits == {("2019", "03", "05"), ("2019", "3", "5"), ("20190305",), ("05", "03", "2019"),
                      ("05", "3", "2019"), ("5", "03", "2019"), ("5", "3", "2019")}  # fmt: skip
    assert {("5", "marz", "2019"), ("march", "5", "2019"), ("05", "brezna", "2019")} <= set(date_spellings("20190305"))
    assert date_spellings("March 5th, 2019".lower()) == date_spellings("5. märz 2019".replace("ä", "a"))
    assert {("05", "03", "19"), ("5th", "of", "march", "2019"), ("2019", "03", "05t08")} <= set(
        date_spellings("5.3.2019")
    )
    assert ("3", "13", "2019") in date_spellings("13.3.2019")
    assert date_spellings("3/13/2019") == date_spellings("13.03.19") == date_spellings("13 march 2019")
    assert {("2019", "03"), ("03", "2019"), ("mrz", "2019"), ("201903",), ("20190331",)} <= set(
        date_spellings("3/2019")
    )
    assert {("march", "2019"), ("2019", "03"), ("03", "2019"), ("201903",)} <= set(date_spellings("3/19"))
    assert [date_spellings(typed) for typed in ("3.20.2019", "3.19", "13/19", "2019-13", "3.20.2", "2019")] == [()] * 6


def test_a_time_of_day_is_spelled_in_many_ways() -> None:
    """By twenty-four hours and by twice twelve; half past two at night is another; 24:30 and 14:60 are none."""
    assert {("14", "30"), ("14h30",), ("2", "30pm"), ("02", "30", "pm")} <= set(moment_spellings("14:30"))
    assert set(moment_spellings("2:30 pm")) == set(moment_spellings("14.30"))
    assert {("10am",), ("10", "am"), ("10", "00")} <= set(moment_spellings("10 am"))
    assert {("00", "15"), ("12", "15am")} <= set(moment_spellings("12:15am"))
    assert {("12", "15"), ("12", "15pm")} <= set(moment_spellings("12:15pm"))
    assert ("14", "30") not in moment_spellings("2:30am")
    assert [*moment_spellings("24:30"), *moment_spellings("14:60"), *moment_spellings("14")] == []
