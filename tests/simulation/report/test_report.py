"""The report: one line for each combination of settings, the paper's numbers beside ours, marks of significance."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest

from simulation.preset import ExpectedValue
from simulation.report.paper_numbers import verdicts
from simulation.report.report import (
    caption,
    key_titles,
    make_report,
    metric_title,
    paper_grid,
    result_grid,
    setting_text,
    short_number,
    show_report,
    write_summary,
)
from simulation.report.tables import Grid, markdown, plain, show
from simulation.results import Row

PERFECT, POISON = "perfect", "poison"


def rows_of(clicks: str, rate: float, values: list[list[float]]) -> list[Row]:
    """One row for each value, by fold and seed, all after round 10."""
    return [
        Row(
            cell=f"{clicks}-{rate}-{fold}-{seed}",
            settings={"users.clicks": clicks, "method.learning_rate": rate},
            fold=fold,
            seed=seed,
            round=10,
            interactions=100,
            offline_ndcg=value,
        )
        for fold, seeds in enumerate(values, start=1)
        for seed, value in enumerate(seeds, start=1)
    ]


ROWS = [
    *rows_of(PERFECT, 0.1, [[0.70, 0.72, 0.71], [0.60, 0.62, 0.61]]),
    *rows_of(PERFECT, 0.01, [[0.50, 0.53, 0.51], [0.40, 0.42, 0.43]]),
    *rows_of(POISON, 0.1, [[0.30, 0.32, 0.31], [0.20, 0.23, 0.21]]),
    *rows_of(POISON, 0.01, [[0.31, 0.31, 0.31], [0.21, 0.22, 0.21]]),
]


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def expected(value: float, **given: object) -> ExpectedValue:
    where = {"users.clicks": PERFECT, "method.learning_rate": 0.1}
    return ExpectedValue(**{"metric": "offline_ndcg", "value": value, "where": where, **given})  # type: ignore[arg-type]


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


def test_a_number_with_its_standard_error() -> None:
    """The unit is sqrt(SE_paper^2 + SE_ours^2); ours is .01 / sqrt(3)."""
    (verdict,) = verdicts(ROWS, [expected(0.65, se=0.004)])
    unit = math.sqrt(0.004**2 + 0.01**2 / 3)
    assert verdict.difference == pytest.approx(0.66 - 0.65)
    assert verdict.deviations == pytest.approx(0.01 / unit)
    assert (verdict.unit, verdict.agrees) == ("SE", True)


def test_a_number_with_a_standard_deviation() -> None:
    """Alone it is the unit; with the number of runs it gives a standard error."""
    alone, counted = verdicts(ROWS, [expected(0.63, sd=0.012), expected(0.63, sd=0.012, n=9)])
    assert (alone.unit, alone.deviations, alone.agrees) == ("SD", pytest.approx(0.03 / 0.012), False)
    assert counted.unit == "SE"
    assert counted.deviations == pytest.approx(0.03 / math.sqrt(0.012**2 / 9 + 0.01**2 / 3))


def test_a_number_without_spread_is_taken_as_exact() -> None:
    """Then our standard error alone is the unit; a single run can only be told apart when the paper gives a spread."""
    (verdict,) = verdicts(ROWS, [expected(0.65)])
    assert verdict.deviations == pytest.approx(0.01 / (0.01 / math.sqrt(3)))
    (single,) = verdicts(ROWS[:1], [expected(0.65)])
    assert (single.deviations, single.agrees) == (None, None)


def test_two_units_are_the_limit() -> None:
    """A difference just below two standard deviations agrees, one just above does not."""
    below, above = verdicts(ROWS, [expected(0.66 - 0.0199, sd=0.01), expected(0.66 - 0.0201, sd=0.01)])
    assert (below.agrees, above.agrees) == (True, False)


def test_a_number_speaks_of_every_combination_it_does_not_exclude() -> None:
    """`where` names some of the swept keys; the others are free."""
    found = verdicts(ROWS, [expected(0.5, where={"users.clicks": POISON})])
    assert [dict(v.settings)["method.learning_rate"] for v in found] == [0.1, 0.01]


def test_a_number_that_cannot_be_compared_says_why() -> None:
    """A round without a row and a combination that was not run are both in the table."""
    report = make_report(ROWS, expected=[expected(0.5, at=7), expected(0.5, where={"users.clicks": "pbm"})])
    assert [verdict.missing for verdict in report.verdicts] == ["no offline_ndcg at round 7", "not in these results"]
    assert "-: no offline_ndcg at round 7" in paper_grid(report).notes


def test_files_and_pipes_get_plain_columns() -> None:
    """No escape codes, no trailing blanks, every number on its line; notes come last."""
    out = io.StringIO()
    show_report(make_report(ROWS, expected=[expected(0.66, sd=0.01)], notes=["a note"]), out)
    text = out.getvalue()
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    assert "+0.0000" in text
    assert "1 of 1 numbers agree" in text
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
