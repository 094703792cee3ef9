"""Student's t-tests between the settings of a study, two-tailed, corrected for the number of tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from foltr.arrays import FloatArray
from foltr.errors import ShapeError
from simulation.statistics import Runs, Settings

ROUNDING = 1e-12
"""a spread below this part of the values is that of rounding: there is none"""


@dataclass(frozen=True, slots=True)
class TTest:
    """A two-tailed Student t-test of the difference of two means.

    Without any spread p is 1 where the means are equal, else 0, and t is 0 or infinite.
    """

    difference: float
    """first mean minus second mean"""
    t: float
    df: int
    p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two combinations of settings, compared on the runs that both have."""

    first: Settings
    second: Settings
    test: TTest
    p_corrected: float
    """min(1, p * number of comparisons), Bonferroni"""


def paired_t(first: Runs, second: Runs) -> TTest:
    """Student's paired test on the runs that both have: t = mean(d) / (sd(d) / sqrt(n)), n - 1 degrees of freedom.

    ShapeError below two pairs.
    """
    common = sorted(set(first) & set(second))
    if len(common) < 2:
        raise ShapeError(f"a paired t-test wants at least 2 pairs, got {len(common)}")
    (test,) = _paired(*(np.array([[runs[run] for run in common]]) for runs in (first, second)))
    return test


def unpaired_t(first: Sequence[float], second: Sequence[float]) -> TTest:
    """Student's test for two independent samples of equal variance, n1 + n2 - 2 degrees of freedom.

    ShapeError when a sample is empty or there are fewer than three values.
    """
    if min(len(first), len(second)) < 1 or len(first) + len(second) < 3:
        raise ShapeError(f"a t-test wants two samples with 3 values in all, got {len(first)} and {len(second)}")
    difference, df = float(np.mean(first) - np.mean(second)), len(first) + len(second) - 2
    size = float(np.max(np.abs([*first, *second])))
    if max(np.ptp(first), np.ptp(second)) <= ROUNDING * size:
        return _without_spread(difference, df, size=size)
    t, p = stats.ttest_ind(first, second, equal_var=True)
    return TTest(difference, float(t), df, float(p))


def bonferroni(p: float, n_tests: int) -> float:
    """min(1, p * n_tests): the chance of even one false alarm among n_tests stays below p."""
    return min(1.0, p * n_tests)


def compare(values: Mapping[Settings, Runs], groups: Iterable[Sequence[Settings]]) -> list[Comparison]:
    """Paired t-tests between any two settings of a group, corrected for the number of tests in all groups together.

    Pairs with fewer than two runs in common are not compared.
    """
    pairs = [pair for group in groups for pair in itertools.combinations([s for s in group if s in values], 2)]
    by_runs: dict[frozenset[tuple[int, int]], list[tuple[Settings, Settings]]] = {}
    for a, b in pairs:
        common = frozenset(values[a]) & frozenset(values[b])
        if len(common) > 1:
            by_runs.setdefault(common, []).append((a, b))
    tests: dict[tuple[Settings, Settings], TTest] = {}
    for runs, same in by_runs.items():
        sides = (np.array([[values[pair[side]][run] for run in sorted(runs)] for pair in same]) for side in (0, 1))
        tests.update(zip(same, _paired(*sides), strict=True))
    return [Comparison(*pair, tests[pair], bonferroni(tests[pair].p, len(tests))) for pair in pairs if pair in tests]


def _paired(first: FloatArray, second: FloatArray) -> list[TTest]:
    """The paired tests of the rows of two [n_tests, n_runs], all at once: a study may have thousands of pairs."""
    n_tests, n_runs = first.shape
    size = np.maximum(np.abs(first), np.abs(second)).max(axis=1)
    differences = first - second
    means, spread = differences.mean(axis=1), np.ptp(differences, axis=1) > ROUNDING * size
    t, p = np.zeros(n_tests), np.zeros(n_tests)
    if spread.any():
        t[spread], p[spread] = stats.ttest_rel(first[spread], second[spread], axis=1)
    return [
        TTest(float(means[n]), float(t[n]), n_runs - 1, float(p[n]))
        if spread[n]
        else _without_spread(float(means[n]), n_runs - 1, size=float(size[n]))
        for n in range(n_tests)
    ]


def _without_spread(difference: float, df: int, *, size: float) -> TTest:
    differs = abs(difference) > ROUNDING * size
    return TTest(difference, math.copysign(math.inf, difference) if differs else 0.0, df, 0.0 if differs else 1.0)
