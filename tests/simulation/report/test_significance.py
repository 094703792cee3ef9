"""Tests of significance, worked by hand and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from simulation.report.statistics import Runs, TTest, bonferroni, compare

RUNS = {(1, 1): 0.1, (2, 1): 0.3, (1, 2): 0.2, (2, 2): 0.6}
"""two folds, two seeds"""


def paired_t(first: Runs, second: Runs) -> TTest:
    """The test of a study with two settings."""
    one, other = (("method", "one"),), (("method", "other"),)
    (found,) = compare({one: first, other: second}, [[one, other]])
    return found.test


def test_the_paired_test_by_hand() -> None:
    """Differences 1, 2, 3: t = 2 / (1 / sqrt(3)) with 2 degrees of freedom, two-tailed."""
    first, second = {(1, s): 2.0 * s for s in (1, 2, 3)}, {(1, s): 1.0 * s for s in (1, 2, 3)}
    test = paired_t(first, second)
    assert test.difference == pytest.approx(2)
    assert test.t == pytest.approx(2 * math.sqrt(3))
    assert test.df == 2
    # with 2 degrees of freedom P(|T| > t) = 1 - t / sqrt(2 + t^2)
    assert test.p == pytest.approx(1 - test.t / math.sqrt(2 + test.t**2))


def test_pairs_are_matched_by_fold_and_seed() -> None:
    """The order of the runs does not matter, and a run that only one side has is left out."""
    second = dict(reversed([(run, value + 0.1 * run[1]) for run, value in RUNS.items()]))
    assert paired_t({**RUNS, (9, 9): 7.0}, second) == paired_t(RUNS, second)
    assert paired_t(second, RUNS).t == pytest.approx(-paired_t(RUNS, second).t)


def test_equal_differences_need_no_spread() -> None:
    """Runs that are the same are no evidence; runs that always differ by the same amount are all of it."""
    half = dict.fromkeys(RUNS, 0.5)
    assert paired_t(half, half).p == 1
    assert (paired_t(dict.fromkeys(RUNS, 0.75), half).p, paired_t(dict.fromkeys(RUNS, 0.25), half).t) == (0, -math.inf)


def test_rounding_is_no_spread() -> None:
    """Differences that are the same but for rounding do not make a t of millions."""
    shifted = {run: value + 0.1 for run, value in RUNS.items()}
    assert paired_t(shifted, RUNS).t == math.inf
    assert paired_t({run: value + 1e-17 for run, value in RUNS.items()}, RUNS).p == 1


def test_too_few_values_are_not_compared() -> None:
    """A t-test without degrees of freedom is none."""
    one, other = (("method", "one"),), (("method", "other"),)
    assert compare({one: {(1, 1): 1.0}, other: RUNS}, [[one, other]]) == []


def test_bonferroni_counts_all_groups() -> None:
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
    assert all(c.p_corrected == min(1.0, 4 * c.test.p) for c in found)
    assert bonferroni(0.3, 4) == 1


def test_false_alarms_stay_below_the_level() -> None:
    """Under the null hypothesis p is uniform: about one test in twenty is below .05."""
    rng = np.random.default_rng(11)
    draws = rng.normal(size=(400, 2, 10))
    ps = [paired_t({(1, s): a[s] for s in range(10)}, {(1, s): b[s] for s in range(10)}).p for a, b in draws]
    assert 0.02 < np.mean(np.array(ps) < 0.05) < 0.09


def test_all_pairs_at_once_are_the_tests_one_by_one() -> None:
    """Whatever runs the pairs have in common, each test is that of scipy on just these runs, in the order of pairs."""
    rng = np.random.default_rng(7)
    names = [(("method", name),) for name in "abcd"]
    values = {name: {(fold, 1): float(rng.normal()) for fold in range(4 + n % 2)} for n, name in enumerate(names)}
    values[names[3]] = {(0, 1): 1.0}
    found = compare(values, [names])
    assert [(c.first, c.second) for c in found] == [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]
    for c in found:
        sides = [[values[s][fold, 1] for fold in range(4)] for s in (c.first, c.second)]
        assert (c.test.t, c.test.p) == pytest.approx(tuple(stats.ttest_rel(*sides)))
        assert c.test.df == 3
