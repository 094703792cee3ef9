"""How fast each weight learns, and how it fades."""

from __future__ import annotations

import numpy as np
import pytest

from app.learning.pace import SHIPPED_ONLY, SHRINK, TEXT_RATE, Pace
from foltr.ranking.rankers import Linear, Neural
from indexer.retrieval.features import INDEX, NAMES


def test_the_even_pace_is_plain_gradient_ascent() -> None:
    """theta + slope, and every feature is seen."""
    pace, theta, slope = Pace.even(2), np.array([1.0, 2.0]), np.array([0.5, -0.5])
    assert pace.step(Linear(2), theta, slope, shipped=np.zeros(2)).tolist() == [1.5, 1.5]
    assert pace.seen(np.ones((3, 2))).tolist() == [[1.0, 1.0]] * 3


def test_each_weight_moves_at_its_rate_and_shrinks_toward_the_shipped_one() -> None:
    """From 1: slope 2 at rates 0, .25 and 1 gives 0, .5 and 2 more, each less .1 but never beyond the shipped one."""
    pace = Pace(np.array([0.0, 0.25, 1.0]), shrink=0.1)
    stepped = pace.step(Linear(3), np.ones(3), np.full(3, 2.0), shipped=np.ones(3))
    assert stepped.tolist() == pytest.approx([1.0, 1.0 + 0.5 - 0.1, 1.0 + 2.0 - 0.1])


def test_no_lesson_takes_a_longer_step_than_allowed() -> None:
    """A slope of (3, 4) is 5 long; at most 1 is taken of it: (.6, .8)."""
    pace = Pace(np.ones(2), longest=1.0)
    assert pace.step(Linear(2), np.zeros(2), np.array([3.0, 4.0]), shipped=np.zeros(2)).tolist() == pytest.approx(
        [3 / 5, 4 / 5]
    )


def test_what_is_no_longer_confirmed_is_gone_after_enough_lessons() -> None:
    """A learned point of .05 shrinks by .005 with each lesson: after 10 the weight is the shipped one, exactly."""
    pace, theta = Pace(np.ones(1), shrink=0.005), np.array([3.05])
    for _ in range(11):
        theta = pace.step(Linear(1), theta, np.zeros(1), shipped=np.array([3.0]))
    assert theta[0] == 3.0


def test_a_net_learns_at_the_same_rates_on_its_inputs() -> None:
    """Columns of W move at the feature's rate, biases and outputs at 1; nothing shrinks."""
    net, pace = Neural(2, n_hidden=2), Pace(np.array([0.0, 0.5]), shrink=0.1)
    moved = pace.step(net, np.zeros(net.n_params), np.ones(net.n_params), shipped=np.zeros(net.n_params))
    assert moved.tolist() == [0.0, 0.5, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0]


def test_the_shipped_pace_names_features_that_exist() -> None:
    """Weights of a query's picks never learn, text slowly, the kind of file at the full rate."""
    pace = Pace.shipped(NAMES)
    assert all(pace.rates[INDEX[name]] == 0 for name in SHIPPED_ONLY)
    assert (pace.rates[INDEX["bm25f"]], pace.rates[INDEX["newer"]], pace.shrink) == (TEXT_RATE, 1.0, SHRINK)
