"""The numbers of the statistics screen."""

from __future__ import annotations

import pytest

from app.tui.stats_text import RankRow, columns_of, mean_reciprocal_rank, plot, share_at_first, stats_text, verdict


def test_mean_reciprocal_rank_by_hand() -> None:
    """Places 1, 2 and 4."""
    assert mean_reciprocal_rank([1, 2, 4]) == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert mean_reciprocal_rank([]) == 0


def test_share_at_first_by_hand() -> None:
    """Two of four at place 1."""
    assert share_at_first([1, 1, 2, 9]) == 2 / 4


def test_columns_are_stretches_of_time() -> None:
    """Four ranks in two columns are two means of two."""
    assert columns_of([1, 1, 2, 4], 2) == [1.0, (1 / 2 + 1 / 4) / 2]


def test_the_plot_is_as_high_as_its_value() -> None:
    """A value of 1 fills all lines, a half fills half of them."""
    assert plot([1.0, 0.5, 0.0], 2) == ["█  ", "██ "]


def test_the_verdict_is_honest() -> None:
    """Few openings say nothing; worse is called worse."""
    assert verdict(0.9, 0.5, 3).startswith("Too early")
    assert verdict(0.6, 0.5, 100) == "It helps: over 100 opened results the learned order did 20% better than BM25."
    assert verdict(0.4, 0.5, 100).startswith("It does not help yet")
    assert verdict(0.5, 0.5, 100).startswith("It makes no difference")


def test_the_text_shows_both_orders() -> None:
    """Learned beside BM25, and something to read when nothing was opened."""
    text = stats_text([RankRow(0.0, 1, 2)] * 30, 60).plain
    assert "1.00      0.50" in text
    assert "100%        0%" in text
    assert "Nothing was opened yet" in stats_text([], 60).plain
