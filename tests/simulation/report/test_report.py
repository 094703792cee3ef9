"""The report: one line for each combination of settings, the paper's numbers beside ours, marks of significance."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from simulation.report.report import make_report
from simulation.report.result_tables import paper_grid, result_grid, show_report, write_summary
from tests.simulation.report.small_report import PERFECT, POISON, ROWS, expected, rows_of


def test_each_combination_has_a_line_in_the_order_of_the_rows() -> None:
    """Means are those of all runs, and only metrics with data are columns."""
    report = make_report(ROWS, k=10)
    grid = result_grid(report, report.metrics)
    assert list(grid.header) == ["clicks", "learning rate", "runs", "offline nDCG@10"]
    assert [list(row[:3]) for row in grid.rows] == [
        [PERFECT, "0.1", "10"],
        [PERFECT, "0.01", "10"],
        [POISON, "0.1", "10"],
        [POISON, "0.01", "10"],
    ]
    # seeds have means .65, .67, .66, .69, .68 over the two folds: standard error sqrt(.001 / 4) / sqrt(5)
    assert grid.rows[0][3] == f"0.6700 ± {math.sqrt(0.001 / 4 / 5):.4f} "


def test_marks_are_given_under_the_same_conditions_only() -> None:
    """The worse learning rate of perfect users is marked; poisoned users are not measured against perfect ones."""
    marked = {line.settings: line.below for line in make_report(ROWS).lines if line.below}
    assert list(marked) == [(("users.clicks", PERFECT), ("method.learning_rate", 0.01))]
    comparisons = make_report(ROWS).comparisons["offline_ndcg"]
    assert [c.first[0] == c.second[0] for c in comparisons] == [True, True]


def test_defences_are_compared_under_the_same_attack_alone() -> None:
    """Two rules against one and three attackers: two comparisons, not six."""
    swept = [
        (("federation.malicious", m), ("federation.attack.attack", "lie"), ("method", rule))
        for m in (1, 3)
        for rule in ("mean", "median")
    ]
    values = [[0.7, 0.7], [0.69, 0.69], [0.4, 0.4], [0.39, 0.39]]
    rows = [
        msgspec.structs.replace(row, settings=dict(settings))
        for settings, of_folds in zip(swept, values, strict=True)
        for row in rows_of(PERFECT, 0.1, [of_folds] * 2)
    ]
    found = [(c.first[0], c.second[0]) for c in make_report(rows).comparisons["offline_ndcg"]]
    assert found == [(("federation.malicious", m),) * 2 for m in (1, 3)]


def test_sums_over_rounds_are_compared_where_there_are_as_many() -> None:
    """A way of unlearning with a tenth of the rounds is not below retraining for adding up a tenth of them."""
    sums = {("long", 100): 90.0, ("worse", 100): 80.0, ("short", 10): 9.0}
    rows = [
        msgspec.structs.replace(row, settings={"method": name}, round=rounds, cumulative_ndcg=value + row.seed / 1000)
        for (name, rounds), value in sums.items()
        for row in rows_of(PERFECT, 0.1, [[0.7, 0.7, 0.7], [0.7, 0.7, 0.7]])
    ]
    report = make_report(rows)
    assert {line.settings[0][1]: "cumulative_ndcg" in line.below for line in report.lines} == {
        "long": False, "worse": True, "short": False
    }  # fmt: skip
    assert len(report.comparisons["cumulative_ndcg"]) == 1
    assert len(report.comparisons["offline_ndcg"]) == 3


def test_a_baseline_that_is_run_once_meets_every_seed_of_the_others() -> None:
    """What nothing is drawn for is the same with every seed: it is paired with all of them, and counted once."""
    once = [msgspec.structs.replace(row, fixed=True) for row in rows_of(PERFECT, 0.01, [[0.5], [0.4]], queries=4)]
    report = make_report([*rows_of(PERFECT, 0.1, [[0.7, 0.75], [0.6, 0.65]], queries=4), *once])
    (comparison,) = report.comparisons["offline_ndcg"]
    assert comparison.difference == pytest.approx(0.225)
    assert comparison.dependent.df == 3
    assert [line.runs for line in report.lines] == [4, 2]


def test_other_data_are_said_in_titles_and_files(tmp_path: Path) -> None:
    """What stands in for the data that were asked for is in the title of every table, and in summary.json."""
    report = make_report(ROWS, expected=[expected(0.66)], stand_in="MSLR-shaped, not MSLR")
    write_summary(tmp_path, report)
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("## Results after the last round - MSLR-shaped, not MSLR\n")
    assert "## Beside the paper - MSLR-shaped, not MSLR\n" in text
    data = json.loads((tmp_path / "summary.json").read_text())
    assert (data["stand_in"], data["expected"][0]["verdict"]) == ("MSLR-shaped, not MSLR", "other data")


def test_marks_need_seeds() -> None:
    """A single seed marks nothing: what another would have made is not known; where nothing is drawn, it is."""
    one_seed = [row for row in ROWS if row.seed == 1]
    for rows, marked in ((one_seed, False), (ROWS, True), ([replace(row, fixed=True) for row in one_seed], True)):
        report = make_report(rows)
        assert any(line.below for line in report.lines) == marked
        assert ("* below the best" in " ".join(result_grid(report, report.metrics).notes)) == marked


@pytest.mark.parametrize("key", ["federation.partition.kind", "federation.local", "federation.clients"])
def test_partitions_are_no_methods(key: str) -> None:
    """Who holds what, and how many search how often, is a condition: no mark says that one is below another."""
    perfect = [row for row in ROWS if row.settings["users.clicks"] == PERFECT]
    rows = [replace(row, settings={key: row.settings["method.learning_rate"]}) for row in perfect]
    assert not any(line.below for line in make_report(rows).lines)


def test_what_is_better_when_small_is_not_marked() -> None:
    """The AUC of an attacker, or how far unlearning moved, has no best that is the highest."""
    rows = [replace(row, auc=row.offline_ndcg, offline_ndcg=None) for row in ROWS]
    report = make_report(rows)
    assert report.metrics == ("auc",)
    assert not any(line.below or line.best for line in report.lines)


def test_the_papers_numbers_name_their_source() -> None:
    """Where numbers of two tables stand beside ours, each line says whose it is; of one alone the title does."""
    two = [expected(0.67, source="Table 1"), expected(0.66, source="Figure 2")]
    grid = paper_grid(make_report(ROWS, expected=two))
    place = list(grid.header).index("source")
    assert [row[place] for row in grid.rows] == ["Table 1", "Figure 2"]
    assert "source" in paper_grid(make_report(ROWS, expected=two), narrow=True).header
    grid = paper_grid(make_report(ROWS, expected=two[:1]))
    assert ("source" in grid.header, grid.title) == (False, "Beside the paper (Table 1)")


def test_the_summary_is_kept_for_people_and_programs(tmp_path: Path) -> None:
    """summary.json has both spreads, the areas and every test; summary.md has the tables."""
    write_summary(tmp_path, make_report(ROWS, expected=[expected(0.6701)], k=10))
    data = json.loads((tmp_path / "summary.json").read_text())
    metric = data["settings"][0]["metrics"]["offline_ndcg"]
    assert metric["over_runs"]["n"] == 10
    assert metric["over_seeds"]["se"] == pytest.approx(math.sqrt(0.001 / 4 / 5))
    assert metric["area"]["mean"] == pytest.approx(0.67)
    assert len(data["comparisons"]) == 2
    assert [c["test"] for c in data["comparisons"]] == ["queries"] * 2
    assert data["comparisons"][0]["paper_t_over_dependent_runs"]["df"] == 9
    (number,) = data["expected"]
    assert (number["verdict"], number["digits"], number["margin"]) == ("undecided", 4, 0.005)
    assert number["unit"] == pytest.approx(math.sqrt(0.001 / 4 * (1 + 1 / 5)), rel=1e-3)
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
