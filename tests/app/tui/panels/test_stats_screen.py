"""The statistics screen, and its text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.learning.outcomes import Outcome
from app.tui.panels.stats_screen import StatsScreen, columns_of, plot, stats_text


def _outcomes(*ranks: tuple[int, int]) -> list[Outcome]:
    return [Outcome(float(n), learned, bm25, "screen") for n, (learned, bm25) in enumerate(ranks)]


def test_columns_are_stretches_of_time() -> None:
    """Four openings in two columns are two means of two, for each order."""
    assert columns_of(_outcomes((1, 2), (1, 2), (2, 4), (4, 0)), 2) == [(1.0, 1 / 2), ((1 / 2 + 1 / 4) / 2, 1 / 4 / 2)]


def test_the_plot_is_as_high_as_its_value() -> None:
    """A value of 1 fills all lines, a half fills half of them."""
    assert plot([1.0, 0.5, 0.0], 2) == ["█  ", "██ "]


def test_the_text_shows_both_orders() -> None:
    """Learned beside plain, the shared pages where there were some, and a word when nothing was opened."""
    text = stats_text(_outcomes(*[(1, 2)] * 30), 60).plain
    assert "100%        0%" in text
    assert "flatters the order that you see" in text
    won = [Outcome(0.0, 1, 2, "screen", "learned")] * 3
    assert "Of 3 pages that both orders shared, the learned order won 3" in stats_text(won, 60).plain
    assert "Nothing was opened yet" in stats_text([], 60).plain


async def test_statistics_answer_whether_it_helps(stage: Callable[..., Any]) -> None:
    """F6 shows the verdict, the numbers and a plot."""
    rows = [Outcome(float(n), 1, 2, "screen") for n in range(40)]
    one = stage(read_stats=lambda: rows)
    async with one.app.run_test(size=(110, 70)) as pilot:
        await pilot.press("f6")
        await one.until(pilot, lambda: "It helps: what you opened stood 1 place higher" in one.text and "█" in one.text)
        await pilot.press("escape")
        await one.until(pilot, lambda: not isinstance(one.app.screen, StatsScreen))


async def test_what_was_opened_counts_at_once(stage: Callable[..., Any], conftest_types: Any, tmp_path: Path) -> None:
    """F6 right after opening, while the page is still there."""
    (tmp_path / "a.txt").write_text("wind")
    documents = [conftest_types.Document(str(tmp_path / "a.txt"), "Wind", "text", "wind\n")]
    one = stage(engine=conftest_types.FakeSearch(documents))
    async with one.searched("wind", size=(120, 40)) as pilot:
        await pilot.press("enter")
        await one.until(pilot, lambda: bool(one.engine.opened_paths), "the click")
        await pilot.press("f6")
        await one.until(pilot, lambda: "opened results that stood first" in one.text)


async def test_the_plot_fits_a_narrow_terminal(stage: Callable[..., Any]) -> None:
    """Also one that was made narrow while it was open: a plot that wraps shows nothing."""
    one = stage(read_stats=lambda: [Outcome(float(n), 1, 2, "screen") for n in range(200)])
    async with one.app.run_test(size=(110, 60)) as pilot:
        await pilot.press("f6")
        await one.until(pilot, lambda: f"  {'█' * 66} " in one.text)
        await pilot.resize_terminal(60, 60)
        await one.until(pilot, lambda: f"  {'█' * 42} " in one.text)
        assert one.text.count("█" * 42) == 4 + 2
