"""Means, spreads and curves, worked by hand."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from simulation.report.statistics import areas, curves, fixed_settings, over_runs, over_seeds, summarise, values_at
from simulation.run_folder import Row

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
    """On both axes; two folds of one seed have no band."""
    rows = [
        row(value, number=n, fold=f) for f, pair in ((1, (0.1, 0.4)), (2, (0.3, 0.4))) for n, value in enumerate(pair)
    ]
    curve = curves(rows, "offline_ndcg")[PERFECT]
    assert curve.rounds.tolist() == [0, 1]
    assert curve.interactions.tolist() == [0, 10]
    assert curve.mean == pytest.approx([0.2, 0.4])
    assert np.isnan(curve.sd).all()
    assert (curve.n_folds, curve.n_seeds) == (2, 1)


def test_the_band_of_a_curve_is_between_seeds() -> None:
    """Folds .3 apart, seeds .1 in the mean of both folds: .1 / sqrt(2), whatever the folds differ by."""
    rows = [row(0.1 * seed + 0.3 * fold, number=0, fold=fold, seed=seed) for fold in (1, 2) for seed in (1, 2)]
    curve = curves(rows, "offline_ndcg")[PERFECT]
    assert curve.sd == pytest.approx([0.1 / math.sqrt(2)])
    assert (curve.n_folds, curve.n_seeds) == (2, 2)


def test_nothing_was_drawn_only_where_all_rows_say_so() -> None:
    """One row that a seed had a say in is enough."""
    rows = [row(0.5, clicks=c, fold=f) for c in ("perfect", "poison") for f in (1, 2)]
    fixed = [
        msgspec.structs.replace(r, fixed=not (r.fold == 2 and r.settings["users.clicks"] == "poison")) for r in rows
    ]
    assert fixed_settings(fixed) == {PERFECT}


def test_a_run_that_stopped_early_bends_no_curve() -> None:
    """Rows of a run that did not come as far as the others do not count, though they do when all stopped."""
    whole = [row(0.2), row(0.4, number=1)]
    assert curves([*whole, row(0.9, fold=2)], "offline_ndcg")[PERFECT].mean.tolist() == [0.2, 0.4]
    assert curves([row(0.9, fold=2)], "offline_ndcg")[PERFECT].mean.tolist() == [0.9]
