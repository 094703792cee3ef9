"""Methods compared query by query: by brute force, by hand, and by simulation of dependent runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from foltr.arrays import FloatArray
from foltr.errors import ShapeError
from simulation.report.differences import (
    EXACT,
    MARGIN,
    OWN_MARGINS,
    Difference,
    QueryTest,
    _seed_variance,
    bootstrap_intervals,
    contrast,
    flip_p,
    joined_error,
    margin_of,
    query_test,
    sign_test,
    student_quantile,
)
from simulation.run_folder import METRICS


def by_brute_force(differences: list[float], total: float) -> float:
    """The share of all 2^n signs whose sum is at least as far from 0."""
    sums = [
        abs(math.fsum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    return sum(value >= total - 1e-12 for value in sums) / len(sums)


def drawn(rng: np.random.Generator, *, seeds: int, queries: float, seed: float, rest: float) -> dict[int, FloatArray]:
    """Five folds of 60 queries without any true difference, from these standard deviations."""
    return {
        fold: queries * rng.normal(size=(1, 60))
        + seed * rng.normal(size=(seeds, 1))
        + rest * rng.normal(size=(seeds, 60))
        for fold in range(5)
    }


def test_all_flips_by_hand() -> None:
    """1, 2, 3: only two of eight signs reach 6, four reach 4; equal sizes make the sign test."""
    d = np.array([1.0, 2.0, 3.0])
    assert (flip_p(d, 6), flip_p(d, 4), flip_p(d, 0)) == (2 / 8, 4 / 8, 1)
    assert flip_p(np.ones(6), 4) == pytest.approx(2 * (1 + 6) / 2**6)
    assert flip_p(np.zeros(5), 0) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_few_queries_as_by_brute_force(seed: int) -> None:
    """With one seed the p of the test is that of every possible flip of the signs; queries without a difference too."""
    d = np.random.default_rng(seed).normal(0.1, 0.2, 9)
    d[seed] = 0
    found = query_test({1: d[None, :4], 2: d[None, 4:]})
    assert found == QueryTest(pytest.approx(d.mean()), pytest.approx(by_brute_force(d.tolist(), abs(d.sum()))), 9)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.8])
def test_the_saddlepoint_meets_the_count_of_all_flips(share: float) -> None:
    """Just beyond the limit, where it is worst, on either side of the usual levels."""
    d = np.abs(np.random.default_rng(8).normal(size=EXACT + 1))
    sums = np.zeros(1)
    for size in d:
        sums = np.concatenate([sums + size, sums - size])
    total = share * d.sum()
    assert flip_p(d, total) == pytest.approx(np.mean(np.abs(sums) >= total), rel=0.06)


def test_the_saddlepoint_far_out() -> None:
    """All signs alike are 2^(1 - n) exactly, and p falls all the way there."""
    d = np.random.default_rng(9).random(40) + 0.1
    ps = [flip_p(d, share * d.sum()) for share in (0, 0.001, 0.2, 0.5, 0.8, 0.99, 1)]
    assert ps == sorted(ps, reverse=True)
    assert (ps[0], ps[-1]) == (1.0, 2.0**-39)


def test_seeds_alone_cannot_make_it_significant() -> None:
    """A seed that moves a whole fold is no evidence of 60 queries: its variance is in the error."""
    fold = np.full((4, 60), 0.1) + np.array([[0.3], [-0.3], [0.1], [-0.1]])
    queries_only = query_test({1: np.full((1, 60), 0.1)})
    both = query_test({1: fold})
    assert queries_only.p < 1e-10
    assert both.difference == pytest.approx(queries_only.difference)
    assert both.p > 0.2


@pytest.mark.parametrize(
    ("seeds", "queries", "seed", "rest"), [(5, 0.1, 0.0, 0.0), (5, 0.05, 0.02, 0.1), (3, 0.05, 0.01, 0.05)]
)
def test_false_alarms_stay_near_the_level(seeds: int, queries: float, seed: float, rest: float) -> None:
    """Of 300 studies without a difference about 5 % are below .05, however much the runs depend on each other.

    The t over all runs as if they were independent cries wolf in two of five in the first case.
    """
    rng = np.random.default_rng(1)
    ps = [query_test(drawn(rng, seeds=seeds, queries=queries, seed=seed, rest=rest)).p for _ in range(300)]
    assert 0.01 < np.mean(np.array(ps) < 0.05) < 0.10


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_few_seeds_that_differ_much_mark_little(seeds: int, share: float) -> None:
    """Whatever share of the error the seeds of a fold have, false alarms stay at the level, to 2.5 standard errors.

    With Satterthwaite's degrees for the whole error two seeds made 14 %, three 9 %; with none 17 % and more.
    """
    rng = np.random.default_rng(5)
    of_seeds = 0.02 * np.sqrt(share / (1 - share) * seeds / 100)
    studies = [rng.normal(0, 0.02, 100) + rng.normal(0, of_seeds, (seeds, 1)) for _ in range(600)]
    assert np.mean([query_test({1: study}).p < 0.05 for study in studies]) < 0.072


def test_the_interval_covers_the_truth() -> None:
    """In nine studies of ten at least, as the bootstrap of two ways is rather too wide."""
    rng = np.random.default_rng(3)
    studies = [drawn(rng, seeds=5, queries=0.05, seed=0.02, rest=0.1) for _ in range(100)]
    intervals = bootstrap_intervals(studies, resamples=400)
    assert sum(low <= 0 <= high for low, high in intervals) >= 90
    assert all(high - low < 0.06 for low, high in intervals)


@pytest.mark.parametrize(("folds", "seeds", "least"), [(1, 3, 0.9), (5, 2, 0.93)])
def test_the_interval_of_few_seeds_that_differ_much_covers_the_truth(folds: int, seeds: int, least: float) -> None:
    """Draws of two or three seeds alone covered it in three studies of four."""
    rng = np.random.default_rng(7)
    studies = [
        {fold: rng.normal(0, 0.002, 60) + rng.normal(0, 0.02, (seeds, 1)) for fold in range(folds)} for _ in range(200)
    ]
    intervals = bootstrap_intervals(studies, resamples=300)
    assert np.mean([low <= 0 <= high for low, high in intervals]) >= least


def test_an_interval_does_not_depend_on_the_other_pairs() -> None:
    """The draws belong to a fold and its size; a constant difference has no width."""
    rng = np.random.default_rng(4)
    a, b = (drawn(rng, seeds=2, queries=0.1, seed=0.0, rest=0.1) for _ in range(2))
    assert bootstrap_intervals([a, b])[1] == bootstrap_intervals([b])[0]
    assert bootstrap_intervals([{1: np.full((2, 5), 0.25)}]) == [(pytest.approx(0.25), pytest.approx(0.25))]
    assert bootstrap_intervals([]) == []


def test_only_runs_that_both_have_are_paired() -> None:
    """By fold and seed; runs of other queries are refused, and no query is no test."""
    one = {(1, 1): np.array([0.5, 0.25]), (1, 2): np.array([0.5, 0.5]), (2, 1): np.array([1.0])}
    other = {(1, 2): np.array([0.25, 0.5]), (1, 1): np.array([0.0, 0.0]), (3, 1): np.array([1.0])}
    assert {fold: d.tolist() for fold, d in contrast([one], [other]).items()} == {1: [[0.5, 0.25], [0.25, 0.0]]}
    with pytest.raises(ShapeError, match="fold 1, seed 1: wanted values of the same queries"):
        contrast([one], [{(1, 1): np.array([0.5])}])
    with pytest.raises(ShapeError, match="at least one query"):
        query_test({})


def test_the_variance_of_seeds_is_what_seeds_and_queries_together_leave() -> None:
    """Means 3 and 0: 4.5 / 2; what neither explains is .5 everywhere: 4 * .5^2 / (1 * 1) / (2 * 2)."""
    assert _seed_variance(np.array([[4.0, 2.0], [0.0, 0.0]])) == 4.5 / 2 - 1 / 4


def test_intervals_are_those_of_student() -> None:
    """With 4 degrees 95 % are 2.776 units to both sides; a known error has the normal's 1.96."""
    from scipy import stats  # loads slowly

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
    from scipy import stats  # loads slowly

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
    from scipy import stats  # loads slowly

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
