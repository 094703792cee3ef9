"""The paper's numbers beside ours."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from simulation.cells.preset import ExpectedCurve, decode_preset
from simulation.errors import PresetError
from simulation.report.paper_numbers import PaperVerdict, papers_beside, patterns, printed_digits, verdicts
from simulation.report.report import make_report
from simulation.report.result_tables import paper_grid
from simulation.report.statistics import Curve, Settings
from tests.simulation.report.small_report import PERFECT, POISON, ROWS, expected, rows_of
from tests.simulation.small_study import STUDY

SD = math.sqrt(0.01**2 * 2.5)
"""of .65 .67 .66 .69 .68, the five seeds of ROWS[0]"""

ROUNDING = 0.00005**2 / 3
"""the variance of a print with four digits"""


def verdict_of(values: list[list[float]], paper: float, **given: object) -> PaperVerdict:
    """Of one setting with these values by fold and seed."""
    (verdict,) = verdicts(rows_of(PERFECT, 0.1, values), [expected(paper, **given)])
    return verdict


def test_the_unit_by_hand() -> None:
    """s sqrt(1 + 1/5) between seeds of the mean of the folds, and the last digit; the folds' .1 has no part in it."""
    (verdict,) = verdicts(ROWS, [expected(0.6512)])
    assert verdict.difference is not None
    assert verdict.difference.value == pytest.approx(0.67 - 0.6512)
    assert verdict.difference.se == pytest.approx(math.sqrt(SD**2 * (1 + 1 / 5) + ROUNDING))
    assert verdict.difference.df == pytest.approx(4, rel=1e-3)


def test_repetitions_of_the_paper_make_its_number_better_known() -> None:
    """m = 25 leaves s sqrt(1/25 + 1/5)."""
    (verdict,) = verdicts(ROWS, [expected(0.6512, n=25)])
    assert verdict.difference is not None
    assert verdict.difference.se == pytest.approx(math.sqrt(SD**2 * (1 / 25 + 1 / 5) + ROUNDING))


def test_a_spread_that_the_paper_prints_is_its_own() -> None:
    """A standard deviation with its runs, or a standard error, stands for the paper's side."""
    deviation, error = verdicts(ROWS, [expected(0.6512, sd=0.012, n=9), expected(0.6512, se=0.004)])
    assert deviation.difference is not None
    assert error.difference is not None
    assert deviation.difference.se == pytest.approx(math.sqrt(0.012**2 / 9 + SD**2 / 5 + ROUNDING))
    assert error.difference.se == pytest.approx(math.sqrt(0.004**2 + SD**2 / 5 + ROUNDING))


def test_a_method_that_draws_nothing_is_met_within_the_last_digit_or_not() -> None:
    """No seed changes it: .4288 prints as .429, .4297 does not."""
    for ours, verdict in ((0.4288, "equivalent"), (0.4297, "equivalent, yet different"), (0.437, "different")):
        assert verdict_of([[ours, ours], [ours, ours]], 0.429).verdict == verdict


def test_a_row_for_which_nothing_was_drawn_needs_no_second_seed() -> None:
    """A baseline that is run once says of itself that no seed changes it."""
    rows = [msgspec.structs.replace(row, fixed=True) for row in rows_of(PERFECT, 0.1, [[0.42], [0.44]])]
    met, missed = verdicts(rows, [expected(0.43, digits=3), expected(0.44, digits=3)])
    assert (met.verdict, missed.verdict) == ("equivalent", "different")


def test_folds_that_are_not_there_are_not_made_up_for() -> None:
    """The number is a mean of three folds; two say nothing about it, however many seeds."""
    (verdict,) = verdicts(ROWS, [expected(0.65)], folds=(1, 2, 3))
    assert (verdict.verdict, verdict.missing) == (None, "no seed has all folds")


def test_below_five_seeds_there_is_no_verdict() -> None:
    """The difference is shown all the same."""
    four = verdict_of([[0.70, 0.72, 0.71, 0.74]], 0.60)
    assert (four.verdict, four.ours and four.ours.n) == ("too few", 4)
    assert verdict_of([[0.7]], 0.6).verdict == "too few"
    assert verdict_of([[0.70, 0.72, 0.71, 0.74, 0.73]], 0.60).verdict == "different"


def test_seeds_without_all_folds_do_not_count() -> None:
    """Five seeds of which one lacks a fold are four."""
    rows = [row for row in ROWS if row.settings["users.clicks"] == PERFECT and (row.fold, row.seed) != (2, 5)]
    (verdict,) = verdicts(rows, [expected(0.65)])
    assert (verdict.verdict, verdict.ours and verdict.ours.n) == ("too few", 4)
    (none,) = verdicts([row for row in rows if (row.fold == 1) == (row.seed < 3)], [expected(0.65)])
    assert none.missing == "no seed has all folds"


def test_other_data_are_not_judged() -> None:
    """The number is there, the difference is there, and no verdict about what was not repeated."""
    report = make_report(ROWS, expected=[expected(0.65)], stand_in="the sample, not MSLR")
    assert report.verdicts[0].verdict == "other data"
    grid = paper_grid(report)
    assert grid.title == "Beside the paper - the sample, not MSLR"
    assert "+0.0200" in grid.rows[0]


