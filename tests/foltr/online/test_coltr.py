"""Counterfactual online learning to rank: what one page says about rankers that were not asked."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from foltr.errors import ShapeError
from foltr.online.coltr import passed_over, risks, update, winners
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear


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
