"""Tests of significance, worked by hand and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulation.report import significance
from simulation.report.significance import SettingsComparison, compare, holm, t_test
from simulation.report.statistics import Runs

ONE, OTHER = (("method", "one"),), (("method", "other"),)

RUNS: Runs = {(1, 1): 0.1, (2, 1): 0.3, (1, 2): 0.2, (2, 2): 0.6}
"""two folds, two seeds"""


def compared(first: Runs, second: Runs) -> SettingsComparison:
    """A study with two settings."""
    (found,) = compare({ONE: first, OTHER: second}, [[ONE, OTHER]])
    return found


def test_the_papers_t_by_hand() -> None:
    """Differences 1, 2, 3: t = 2 / (1 / sqrt(3)) with 2 degrees of freedom, two-tailed."""
    test = t_test([1.0, 2.0, 3.0])
    assert (test.difference, test.t, test.df) == (2, pytest.approx(2 * math.sqrt(3)), 2)
    # with 2 degrees of freedom P(|T| > t) = 1 - t / sqrt(2 + t^2)
    assert test.p == pytest.approx(1 - test.t / math.sqrt(2 + test.t**2))


def test_the_papers_t_takes_all_runs_as_independent() -> None:
    """It is scipy's paired test over (fold, seed), in any order, on the runs that both have."""
    from scipy import stats  # loads slowly

    second = dict(reversed([(run, value + 0.1 * run[1] + 0.02 * run[0]) for run, value in RUNS.items()]))
    found = compared({**RUNS, (9, 9): 7.0}, second).dependent
    theirs = stats.ttest_rel([RUNS[run] for run in sorted(RUNS)], [second[run] for run in sorted(RUNS)])
    assert (found.t, found.p, found.df) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue), 3)


def test_fold_means_by_hand() -> None:
    """Seeds first: folds differ by .1, .2, .3. Nadeau and Bengio: .2 / (.1 sqrt(1/3 + 1/3)), 2 degrees of freedom."""
    from scipy import stats  # loads slowly

    first = {(fold, seed): fold / 10 + seed / 100 for fold in (1, 2, 3) for seed in (1, 2)}
    second = {(fold, seed): (3 - 2 * seed) / 1000 + seed / 100 for fold in (1, 2, 3) for seed in (1, 2)}
    found = compared(first, second)
    t = 0.2 / (0.1 * math.sqrt(2 / 3))
    assert (found.test, found.n, found.difference) == ("fold means", 3, pytest.approx(0.2))
    assert found.p == pytest.approx(1 - t / math.sqrt(2 + t**2))
    half = stats.t.ppf(0.975, 2) * 0.1 * math.sqrt(2 / 3)
    assert found.interval == pytest.approx((0.2 - half, 0.2 + half))


def test_one_fold_is_tested_over_its_seeds() -> None:
    """They are independent there, so the plain t is right."""
    found = compared({(1, s): 2.0 * s for s in (1, 2, 3)}, {(1, s): 1.0 * s for s in (1, 2, 3)})
    assert (found.test, found.n, found.p) == ("seeds", 3, found.dependent.p)


def test_dependent_folds_raise_no_more_false_alarms_than_promised() -> None:
    """A difference of its own in each fold, five seeds: the papers' t cries wolf in nearly half of the studies."""
    rng = np.random.default_rng(3)
    alarms = np.zeros(2)
    for _ in range(200):
        folds, seeds = rng.normal(0, 0.01, 5), rng.normal(0, 0.003, (5, 5))
        first = {(f, s): float(folds[f] + seeds[f, s]) for f in range(5) for s in range(5)}
        found = compared(first, dict.fromkeys(first, 0.0))
        alarms += (found.p < 0.05, found.dependent.p < 0.05)
    assert alarms[0] <= 0.07 * 200
    assert alarms[1] > 0.3 * 200