def verdict_by_seeds(paper: float, seeds: np.ndarray) -> str | None:
    """Of five folds that differ by .03 and these deviations of the seeds."""
    return verdict_of([[0.4 + 0.03 * fold + s for s in seeds] for fold in range(5)], paper).verdict


DEVIATIONS = np.array([-1, 1, 0, 1.1, -1.1, 0.6, -0.6, 1, -1, 0])
"""of ten seeds; the first three have a standard deviation of 1"""


@pytest.mark.parametrize(
    ("standard_errors", "spread", "verdict"),
    [(17, 0.002, "different"), (-17, 0.002, "different"), (0.3, 0.001, "equivalent"), (2, 0.002, "undecided")],
)
def test_the_verdict_does_not_turn_with_the_number_of_seeds(
    standard_errors: float, spread: float, verdict: str
) -> None:
    """A difference of 17 standard errors of three seeds used to agree with one seed and with two, whose unit was the
    spread of the folds. Now less than five are too few, and all from five on say the same.
    """
    difference = standard_errors * spread / math.sqrt(3)
    by_count = [verdict_by_seeds(0.46 - difference, spread * DEVIATIONS[:n]) for n in range(1, 11)]
    assert by_count == ["too few"] * 4 + [verdict] * 6


def test_digits_are_those_of_the_print() -> None:
    """.45 beside .712 was printed .450; what is given counts, and other metrics or sources have other digits."""
    short, long = expected(0.45), expected(0.712)
    other = expected(0.51234, source="another table")
    assert [printed_digits(number, [short, long, other]) for number in (short, long, other)] == [3, 3, 5]
    assert printed_digits(expected(0.45, digits=4), [long]) == 4
    assert printed_digits(expected(742.1), []) == 1
    assert paper_grid(make_report(ROWS, expected=[short, long])).rows[0][4] == "0.450"


def test_a_number_speaks_of_every_combination_it_does_not_exclude() -> None:
    """`where` names some of the swept keys; the others are free."""
    found = verdicts(ROWS, [expected(0.5, where={"users.clicks": POISON})])
    assert [dict(v.settings)["method.learning_rate"] for v in found] == [0.1, 0.01]


def test_the_pattern_over_conditions() -> None:
    """Three differences of four are above 0; the table says so with the exact test, as if they were independent."""
    numbers = [
        expected(0.5),
        expected(0.9, where={"users.clicks": PERFECT, "method.learning_rate": 0.01}),
        expected(0.1, where={"users.clicks": POISON}),
    ]
    report = make_report(ROWS, expected=numbers, k=10)
    signs = patterns(report.verdicts)["offline_ndcg", ""]
    assert (signs.positive, signs.n) == (3, 4)
    assert any("offline nDCG@10: 3 of 4 differences are above 0" in note for note in paper_grid(report).notes)


def test_what_the_print_rounds_away_is_no_pattern() -> None:
    """.67 beside a printed .7 is what was printed, under however many conditions."""
    everywhere = [expected(0.7, where={"users.clicks": PERFECT, "method.learning_rate": 0.1}, digits=1)] * 8
    assert patterns(verdicts(ROWS, everywhere)) == {}


def test_a_number_that_cannot_be_compared_says_why() -> None:
    """A round without a row and a combination that was not run are both in the table."""
    report = make_report(ROWS, expected=[expected(0.5, at=7), expected(0.5, where={"users.clicks": "pbm"})])
    assert [verdict.missing for verdict in report.verdicts] == ["no offline_ndcg at round 7", "not in these results"]
    assert "-: no offline_ndcg at round 7" in paper_grid(report).notes


ROUNDS = np.arange(5, dtype=np.float64)
SETTINGS: Settings = (("users.clicks", "perfect"),)
OURS = {SETTINGS: Curve(SETTINGS, ROUNDS, ROUNDS * 50, ROUNDS / 10, ROUNDS * 0)}


def papers(**given: Any) -> list[tuple[Settings, Curve]]:
    tables = {"metric": "offline_ndcg", "at": (50, 100, 500), "values": (0.1, 0.2, 0.3), **given}
    return papers_beside(OURS, "offline_ndcg", [ExpectedCurve(**tables)])


def test_points_have_both_axes() -> None:
    """50 interactions are a round here; a point beyond our last round is left out."""
    ((settings, curve),) = papers()
    assert settings == SETTINGS
    assert (curve.rounds.tolist(), curve.interactions.tolist(), curve.mean.tolist()) == ([1, 2], [50, 100], [0.1, 0.2])
    ((_, by_rounds),) = papers(x="rounds", at=(1, 2, 9))
    assert by_rounds.interactions.tolist() == [50, 100]


def test_other_metrics_and_settings_have_none() -> None:
    """Nor has a curve that lies all beyond ours."""
    assert papers(metric="online_ndcg") == []
    assert papers(where={"users.clicks": "poison"}) == []
    assert papers(at=(500, 600, 700)) == []


def test_a_curve_wants_a_value_for_each_place() -> None:
    """In one line with its place, before anything runs."""
    for at in ([1, 2], [2, 1, 3]):
        wrong = {"curves": [{"metric": "offline_ndcg", "at": at, "values": [0.1, 0.2, 0.3]}]}
        with pytest.raises(PresetError, match=r"study: expect.curves.*wanted `?at`? rising"):
            decode_preset({**STUDY, "expect": wrong}, source="study")
