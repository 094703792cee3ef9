"""Progress of a run: bars that go away, lines where there is no terminal."""

from __future__ import annotations

import io
import re

import pytest

from simulation.progress_bars import RunProgress, duration

TITLES = {"a": "perfect fold=1", "b": "perfect fold=2", "c": "poison fold=1", "d": "poison fold=2"}


class Screen(io.StringIO):
    """A terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Clock:
    """A time that stands still unless it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_pipe_gets_one_line_for_each_finished_cell() -> None:
    """The rounds in between are silent; the time left is what the rest takes at the speed so far, two side by side."""
    out, clock = io.StringIO(), Clock()
    with RunProgress(TITLES, out, clock=clock) as progress:
        progress.begin("a")
        progress.begin("b")
        progress("a", 1, 10)
        progress("b", 5, 10)
        clock.now = 30.0
        progress("a", 10, 10)
        progress("a", 10, 10)
        progress.end("b", "failed")
    # 1.5 of 4 cells were 60 s of work, so the other 2.5 are 100 s, by two at a time 50 s; then 2 cells of 30 s each
    assert out.getvalue().splitlines() == [
        "foltr-search: 1 of 4 cells: perfect fold=1 done, about 50 s left",
        "foltr-search: 2 of 4 cells: perfect fold=2 failed, about 30 s left",
    ]


def test_compiling_is_said_and_does_not_count_in_the_time_left() -> None:
    """A first cell that took 27 s, 24 of them once, leaves 3 s for each of the others, which go by twos."""
    out, clock = io.StringIO(), Clock()
    progress = RunProgress(TITLES, out, jobs=2, clock=clock)
    progress.begin("a")
    clock.now = 24.0
    progress.compiled("a", 4.0)
    progress("a", 0, 10)
    progress.compiled("a", 20.0)
    assert progress.seconds_left() is None
    clock.now = 27.0
    progress.end("a", "done in 27 s")
    progress.compiled("b", 0.2)
    assert out.getvalue().splitlines() == [
        "foltr-search: compiled in 24 s, once: perfect fold=1",
        "foltr-search: 1 of 4 cells: perfect fold=1 done in 27 s, about 4 s left",
    ]


def test_the_last_cell_has_no_other_beside_it() -> None:
    """One cell that is left takes as long as one cell does, however many could run."""
    clock = Clock()
    progress = RunProgress({"a": "x", "b": "y"}, io.StringIO(), jobs=8, clock=clock)
    progress.begin("a")
    clock.now = 10.0
    progress.end("a", "done")
    assert progress.seconds_left() == 10.0


def test_cells_of_an_earlier_start_are_counted_but_not_timed() -> None:
    """After --resume the count goes on where it was; the estimate is about what runs now."""
    out, clock = io.StringIO(), Clock()
    progress = RunProgress({"a": "x", "b": "y"}, out, finished=8, clock=clock)
    progress.begin("a")
    clock.now = 60.0
    progress("a", 3, 3)
    assert out.getvalue() == "foltr-search: 9 of 10 cells: x done, about 1 min left\n"


def test_a_cell_without_rounds_is_done_at_once() -> None:
    """A baseline trained on labels has no rounds to count."""
    out = io.StringIO()
    RunProgress({"a": "x"}, out)("a", 0, 0)
    assert out.getvalue() == "foltr-search: 1 of 1 cell: x done\n"


def test_bars_are_taken_away_and_the_cursor_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interruption the screen has only the lines that should stay, and what is printed next begins a line."""
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()

    def interrupted() -> None:
        with RunProgress(TITLES, screen) as progress:
            progress.begin("a")
            progress.begin("b")
            progress("a", 1, 2)
            progress("b", 2, 2)
            progress.say("failed: [bold]x[/bold]")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    text = screen.getvalue()
    assert "\x1b[?25l" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert re.search(r"\x1b\[2K$", text)
    assert "foltr-search: failed: [bold]x[/bold]" in text


def test_running_cells_have_bars_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for the whole and one for each, which has no length before the first round; a finished cell gives it back."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    screen = Screen()
    with RunProgress(TITLES, screen) as progress:
        progress.begin("a")
        progress.begin("b")
        assert progress._bars is not None
        assert [task.description for task in progress._bars.tasks][1:] == [
            "getting ready: perfect fold=1",
            "getting ready: perfect fold=2",
        ]
        progress("a", 0, 4)
        assert [task.total for task in progress._bars.tasks][1:] == [None, None]
        progress("a", 1, 4)
        progress("b", 1, 2)
        assert [task.description for task in progress._bars.tasks] == ["0 of 4 cells", *list(TITLES.values())[:2]]
        assert progress._bars.tasks[0].completed == pytest.approx(0.25 + 0.5)
        progress("a", 4, 4)
        assert [task.description for task in progress._bars.tasks] == ["1 of 4 cells", "perfect fold=2"]
        assert progress._bars.tasks[0].completed == pytest.approx(1 + 0.5)


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cursor cannot be moved, bars would be a mess."""
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen()
    with RunProgress({"a": "x"}, screen) as progress:
        progress.begin("a")
        progress("a", 1, 1)
    assert screen.getvalue() == "foltr-search: 1 of 1 cell: x done\n"


def test_durations_as_people_say_them() -> None:
    """Seconds below a minute, minutes below an hour."""
    assert [duration(s) for s in (0.4, 59, 90, 3599, 11100)] == ["0 s", "59 s", "2 min", "1 h 0 min", "3 h 5 min"]
