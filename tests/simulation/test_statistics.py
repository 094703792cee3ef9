"""Means, spreads, curves and tests of significance, worked by hand and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from foltr.errors import ShapeError, ValueRangeError
from simulation.results import Row
from simulation.statistics import (
    areas,
    bonferroni,
    compare,
    curves,
    over_runs,
    over_seeds,
    paired_t,
    summarise,
    unpaired_t,
    values_at,
)

RUNS = {(1, 1): 0.1, (2, 1): 0.3, (1, 2): 0.2, (2, 2): 0.6}
"""two folds, two seeds"""


def row(value: float | None, *, number: int = 0, clicks: str = "perfect", fold: int = 1, seed: int = 1) -> Row:
    return Row(
        cell=f"{clicks}-{fold}-{seed}",
        settings={"users.clicks": clicks},
        fold=fold,
        seed=seed,
        round=number,
        interactions=number * 10,
        offline_ndcg=value,
    )


PERFECT = (("users.clicks", "perfect"),)
POISON = (("users.clicks", "poison"),)


def test_over_runs_by_hand() -> None:
    """Mean, sample standard deviation and standard error of .1, .3, .2, .6."""
    summary = over_runs(RUNS)
    squares = 0.2**2 + 0.0**2 + 0.1**2 + 0.3**2
    assert summary.mean == pytest.approx(1.2 / 4)
    assert summary.sd == pytest.approx(math.sqrt(squares / 3))
    assert summary.se == pytest.approx(math.sqrt(squares / 3) / math.sqrt(4))
    assert summary.n == 4


def test_over_seeds_by_hand() -> None:
    """The folds are averaged first: seeds have .2 and .4, whose standard deviation is .2 / sqrt(2)."""
    summary = over_seeds(RUNS)
    assert summary.mean == pytest.approx((0.2 + 0.4) / 2)
    assert summary.sd == pytest.approx(0.2 / math.sqrt(2))
    assert summary.se == pytest.approx(0.2 / math.sqrt(2) / math.sqrt(2))
    assert summary.n == 2


def test_a_seed_without_all_folds_does_not_count() -> None:
    """A seed that lacks a fold would move the mean by the difference between folds."""
    assert over_seeds({**RUNS, (1, 3): 0.9}) == over_seeds(RUNS)
    with pytest.raises(ShapeError, match="got none"):
        over_seeds({(1, 1): 0.1, (2, 2): 0.2})


def test_differences_between_folds_are_in_one_spread_only() -> None:
    """A constant added to all runs of a fold widens the spread over runs and leaves that over seeds."""
    shifted = {(fold, seed): value + (fold == 2) for (fold, seed), value in RUNS.items()}
    assert over_seeds(shifted).sd == pytest.approx(over_seeds(RUNS).sd)
    assert (over_runs(shifted).sd or 0) > (over_runs(RUNS).sd or 0)


def test_a_single_run_has_no_spread() -> None:
    """One number has a mean and nothing else; none at all is an error."""
    assert (over_runs({(1, 1): 0.5}).mean, over_runs({(1, 1): 0.5}).sd, over_runs({(1, 1): 0.5}).se) == (
        0.5,
        None,
        None,
    )
    with pytest.raises(ShapeError, match="got none"):
        over_runs({})


def test_the_convention_depends_on_the_number_of_seeds() -> None:
    """Three seeds of every fold tell a spread between seeds; two do not, nor does an unbalanced study."""
    three = {(fold, seed): fold + seed / 10 for fold in (1, 2) for seed in (1, 2, 3)}
    assert summarise(three).over == "seeds"
    assert summarise(RUNS).over == "runs"
    assert summarise({**three, (1, 4): 0.0}).over == "runs"


def test_values_after_a_round_and_at_the_end() -> None:
    """The end is the last row of each run; a run without the asked row is left out."""
    rows = [row(0.3, number=2), row(0.1), row(0.2, number=1), row(0.5, clicks="poison")]
    assert values_at(rows, "offline_ndcg") == {PERFECT: {(1, 1): 0.3}, POISON: {(1, 1): 0.5}}
    assert values_at(rows, "offline_ndcg", at=1) == {PERFECT: {(1, 1): 0.2}}
    assert values_at(rows, "online_ndcg") == {}
    with pytest.raises(ValueRangeError, match="wanted a metric out of"):
        values_at(rows, "ndcg")


def test_the_area_by_hand() -> None:
    """Trapezoids over uneven steps: 10 interactions at .1 to .3, then 20 at .3 to .5, over 30 interactions."""
    rows = [row(0.1), row(0.3, number=1), row(0.5, number=3), row(None, number=4)]
    height = (10 * (0.1 + 0.3) / 2 + 20 * (0.3 + 0.5) / 2) / 30
    assert areas(rows, "offline_ndcg")[PERFECT][1, 1] == pytest.approx(height)
    assert areas([row(0.7)], "offline_ndcg")[PERFECT][1, 1] == 0.7


def test_a_curve_is_the_mean_of_its_runs_at_every_round() -> None:
    """Two folds make a mean and a standard error at each round, on both axes."""
    rows = [
        row(value, number=n, fold=f) for f, pair in ((1, (0.1, 0.4)), (2, (0.3, 0.4))) for n, value in enumerate(pair)
    ]
    curve = curves(rows, "offline_ndcg")[PERFECT]
    assert curve.rounds.tolist() == [0, 1]
    assert curve.interactions.tolist() == [0, 10]
    assert curve.mean == pytest.approx([0.2, 0.4])
    assert curve.se == pytest.approx([0.2 / math.sqrt(2) / math.sqrt(2), 0])
    assert curve.n_runs == 2


def test_a_run_that_stopped_early_bends_no_curve() -> None:
    """Rows of a run that did not come as far as the others do not count, though they do when all stopped."""
    whole = [row(0.2), row(0.4, number=1)]
    assert curves([*whole, row(0.9, fold=2)], "offline_ndcg")[PERFECT].mean.tolist() == [0.2, 0.4]
    assert curves([row(0.9, fold=2)], "offline_ndcg")[PERFECT].mean.tolist() == [0.9]


def test_rows_may_come_in_any_order() -> None:
    """Cells that run side by side mix their rows; the curve is the same."""
    rows = [row(n / 10, number=n, fold=f) for n in range(4) for f in (1, 2)]
    shuffled = [rows[i] for i in np.random.default_rng(3).permutation(len(rows))]
    straight, mixed = (curves(r, "offline_ndcg")[PERFECT] for r in (rows, shuffled))
    assert mixed.mean.tolist() == straight.mean.tolist()


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


def test_the_unpaired_test_is_students() -> None:
    """.1, .3 against .2, .6: pooled variance (.02 + .08) / 2, t = -.2 / sqrt(pooled (1/2 + 1/2))."""
    test = unpaired_t([0.1, 0.3], [0.2, 0.6])
    assert test.t == pytest.approx(-0.2 / math.sqrt((0.02 + 0.08) / 2))
    assert test.df == 2
    assert test.p == pytest.approx(2 * stats.t.sf(abs(test.t), 2))


def test_equal_differences_need_no_spread() -> None:
    """Runs that are the same are no evidence; runs that always differ by the same amount are all of it."""
    half = dict.fromkeys(RUNS, 0.5)
    assert paired_t(half, half).p == 1
    assert (paired_t(dict.fromkeys(RUNS, 0.75), half).p, paired_t(dict.fromkeys(RUNS, 0.25), half).t) == (0, -math.inf)
    assert unpaired_t([1.0, 1.0], [1.0]).p == 1


def test_too_few_values_are_refused() -> None:
    """A t-test without degrees of freedom is none."""
    with pytest.raises(ShapeError, match="at least 2 pairs, got 1"):
        paired_t({(1, 1): 1.0}, RUNS)
    with pytest.raises(ShapeError, match="3 values in all, got 1 and 1"):
        unpaired_t([1.0], [2.0])


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
