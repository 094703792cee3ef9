"""How paths, dates and sizes read, and how foreign text is made safe."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.printable import safe_line, safe_text
from console.wording import (
    columns,
    count,
    day,
    fit,
    fit_left,
    fit_path,
    lineage_label,
    lineage_labelled,
    round_label,
    rows_in_words,
    short_path,
    size,
    wrap,
)


@given(st.text(st.characters(codec=None)))
def test_safe_text_keeps_its_length_and_holds_nothing_to_obey(text: str) -> None:
    """Whatever a file holds, no escape sequence and no change of direction reaches the terminal."""
    safe = safe_text(text)
    assert len(safe) == len(text)
    assert not set(safe) & {"\x1b", "\x07", "\x9b", "\r", "\u202e", "\u2066", "\x00", "\x7f"}
    assert safe.encode("utf-8").decode("utf-8") == safe
    assert "\n" not in safe_line(text)
    assert "\t" not in safe_line(text)


@given(st.text(st.characters(codec="utf-8"), max_size=60), st.integers(0, 40))
def test_fitted_text_fits(text: str, width: int) -> None:
    """However wide its characters, a cut text takes no more cells than there are."""
    assert cell_len(fit(safe_line(text), width)) <= width


def test_dates_say_as_much_as_is_needed() -> None:
    """Today the hour, this year the day, before that the year as well."""
    now = time.mktime((2025, 6, 15, 18, 0, 0, 0, 0, -1))
    assert day(time.mktime((2025, 6, 15, 9, 5, 0, 0, 0, -1)), now) == "9:05"
    assert day(time.mktime((2025, 3, 1, 9, 5, 0, 0, 0, -1)), now) == "1 Mar"
    assert day(time.mktime((2023, 12, 31, 9, 5, 0, 0, 0, -1)), now) == "31 Dec 2023"
    assert day(0.0, now) == ""
    assert day(1e20, now) == ""
    assert day(float("nan"), now) == ""


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(1, "1 byte"), (999, "999 bytes"), (4_200, "4 KB"), (1_500_000, "1.5 MB"), (12_000_000, "12 MB")],
)
def test_sizes_use_decimal_units(n_bytes: int, text: str) -> None:
    """1 MB is 10^6 bytes."""
    assert size(n_bytes) == text


def test_counts_have_separators_and_plurals() -> None:
    """4,210 files, 1 file."""
    assert (count(4210, "file"), count(1, "file"), count(12228)) == ("4,210 files", "1 file", "12,228")


def test_home_is_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in the home folder are short; a neighbour whose name begins alike is not."""
    monkeypatch.setenv("HOME", "/home/anna")
    assert short_path("/home/anna/x") == "~/x"
    assert short_path("/home/annabel/x") == "/home/annabel/x"
    assert short_path("/home/anna/\udcff\n") == "~/\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"


def test_long_paths_lose_their_middle() -> None:
    """The file's name stays readable longest."""
    assert fit_path("~/a/b/c/name.txt", 40) == "~/a/b/c/name.txt"
    assert fit_path("~/aaaaaa/bbbbbb/name.txt", 19) == "~/…/bbbbbb/name.txt"
    assert fit_path("~/aaaaaa/bbbbbb/name.txt", 10) == "…/name.txt"
    assert fit_path("~/aaaaaa/bbbbbb/name.txt", 6) == "…/nam…"


@pytest.mark.parametrize("sign", ["👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "👍🏽", "❤\ufe0f", "e\u0301", "न्"])
def test_what_is_drawn_as_one_is_kept_or_cut_whole(sign: str) -> None:
    """A joined emoji, a flag, a tone of skin and a letter's mark, at the end, at the beginning and in wrapped lines."""
    text = sign * 6
    for width in range(2, columns(text)):
        cut, left = fit(text, width).removesuffix("…"), fit_left(text, width).removeprefix("…")
        assert cut == left == sign * ((width - 1) // columns(sign))
        assert {text[start:end] for start, end in wrap(text, columns(sign))} == {sign}


texts = st.text(st.sampled_from("ab é漢字\u0301 /"), max_size=60)


@pytest.mark.parametrize(("text", "width"), [("", 0), ("abc", 3), ("漢字", 2 + 2), ("e\u0301", 1), ("ab漢", 1 + 1 + 2)])
def test_columns_of_wide_and_combining_characters(text: str, width: int) -> None:
    """A wide character takes two columns, a combining one none."""
    assert columns(text) == width


def test_cutting_says_that_it_cut() -> None:
    """What fits stays, what does not ends (or begins) with an ellipsis."""
    assert (fit("heron", 5), fit("heron", 4), fit("漢字漢", 4)) == ("heron", "her…", "漢…")
    assert (fit_left("/a/heron", 8), fit_left("/a/heron", 6)) == ("/a/heron", "…heron")


@given(texts, st.integers(0, 40))
def test_nothing_is_wider_than_it_may_be(text: str, width: int) -> None:
    """No cut text takes more columns than it was given."""
    assert columns(fit(text, width)) <= width
    assert columns(fit_left(text, width)) <= width


@given(texts, st.integers(2, 40))
@example("\u0301 a字", 2)
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    """Each line fits, lines come in order, and between two lines lie only blanks."""
    lines = wrap(text, width)
    assert all(columns(text[start:end]) <= width for start, end in lines)
    edges = [0, *(edge for line in lines for edge in line), len(text)]
    assert edges == sorted(edges)
    assert all(not text[a:b].strip(" ") for a, b in zip(edges[::2], edges[1::2], strict=True))


def test_a_line_is_wrapped_at_its_last_column() -> None:
    """Not before it."""
    assert wrap("aa bbb c", 3) == [(0, 2), (3, 6), (7, 8)]


def test_lineages_that_a_restore_began_are_called_by_their_time() -> None:
    """Numbers stay numbers, a time reads as one in UTC; each label names its lineage again, anything else none."""
    assert [round_label(3, 2), round_label(1795406035, 1)] == ["3.2", "2026-11-23T03:53:55Z.1"]
    assert [lineage_labelled(lineage_label(number)) for number in (1, 12, 1795406035)] == [1, 12, 1795406035]
    assert [lineage_labelled(odd) for odd in ("", "x", "2026-11-23", "2026-99-23T04:33:55Z")] == [None] * 4


def test_rows_read_as_what_they_are() -> None:
    """One and many, a table without a plural, and none."""
    assert rows_in_words({"updates": 2, "members": 1, "answers": 0, "roster": 1}) == "2 updates, 1 member, 1 roster row"
    assert rows_in_words({"updates": 0}) == "nothing"
    assert rows_in_words({"depots": 2}) == "2 depot keys"  # of one depot, after a computer was removed
