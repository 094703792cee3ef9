"""Counterfactual online learning to rank as four verbs."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.coltr import COLTR
from foltr.federated.method import Model
from foltr.federated.registry import make_method
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import draw
from foltr.ranking.rankers import Linear, Neural

FEATURES = np.eye(4)
METHOD = COLTR(Linear(4), n_candidates=200, variance_penalty=0.0)
OPENED_THIRD = Interaction(FEATURES, [0, 1, 2, 3], [False, False, True, False])


def test_an_opened_document_rises_above_those_passed_over() -> None:
    """With one feature for each document, the third gains on the first two."""
    local = METHOD.begin(Model(np.zeros(4)), np.random.default_rng(0))
    theta = METHOD.learn(local, OPENED_THIRD).theta
    assert theta[2] > max(theta[0], theta[1])
    assert theta[3] > max(theta[0], theta[1])


def test_a_step_is_at_most_the_learning_rate() -> None:
    """The mean of unit vectors is no longer than 1, and the rate decays with the rounds."""
    method = COLTR(Linear(4), n_candidates=10, learning_rate=0.2, learning_rate_decay=0.5)
    for round_number in (0, 1, 3):
        local = method.begin(Model(np.zeros(4), round=round_number), np.random.default_rng(1))
        assert 0 < np.linalg.norm(method.learn(local, OPENED_THIRD).theta) <= 0.2 * 0.5**round_number


def test_the_same_state_learns_the_same() -> None:
    """A step is a function of the device's state and the page; the next page meets other candidates."""
    local = METHOD.begin(Model(np.zeros(4)), np.random.default_rng(2))
    first, again = METHOD.learn(local, OPENED_THIRD), METHOD.learn(local, OPENED_THIRD)
    assert first.theta.tolist() == again.theta.tolist()
    second = METHOD.learn(first, OPENED_THIRD)
    assert (second.theta - first.theta).tolist() != (first.theta - local.theta).tolist()


def test_no_click_no_step() -> None:
    """A page without clicks is counted and teaches nothing."""
    local = METHOD.begin(Model(np.ones(4)), np.random.default_rng(0))
    after = METHOD.learn(local, Interaction(FEATURES, [0, 1], [False, False]))
    assert (after.theta.tolist(), after.n_interactions) == ([1.0] * 4, 1)


def test_pages_are_drawn_with_the_temperature() -> None:
    """At a tenth, scores count ten times."""
    local = METHOD.begin(Model(np.arange(4.0) / 10), np.random.default_rng(0))
    shown = METHOD.rank(local, FEATURES, np.random.default_rng(7), k=3)
    assert shown.tolist() == draw(np.arange(4.0), 3, np.random.default_rng(7)).tolist()


def test_the_server_averages() -> None:
    """The mean of what two devices learned from as many pages."""
    locals_ = [METHOD.begin(Model(np.full(4, value)), np.random.default_rng(0)) for value in (0.0, 2.0)]
    messages = [
        METHOD.report(METHOD.learn(local, Interaction(FEATURES, [0], [True])), np.random.default_rng(0))
        for local in locals_
    ]
    assert METHOD.aggregate(Model(np.zeros(4)), messages).theta.tolist() == [1.0] * 4


def test_it_is_made_by_name_for_any_ranker() -> None:
    """The registry knows its settings, whose bad values are refused by name."""
    assert make_method("coltr", Neural(4, 3), {"n_candidates": 9}) == COLTR(Neural(4, 3), n_candidates=9)
    wrong: list[dict[str, float]] = [{"temperature": 0.0}, {"n_candidates": 0}, {"learning_rate_decay": 1.5}]
    for setting in [*wrong, {"variance_penalty": -1.0}, {"judging_temperature": float("inf")}]:
        with pytest.raises(ValueRangeError, match=next(iter(setting))):
            make_method("coltr", Linear(4), setting)
