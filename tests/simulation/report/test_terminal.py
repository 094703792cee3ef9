"""Learning curves in the terminal: width, colours, letters, ASCII."""

from __future__ import annotations

import io

import numpy as np
import pytest

from simulation.report.statistics import Curve, Settings
from simulation.report.terminal import MAX_CURVES, look_for, picture, show_curves


class Screen(io.TextIOWrapper):
    """A terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.seek(0)
        return self.read()


def curve(name: str, *values: float) -> Curve:
    mean = np.array(values)
    rounds = np.arange(len(values), dtype=np.float64)
    return Curve((("method", name),), rounds, rounds * 1000, mean, np.zeros(len(values)))


RISING, FALLING = curve("rising", 0.1, 0.5, 0.9), curve("falling", 0.9, 0.5, 0.1)


def test_ascii_has_nothing_but_ascii() -> None:
    """Without colours the curves are letters, explained below; there are no escape codes and no trailing blanks."""
    text = picture([RISING, FALLING], title="offline nDCG", width=80, look="ascii")
    assert text.isascii()
    assert "\x1b" not in text
    assert text.splitlines()[-2:] == ["  a rising", "  b falling"]
    assert "offline nDCG" in text
    assert "interactions" in text
    assert "2k" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_rising_curve_rises() -> None:
    """The letters of the first line of the plot are further right than those of the last."""
    lines = [line for line in picture([RISING], title="t", width=60, look="ascii").splitlines() if "|" in line[-1:]]
    at = [line.index("a") for line in lines if "a" in line]
    assert at == sorted(at, reverse=True)
    assert at[0] > at[-1]


@pytest.mark.parametrize("width", [40, 79, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Axes, ticks and long names keep within the width."""
    long = Curve((("method", "m" * 200),), *(RISING.rounds, RISING.interactions, RISING.mean, RISING.sd))
    text = picture([long, FALLING], title="t", width=width, look="letters")
    assert max(map(len, text.splitlines())) == width


def test_colours_are_told_in_the_legend() -> None:
    """Braille lines carry the colour codes that stand before their names, and every colour is taken back."""
    text = picture([RISING, FALLING], title="t", width=80, look="colours")
    for number, name in ((32, "rising"), (166, "falling")):
        assert f"\x1b[38;5;{number}m━━\x1b[0m {name}" in text
        assert text.count(f"\x1b[38;5;{number}m") > 2
    assert "\x1b[48" not in text
    assert any("⠀" <= character <= "⣿" for character in text)


def test_what_a_stream_can_show() -> None:
    """A pipe and a terminal without Unicode get ASCII, NO_COLOR gets letters."""
    assert look_for(io.StringIO(), {}) == "ascii"
    assert look_for(Screen("latin-1"), {}) == "ascii"
    assert look_for(Screen(), {}) == "colours"
    assert look_for(Screen(), {"NO_COLOR": "1"}) == "letters"
    assert look_for(Screen(), {"NO_COLOR": "", "TERM": "dumb"}) == "letters"


def test_the_terminal_gives_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the plot is as wide as it; a pipe gets 80 columns wherever it is."""
    monkeypatch.setenv("COLUMNS", "61")
    monkeypatch.setenv("NO_COLOR", "1")
    curves: dict[Settings, Curve] = {RISING.settings: RISING}
    screen, pipe = Screen(), io.StringIO()
    show_curves(curves, screen, title="t")
    show_curves(curves, pipe, title="t")
    assert max(map(len, screen.text().splitlines())) == 61
    assert 70 < max(map(len, pipe.getvalue().splitlines())) <= 80


def test_the_plot_before_leaves_no_trace() -> None:
    """plotext keeps one figure for the whole process; two plots in a row do not mix."""
    alone = picture([RISING], title="t", width=60, look="ascii")
    picture([FALLING], title="another", width=90, look="colours")
    assert picture([RISING], title="t", width=60, look="ascii") == alone


def test_too_many_curves_are_counted() -> None:
    """Fifteen lines cannot be told apart: twelve are drawn and three are said to be missing."""
    text = picture([curve(f"c{n}", 0.1, n / 10) for n in range(MAX_CURVES + 3)], title="t", width=80, look="ascii")
    assert text.splitlines()[-1] == "  and 3 more in the pictures"
    assert "c11" in text
    assert "c12" not in text


def test_a_flat_curve_and_a_single_point() -> None:
    """A curve that never changes is drawn; one of a single point is not."""
    assert "a" in picture([curve("flat", 0.5, 0.5)], title="t", width=60, look="ascii").split("interactions")[0]
    pipe = io.StringIO()
    show_curves({RISING.settings: curve("rising", 0.5)}, pipe, title="t")
    assert pipe.getvalue() == ""


def test_the_papers_curves_are_drawn_where_there_is_room() -> None:
    """Beside six of ours the paper's six fit, beside seven none does."""
    for n_ours, beside in ((6, True), (7, False)):
        ours = {c.settings: c for c in (curve(f"c{n}", 0.1, n / 10) for n in range(n_ours))}
        pipe = io.StringIO()
        show_curves(ours, pipe, title="t", papers=list(ours.items()))
        assert ("c5, paper" in pipe.getvalue()) == beside
