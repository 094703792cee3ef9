"""Intervals and the three verdicts, by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from simulation.report.differences import (
    MARGIN,
    OWN_MARGINS,
    Difference,
    joined_error,
    margin_of,
    sign_test,
    student_quantile,
)
from simulation.run_folder import METRICS


def test_intervals_are_those_of_student() -> None:
    """With 4 degrees 95 % are 2.776 units to both sides; a known error has the normal's 1.96."""
    assert Difference(1.0, 2.0, 4).interval(0.95) == pytest.approx((1 - 2 * 2.7764, 1 + 2 * 2.7764), abs=1e-3)
    assert Difference(0.0, 1.0).interval(0.95) == pytest.approx((-1.95996, 1.95996), abs=1e-5)
    assert student_quantile(0.9, 7.3) == pytest.approx(stats.t.ppf(0.9, 7.3))


def test_a_rounding_is_never_beyond_its_range() -> None:
    """Half a unit of the last digit has the standard error of a uniform draw, and no tail."""
    half = 0.0005
    assert Difference(0.0, half / math.sqrt(3), rounding=True).interval(0.9) == pytest.approx((-half, half))


@pytest.mark.parametrize(
    ("value", "se", "verdict"),
    [
        (0.0, 0.001, "equivalent"),
        (0.003, 0.001, "equivalent, yet different"),
        (0.02, 0.001, "different"),
        (0.0, 0.1, "undecided"),
        (0.004, 0.003, "undecided"),
    ],
)
def test_verdicts(value: float, se: float, verdict: str) -> None:
    """A wide interval is no agreement; small and certain is both."""
    assert Difference(value, se).judged(0.005) == verdict
    assert Difference(-value, se).judged(0.005) == verdict


def test_tost_is_the_interval_rule() -> None:
    """Both one-sided t-tests at 5 % reject exactly where the 90 % interval lies within the margin."""
    for value in np.linspace(-0.006, 0.006, 49):
        difference = Difference(float(value), 0.0011, 6)
        above = stats.t.sf((value + MARGIN) / 0.0011, 6) < 0.05
        below = stats.t.cdf((value - MARGIN) / 0.0011, 6) < 0.05
        assert difference.judged(MARGIN).startswith("equivalent") == (above and below)


def test_margins_are_fixed_for_every_metric() -> None:
    """Cumulative nDCG has its own unit: .005 of what 10,000 rounds can add up to at most, 1,986.54."""
    assert {margin_of(m, rounds=10_000) for m in METRICS if m.startswith(("offline", "online"))} == {0.005}
    assert OWN_MARGINS.keys() <= set(METRICS)
    assert margin_of("cumulative_ndcg", rounds=10_000) == pytest.approx(0.005 * 1986.54, abs=0.01)
    assert margin_of("cumulative_ndcg", rounds=1) == pytest.approx(0.005)


def test_errors_join_as_by_welch() -> None:
    """Two samples give Welch's standard error and degrees; a known part adds none, an empty one nothing."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=6), 3 * rng.normal(size=9)
    se, df = joined_error([(a.var(ddof=1) / 6, 5), (b.var(ddof=1) / 9, 8)])
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert (a.mean() - b.mean()) / se == pytest.approx(welch.statistic)
    assert df == pytest.approx(welch.df)
    assert joined_error([(4.0, 3)]) == (2.0, 3)
    assert joined_error([(0.0, 3), (9.0, math.inf)]) == (3.0, math.inf)


def test_the_sign_test_by_hand() -> None:
    """Four of five: 2 (1 + 5) / 32; zeros are left out, and half of each is no evidence."""
    signs = sign_test([1.0, 2.0, 0.5, 0.1, -1.0, 0.0])
    assert (signs.positive, signs.n, signs.p) == (4, 5, pytest.approx(12 / 32))
    assert sign_test([1.0] * 12).p == pytest.approx(2 / 2**12)
    assert (sign_test([1.0, -1.0]).p, sign_test([]).p) == (1.0, 1.0)
