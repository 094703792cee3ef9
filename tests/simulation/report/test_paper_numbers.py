"""The paper's numbers beside ours."""

from __future__ import annotations

import math

import pytest

from simulation.report.paper_numbers import verdicts
from simulation.report.report import make_report, paper_grid
from tests.simulation.report.small_report import POISON, ROWS, expected


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
