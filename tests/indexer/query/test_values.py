"""Dates are local calendar periods, sizes are powers of 1,024, names of types and languages are forgiving."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from indexer.documents import TYPES
from indexer.extract.kinds import KIND_OF_EXTENSION
from indexer.query.values import (
    LANGUAGES,
    PROGRAMMING,
    TYPE_ALIASES,
    NotUnderstoodError,
    date_range,
    document_type,
    extension,
    folder,
    language,
    size_range,
)
from indexer.text.language import NAMES

NOW = datetime(2024, 3, 31, 14, 30, 5)
"""a Sunday, and the last day of a month"""


def at(*fields: int) -> int:
    return int(datetime(*fields).timestamp())  # type: ignore[arg-type]


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Several time zones: the calendar is the local one."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2024", (2024, 1, 1), (2025, 1, 1)),
        ("2024-12", (2024, 12, 1), (2025, 1, 1)),
        ("2024-02", (2024, 2, 1), (2024, 3, 1)),
        ("2024-02-29", (2024, 2, 29), (2024, 3, 1)),
        ("2024/2/9", (2024, 2, 9), (2024, 2, 10)),
        ("9.2.2024", (2024, 2, 9), (2024, 2, 10)),
        ("2024-02-09T10:30", (2024, 2, 9, 10, 30), (2024, 2, 9, 10, 31)),
        ("2024-02-09 10:30:05", (2024, 2, 9, 10, 30, 5), (2024, 2, 9, 10, 30, 6)),
        ("today", (2024, 3, 31), (2024, 4, 1)),
        ("Yesterday", (2024, 3, 30), (2024, 3, 31)),
        ("this-week", (2024, 3, 25), (2024, 4, 1)),
        ("last-week", (2024, 3, 18), (2024, 3, 25)),
        ("last week", (2024, 3, 18), (2024, 3, 25)),
        ("lastweek", (2024, 3, 18), (2024, 3, 25)),
        ("this-month", (2024, 3, 1), (2024, 4, 1)),
        ("last-month", (2024, 2, 1), (2024, 3, 1)),
        ("this-year", (2024, 1, 1), (2025, 1, 1)),
        ("last-year", (2023, 1, 1), (2024, 1, 1)),
        ("=2024-02", (2024, 2, 1), (2024, 3, 1)),
        ("0d", (2024, 3, 31), None),
        ("7d", (2024, 3, 24), None),
        ("2w", (2024, 3, 17), None),
        ("1m", (2024, 2, 29), None),
        ("13m", (2023, 2, 28), None),
        ("1y", (2023, 3, 31), None),
        (">2024-01", (2024, 2, 1), None),
        (">=2024-01", (2024, 1, 1), None),
        ("<2024-01", None, (2024, 1, 1)),
        ("<=2024-01", None, (2024, 2, 1)),
        ("> yesterday", (2024, 3, 31), None),
        ("<7d", None, (2024, 3, 24)),
        (">7d", (2024, 3, 24), None),
        ("2024-01..2024-03", (2024, 1, 1), (2024, 4, 1)),
        ("2024-03..2024-01", (2024, 1, 1), (2024, 4, 1)),
        ("2024-03..2024", (2024, 3, 1), (2025, 1, 1)),
        ("2024-01..", (2024, 1, 1), None),
        ("..2024-01", None, (2024, 2, 1)),
        ("2024-01..*", (2024, 1, 1), None),
        ("7d..3d", (2024, 3, 24), (2024, 3, 28)),
    ],
)
@pytest.mark.usefixtures("zone")
def test_dates(text: str, start: tuple[int, ...] | None, end: tuple[int, ...] | None) -> None:
    """A date means the half-open range of local time written beside it."""
    _, found = date_range(text, NOW)
    assert found == (None if start is None else at(*start), None if end is None else at(*end))


@pytest.mark.usefixtures("zone")
def test_hours_are_counted_back_from_now() -> None:
    """Hours are the one unit that does not begin with a day."""
    assert date_range("24h", NOW) == ("", (int(NOW.timestamp()) - 24 * 3600, None))


def test_moments() -> None:
    """Seconds since the epoch, as the canonical text has them, are taken as they are."""
    assert date_range("@5..@-3", NOW) == ("..", (-3, 5))
    assert date_range(">@5", NOW) == (">", (5, None))


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
@pytest.mark.usefixtures("zone")
def test_a_day_when_the_clocks_change_is_shorter() -> None:
    """31 March 2024 had 23 hours in Berlin."""
    _, (start, end) = date_range("2024-03-31", NOW)
    assert start is not None
    assert end is not None
    assert end - start == 23 * 3600


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2024-13", "2024-02-30", "1899", "3000", "12", "20240", "2024-1-1-1", "99999y", "2024-01-01T25:00",
     "..", "...", ">", "a..b", "2024..b", "0.0.2024", "@", "7", "-7d", "٣d"],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    """Anything else is refused with examples of what would do."""
    with pytest.raises(NotUnderstoodError, match=r"no date|a range needs"):
        date_range(text, NOW)


@pytest.mark.parametrize(
    ("text", "smallest", "largest"),
    [
        ("500", 500, 500),
        ("0", 0, 0),
        ("5b", 5, 5),
        ("10kb", 10 * 1024, 11 * 1024 - 1),
        ("10K", 10 * 1024, 11 * 1024 - 1),
        ("10KiB", 10 * 1024, 11 * 1024 - 1),
        ("1.5mb", 3 * 2**19, 3 * 2**19 + 2**20 // 10 - 1),
        (">1mb", 2**20 + 1, None),
        (">=1mb", 2**20, None),
        ("<1gb", None, 2**30 - 1),
        ("<=1tb", None, 2**40),
        ("=1kb", 1024, 1024),
        ("10kb..2mb", 10 * 1024, 2 * 2**20),
        ("2mb..10kb", 10 * 1024, 2 * 2**20),
        ("10kb..", 10 * 1024, None),
        ("..10kb", None, 10 * 1024),
        (">99999999999999999999tb", 2**62 + 1, None),
    ],
)
def test_sizes(text: str, smallest: int | None, largest: int | None) -> None:
    """A size means the bytes written beside it, both ends included."""
    assert size_range(text)[1] == (smallest, largest)


@pytest.mark.parametrize("text", ["", "big", "1.mb", "1,5mb", "-1", "<0", ">", "..", "1mbb", "1e9", "٣"])
def test_what_is_no_size(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(NotUnderstoodError):
        size_range(text)


def test_types() -> None:
    """Every type is known by its own name, every alias names a type, others are refused with the nearest."""
    assert [document_type(name.upper()) for name in TYPES] == list(TYPES)
    assert {document_type(alias) for alias in TYPE_ALIASES} <= set(TYPES)
    assert all(alias not in TYPES or alias == name for alias, name in TYPE_ALIASES.items())
    with pytest.raises(NotUnderstoodError, match="did you mean spreadsheet"):
        document_type("spreadshet")


def test_extensions_folders_and_languages() -> None:
    """Endings lose their dot and case, folders their closing slash, languages their region."""
    assert [extension(text) for text in ("pdf", ".PDF", "*.tar.gz")] == ["pdf", "pdf", "tar.gz"]
    assert [folder(text) for text in ("a/", " a b ", "/", "~/x//")] == ["a", "a b", "/", "~/x"]
    assert [language(text) for text in ("en", "DE-at", "pt_BR", "French")] == ["en", "de", "pt", "fr"]
    assert all(len(code) == 2 for code in LANGUAGES.values())
    with pytest.raises(NotUnderstoodError, match="did you mean german"):
        language("germn")


def test_a_programming_language_is_told_to_be_an_ending() -> None:
    """Behind lang: and type:, by its name or its ending; none is the code of a language that texts are known by."""
    assert not PROGRAMMING.keys() & ({*NAMES, *LANGUAGES.values()} | LANGUAGES.keys())
    assert {KIND_OF_EXTENSION[ending] for ending in PROGRAMMING.values()} == {"source"}
    for asked, read in (("Rust", language), ("rs", language), ("c++", language), ("rust", document_type)):
        with pytest.raises(NotUnderstoodError, match=f"ext:{PROGRAMMING[asked.lower()]} finds such files"):
            read(asked)