def test_values_of_queries_decide_where_they_are_known() -> None:
    """They give test, difference and interval; without the same queries on both sides the folds do."""
    rng = np.random.default_rng(6)
    queries = {run: rng.random(30) for run in RUNS}
    better = {run: values + 0.05 for run, values in queries.items()}
    values = {
        ONE: {run: float(v.mean()) for run, v in better.items()},
        OTHER: {r: float(v.mean()) for r, v in queries.items()},
    }
    (found,) = compare(values, [[ONE, OTHER]], {ONE: better, OTHER: queries})
    assert (found.test, found.n, found.difference) == ("queries", 60, pytest.approx(0.05))
    assert found.p == pytest.approx(2.0**-59)
    assert found.interval == pytest.approx((0.05, 0.05))
    fewer = {run: values[:-1] for run, values in queries.items()}
    (other,) = compare(values, [[ONE, OTHER]], {ONE: better, OTHER: fewer})
    assert other.test == "fold means"
    (single,) = compare(
        {s: {(1, 1): runs[1, 1]} for s, runs in values.items()}, [[ONE, OTHER]], {ONE: better, OTHER: queries}
    )
    assert single.test == "queries"


def test_equal_differences_need_no_spread() -> None:
    """Runs that are the same are no evidence; runs that always differ by the same amount are all of it."""
    half = dict.fromkeys(RUNS, 0.5)
    assert compared(half, half).p == 1
    assert compared(dict.fromkeys(RUNS, 0.75), half).p == 0
    assert compared(dict.fromkeys(RUNS, 0.25), half).dependent.t == -math.inf


def test_rounding_is_no_spread() -> None:
    """Differences that are the same but for rounding do not make a t of millions."""
    assert compared({run: value + 0.1 for run, value in RUNS.items()}, RUNS).dependent.t == math.inf
    assert compared({run: value + 1e-17 for run, value in RUNS.items()}, RUNS).p == 1


def test_too_few_values_are_not_compared() -> None:
    """A t-test without degrees of freedom is none."""
    assert compare({ONE: {(1, 1): 1.0}, OTHER: RUNS}, [[ONE, OTHER]]) == []
    assert compare({ONE: {(7, 1): 1.0}, OTHER: RUNS}, [[ONE, OTHER]]) == []


def test_holm_by_hand() -> None:
    """.01 x 4, .02 x 3, then .03 x 2 = .06 again, .5 x 1; left-out tests count."""
    assert holm([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert holm([0.4, 0.3]) == pytest.approx([0.6, 0.6])
    assert holm([0.02, 0.5], n_tests=10) == pytest.approx([0.2, 1.0])
    assert holm([]) == []


def test_holm_counts_all_groups() -> None:
    """Three settings in a group are three tests, two are one: four in all, none between the groups."""
    rng = np.random.default_rng(5)
    names = [(("method", name),) for name in "abcde"]
    values = {name: {(1, seed): float(rng.normal()) for seed in range(5)} for name in names}
    found = compare(values, [names[:3], names[3:]])
    assert [(c.first, c.second) for c in found] == [
        (names[0], names[1]),
        (names[0], names[2]),
        (names[1], names[2]),
        (names[3], names[4]),
    ]
    assert [c.p_corrected for c in found] == pytest.approx(holm([c.p for c in found]))


def test_too_many_pairs_are_compared_with_the_best_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then p is corrected as if all had been: the best was chosen among all."""
    monkeypatch.setattr(significance, "MAX_PAIRS", 5)
    rng = np.random.default_rng(7)
    names = [(("method", name),) for name in "abcd"]
    values = {name: {(1, seed): n + float(rng.normal(0, 0.5)) for seed in range(5)} for n, name in enumerate(names)}
    found = compare(values, [names])
    assert [(c.first, c.second) for c in found] == [(name, names[3]) for name in names[:3]]
    assert [c.p_corrected for c in found] == pytest.approx(holm([c.p for c in found], n_tests=6))
