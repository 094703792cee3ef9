"""Counterfactual online learning to rank: what a page says about rankers that were not asked, and the four verbs."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.coltr import COLTR, passed_over, risks, update, winners
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


def test_what_was_passed_over_by_hand() -> None:
    """Opened at ranks 2 and 4 of 5: ranks 1 and 3 were passed over, rank 5 was perhaps never seen."""
    assert passed_over(np.array([False, True, False, True, False])).tolist() == [1, 0, 1, 0, 0]
    assert passed_over(np.zeros(3, dtype=bool)).tolist() == [0, 0, 0]


def test_the_risk_by_hand() -> None:
    """Two results, the first passed over, and a ranker for which it is three times as likely as it was."""
    mean = 3 / (3 + 1)
    spread = (3**2 * (1 - mean) ** 2 + 1**2 * (0 - mean) ** 2) / (3**2 + 1**2)
    found = risks(np.array([[log(3), 0.0], [0.0, 0.0]]), np.array([1.0, 0.0]), variance_penalty=2.0)
    assert found == pytest.approx([mean + 2 * sqrt(spread / 2), 1 / 2 + 2 * sqrt(1 / 4 / 2)])


@pytest.mark.parametrize("seed", range(5))
def test_the_risk_is_that_of_whole_propensities(seed: int) -> None:
    """Softmax over all 12 documents in ratios, as the equations read, gives the same risks."""
    rng = np.random.default_rng(seed)
    scores, rows = rng.standard_normal((4, 12)), rng.permutation(12)[:5]
    delta = (rng.random(5) < 0.5).astype(np.float64)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    rho = (p / p[0])[:, rows]
    mean = (rho * delta).sum(axis=1) / rho.sum(axis=1)
    spread = (rho**2 * (delta - mean[:, None]) ** 2).sum(axis=1) / (rho**2).sum(axis=1)
    found = risks((scores - scores[0])[:, rows], delta, variance_penalty=1.0)
    assert found == pytest.approx(mean + np.sqrt(spread / 5))


def test_a_number_added_to_all_scores_of_a_ranker_changes_nothing() -> None:
    """Only differences within a page count, also where e to the scores is beyond any float."""
    ratios, delta = np.array([[1.0, 0.0, -2.0]]), np.array([1.0, 0.0, 0.0])
    assert risks(ratios + 5000.0, delta, variance_penalty=1.0) == pytest.approx(
        risks(ratios, delta, variance_penalty=1.0)
    )


def test_who_prefers_the_opened_document_wins() -> None:
    """The second result was opened, so a risk is the share of the first: e^-1 / (e^-1 + e) is less than 1/2."""
    page = Interaction(np.eye(2), np.array([0, 1]), np.array([False, True]))
    candidates = np.array([[-1.0, 1.0], [1.0, -1.0]])
    share = exp(-1) / (exp(-1) + exp(1))
    assert risks(candidates, passed_over(page.clicks), variance_penalty=0.0) == pytest.approx([share, 1 - share])
    assert winners(Linear(2), np.zeros(2), candidates, page, variance_penalty=0.0).tolist() == [True, False]


@pytest.mark.parametrize("clicks", [[0, 0], [1, 0], [1, 1]])
def test_a_page_without_a_result_passed_over_has_no_winner(clicks: list[int]) -> None:
    """No click, or clicks from the top on without a gap, speak for nobody."""
    page = Interaction(np.eye(2), np.array([0, 1]), np.array(clicks))
    assert not winners(Linear(2), np.zeros(2), np.array([[-1.0, 1.0], [1.0, -1.0]]), page).any()


def test_a_step_by_hand() -> None:
    """Half the learning rate along each of two winners; no step without one."""
    theta, drawn = np.array([1.0, 1.0]), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    assert update(theta, drawn, np.array([True, True, False]), learning_rate=0.2) == pytest.approx([1.1, 1.1])
    assert update(theta, drawn, np.zeros(3, dtype=bool), learning_rate=0.2).tolist() == [1.0, 1.0]


def test_shapes_that_do_not_fit_are_refused() -> None:
    """One delta for each result."""
    with pytest.raises(ShapeError, match="delta"):
        risks(np.zeros((2, 3)), np.zeros(2), variance_penalty=1.0)
