"""The report: one line for each combination of settings, the paper's numbers beside ours, marks of significance."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest

from simulation.report.report import (
    caption,
    key_titles,
    make_report,
    metric_title,
    result_grid,
    setting_text,
    short_number,
    show_report,
    write_summary,
)
from tests.simulation.report.small_report import PERFECT, POISON, ROWS, expected


def test_each_combination_has_a_line_in_the_order_of_the_rows() -> None:
    """Means are those of all runs, and only metrics with data are columns."""
    report = make_report(ROWS, k=10)
    grid = result_grid(report, report.metrics)
    assert list(grid.header) == ["clicks", "learning rate", "runs", "offline nDCG@10"]
    assert [list(row[:3]) for row in grid.rows] == [
        [PERFECT, "0.1", "6"],
        [PERFECT, "0.01", "6"],
        [POISON, "0.1", "6"],
        [POISON, "0.01", "6"],
    ]
    # seeds have means .65, .67, .66 over the two folds: standard error .01 / sqrt(3)
    assert grid.rows[0][3] == f"0.6600 ± {0.01 / math.sqrt(3):.4f} "


def test_marks_are_given_under_the_same_conditions_only() -> None:
    """The worse learning rate of perfect users is marked; poisoned users are not measured against perfect ones."""
    marked = {line.settings: line.below for line in make_report(ROWS).lines if line.below}
    assert list(marked) == [(("users.clicks", PERFECT), ("method.learning_rate", 0.01))]
    comparisons = make_report(ROWS).comparisons["offline_ndcg"]
    assert [c.first[0] == c.second[0] for c in comparisons] == [True, True]


def test_the_summary_is_kept_for_people_and_programs(tmp_path: Path) -> None:
    """summary.json has both spreads, the areas and every test; summary.md has the tables."""
    write_summary(tmp_path, make_report(ROWS, expected=[expected(0.66, sd=0.01)], k=10))
    data = json.loads((tmp_path / "summary.json").read_text())
    metric = data["settings"][0]["metrics"]["offline_ndcg"]
    assert metric["over_runs"]["n"] == 6
    assert metric["over_seeds"]["se"] == pytest.approx(0.01 / math.sqrt(3))
    assert metric["area"]["mean"] == pytest.approx(0.66)
    assert len(data["comparisons"]) == 2
    assert data["expected"][0]["agrees"] is True
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("## Results after the last round\n")
    assert "## Beside the paper" in text


def test_no_rows_make_an_empty_report(tmp_path: Path) -> None:
    """An interrupted run without a finished cell still ends in order."""
    report = make_report([], notes=["nothing has finished"])
    out = io.StringIO()
    show_report(report, out)
    write_summary(tmp_path, report)
    assert out.getvalue() == "nothing has finished\n"


def test_short_names_stay_distinct() -> None:
    """A key is called by its last part unless two keys share it; `name` says nothing by itself."""
    settings = [(("method.name", "fpdgd"), ("users.k", 1), ("data.k", 2), ("method.learning_rate", 0.1))]
    titles = key_titles(settings)
    assert list(titles.values()) == ["method", "users.k", "data.k", "learning rate"]
    assert caption(settings[0], titles, skip=["data.k"]) == "fpdgd, users.k 1, learning rate 0.1"
    assert caption((), titles) == "all"


def test_values_and_metrics_for_people() -> None:
    """The cutoff is that of the held-out rankings; pages have their own length. Thousands and millions are short."""
    assert [setting_text(v) for v in (True, False, 1e-05, 3, "x", None)] == ["yes", "no", "1e-05", "3", "x", "-"]
    assert [metric_title(m, k=10) for m in ("offline_ndcg", "offline_map")] == ["offline nDCG@10", "offline MAP"]
    assert metric_title("online_ndcg", k=10) == "online nDCG"
    assert [short_number(v) for v in (0, 999, 12500, 2e6)] == ["0", "999", "12.5k", "2M"]
