"""Are two combinations of settings different, or were they lucky? Tests of any two under the same conditions.

    queries       offline nDCG, whose values of single queries are kept: simulation.report.differences
    fold means    other metrics, from two folds on: t of the folds' differences, the mean over seeds first, with the
                  correction of Nadeau and Bengio (2003) for folds that share training queries
    seeds         other metrics, one fold: t of the differences between seeds, which speaks of that fold alone

Beside them stands the t of the papers, which takes all (fold, seed) runs as independent of each other. They are not:
runs of one fold share its queries, and folds share two thirds of their training queries. Nothing is marked by it.

p is corrected for the number of tests of a metric by Holm's procedure (1979).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from simulation.report.differences import (
    BEYOND,
    QueryValues,
    bootstrap_intervals,
    contrast,
    query_test,
    student_quantile,
)
from simulation.report.statistics import ROUNDING, Runs, Settings, over_runs

MAX_PAIRS = 2000
"""of a metric; if there are more, each combination is compared only with the best of its conditions, and p is corrected
as if all had been"""

TEST_TO_TRAIN = 1 / 3
"""queries held out to queries learned from: one and three of the five parts of LETOR's folds"""


class TTest(Struct, frozen=True):
    """A two-tailed Student t-test of the mean of differences.

    Without any spread p is 1 where the mean is 0, else 0, and t is 0 or infinite.
    """

    difference: float
    t: float
    df: int
    p: float
    se: float


class SettingsComparison(Struct, frozen=True):
    """Two combinations of settings, compared on the runs that both have."""

    first: Settings
    second: Settings
    test: Literal["queries", "fold means", "seeds"]
    n: int
    """queries, folds or seeds"""
    difference: float
    """first mean minus second mean"""
    p: float
    dependent: TTest
    """the papers' t, over all runs as if they were independent"""
    p_corrected: float = 1.0
    interval: tuple[float, float] | None = None
    """95 %; of a test over queries where the better one is the best of its conditions"""


def compare(
    values: Mapping[Settings, Runs],
    groups: Iterable[Sequence[Settings]],
    queries: Mapping[Settings, QueryValues] | None = None,
) -> list[SettingsComparison]:
    """Tests between any two settings of a group, corrected for the number of tests in all groups together.

    `queries` are of this metric. Without them, pairs with fewer than two runs in common are not compared.
    """
    present = [[settings for settings in group if settings in values] for group in groups]
    n_pairs = sum(math.comb(len(group), 2) for group in present)
    best = {group_best for group in present if (group_best := best_of(group, values))}
    pairs = [
        pair
        for group in present
        for pair in itertools.combinations(group, 2)
        if n_pairs <= MAX_PAIRS or best.intersection(pair)
    ]
    found = [test for pair in pairs if (test := _compared(*pair, values, queries or {}))]
    corrected = holm([comparison.p for comparison in found], n_tests=len(found) if len(pairs) == n_pairs else n_pairs)
    found = [replace(comparison, p_corrected=p) for comparison, p in zip(found, corrected, strict=True)]
    return _with_intervals(found, best, queries or {})


def best_of(group: Sequence[Settings], values: Mapping[Settings, Runs]) -> Settings:
    """The combination with the highest mean; the empty one where there is none."""
    return max(group, key=lambda settings: over_runs(values[settings]).mean, default=())


def holm(ps: Sequence[float], *, n_tests: int | None = None) -> list[float]:
    """Each p by Holm: the i-th smallest of m times (m - i + 1), none below the one before it, none above 1.

    The chance of even one false alarm among all tests stays below p. `n_tests`: m, where some were left out.
    """
    m = len(ps) if n_tests is None else n_tests
    corrected, highest = [0.0] * len(ps), 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, (m - place) * ps[index]))
        corrected[index] = highest
    return corrected


def t_test(differences: Sequence[float], *, overlap: float = 0.0, size: float = 1.0) -> TTest:
    """t = mean / (s sqrt(1 / n + overlap)), n - 1 degrees of freedom; p is 1 for a single difference.

    overlap   0 for independent differences, n_test / n_train for folds that share what they learn from
    size      of the values: a spread below ROUNDING of it is none
    """
    from scipy import special  # loads slowly, and most small studies compare nothing

    d = np.asarray(differences)
    mean, df = float(d.mean()), len(d) - 1
    if df == 0:
        return TTest(mean, 0.0, 0, 1.0, math.nan)
    if np.ptp(d) <= ROUNDING * size:
        differs = abs(mean) > ROUNDING * size
        return TTest(mean, math.copysign(math.inf, mean) if differs else 0.0, df, 0.0 if differs else 1.0, 0.0)
    se = float(d.std(ddof=1)) * math.sqrt(1 / len(d) + overlap)
    return TTest(mean, mean / se, df, 2 * float(special.stdtr(df, -abs(mean / se))), se)


def _compared(
    first: Settings, second: Settings, values: Mapping[Settings, Runs], queries: Mapping[Settings, QueryValues]
) -> SettingsComparison | None:
    """By the best test that the known values of the two allow; None without any."""
    one, other = values[first], values[second]
    runs = sorted(one.keys() & other.keys())
    same_queries = _same_queries(queries.get(first, {}), queries.get(second, {}))
    if not runs or (len(runs) < 2 and not same_queries):
        return None
    size = max(abs(side[run]) for side in (one, other) for run in runs)
    dependent = t_test([one[run] - other[run] for run in runs], size=size)
    if same_queries:
        over_queries = query_test(contrast([queries[first]], [queries[second]]))
        return SettingsComparison(
            first, second, "queries", over_queries.n_queries, over_queries.difference, over_queries.p, dependent
        )
    of_folds: dict[int, list[float]] = {}
    for run in runs:
        of_folds.setdefault(run[0], []).append(one[run] - other[run])
    if len(of_folds) > 1:
        means = [math.fsum(of_fold) / len(of_fold) for of_fold in of_folds.values()]
        test = t_test(means, overlap=TEST_TO_TRAIN, size=size)
    else:
        test = dependent
    half = test.se * student_quantile((1 + BEYOND) / 2, test.df)
    return SettingsComparison(
        first, second, "fold means" if len(of_folds) > 1 else "seeds", test.df + 1, test.difference, test.p, dependent,
        interval=(test.difference - half, test.difference + half),
    )  # fmt: skip


def _same_queries(first: QueryValues, second: QueryValues) -> bool:
    """Whether the runs that both have are of the same queries, as far as their number tells; at least one run is."""
    lengths = {(fold, len(side[fold, seed])) for side in (first, second) for fold, seed in first.keys() & second.keys()}
    return len(lengths) == len({fold for fold, _ in lengths}) > 0


def _with_intervals(
    found: Sequence[SettingsComparison], best: Iterable[Settings], queries: Mapping[Settings, QueryValues]
) -> list[SettingsComparison]:
    """Those with the best of their conditions get the bootstrap's interval, where their queries are known."""
    top = set(best)
    chosen = {n for n, pair in enumerate(found) if pair.test == "queries" and top & {pair.first, pair.second}}
    pairs = [contrast([queries[found[n].first]], [queries[found[n].second]]) for n in sorted(chosen)]
    intervals = bootstrap_intervals(pairs)
    by_number = dict(zip(sorted(chosen), intervals, strict=True))
    return [replace(pair, interval=by_number[n]) if n in by_number else pair for n, pair in enumerate(found)]
