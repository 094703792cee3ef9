"""Tables in terminals, files and pipes."""

from __future__ import annotations

import io

import pytest

from simulation.report.report import make_report
from simulation.report.result_tables import markdown, show_report
from simulation.report.terminal import Grid, plain, show
from tests.simulation.report.small_report import ROWS, expected


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_files_and_pipes_get_plain_columns() -> None:
    """No escape codes, no trailing blanks, every number on its line; notes come last."""
    out = io.StringIO()
    show_report(make_report(ROWS, expected=[expected(0.67, sd=0.01)], notes=["a note"]), out)
    text = out.getvalue()
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    assert "+0.0000" in text
    assert "of 1 numbers 1 " in text
    assert text.endswith("a note\n")


def test_a_narrow_terminal_shows_fewer_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first grid that fits is drawn, the last one where none does."""
    monkeypatch.setenv("COLUMNS", "40")
    choices = [Grid("t", ["a" * 30, "b" * 30], [["1", "2"]]), Grid("t", ["a" * 30], [["1"]])]
    screen = Screen()
    show(choices, screen)
    assert "a" * 30 in screen.getvalue()
    assert "b" not in screen.getvalue()
    show(choices[:1], screen)
    assert "b" in screen.getvalue()


def test_names_are_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that no line has room for goes on in the next one: none is cut, whose end may be all that tells it."""
    monkeypatch.setenv("COLUMNS", "30")
    screen = Screen()
    name = "nearest-neighbour-mixing-of-all"
    show([Grid("t", ["rule", "nDCG@10"], [[name, "0.5000 ± 0.0100"]])], screen)
    shown = "".join(line[:14].strip() for line in screen.getvalue().splitlines())
    assert "…" not in screen.getvalue()
    assert name in shown.replace("─", "")


def test_a_stream_without_unicode_gets_ascii() -> None:
    """A pipe with LANG=C does not end in an error."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    show([Grid("t", ["a"], [["1 ± 2"]])], stream)
    stream.flush()
    assert b"1 +- 2" in raw.getvalue()


def test_words_stand_left_and_numbers_right() -> None:
    """Plain columns are as wide as their widest cell, with two blanks between."""
    assert plain(Grid("t", ["name", "x"], [["a", "10"], ["bbbbb", "9"]])) == "t\nname    x\na      10\nbbbbb   9\n"
    assert markdown(Grid("t", ["a|b", "x"], [["c*", "1"]])).splitlines()[2:] == [
        "| a\\|b | x |",
        "| :-- | --: |",
        "| c\\* | 1 |",
    ]
