"""Dueling Bandit Gradient Descent: who moves where after one shared page."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.online.dueling_bandit import directions, shared_page, update
from foltr.online.interleaving import FIRST, SECOND
from foltr.ranking.rankers import Linear

DOCS = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 2.0], [0.0, 3.0]])


def test_a_duel_by_hand() -> None:
    """Two clicks on the candidate's places against one: a tenth of the way along its direction."""
    theta, direction = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    moved = update(theta, direction, owner=[FIRST, SECOND, SECOND], clicks=[True, True, True], learning_rate=0.1)
    assert moved == pytest.approx([1 + 0.1 * 0.6, 0.1 * 0.8])


@pytest.mark.parametrize("clicks", [[0, 0, 0], [1, 1, 0], [1, 0, 0]])
def test_a_tie_or_a_defeat_changes_nothing(clicks: list[int]) -> None:
    """No click, as many clicks for each, or more for the present ranker: it stays."""
    theta = np.array([1.0, 0.0])
    moved = update(theta, np.ones(2), owner=[FIRST, SECOND, FIRST], clicks=clicks, learning_rate=0.1)
    assert moved.tolist() == theta.tolist()


def test_the_two_rankers_take_turns_on_the_page() -> None:
    """Opposite rankings of four documents: each half of the page holds one place of either team, its best left."""
    for seed in range(8):
        page = shared_page(
            Linear(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]), DOCS, k=4, coins=np.random.default_rng(seed)
        )
        rows = {FIRST: [0, 1], SECOND: [3, 2]}
        for turn in (0, 1):
            places = dict(zip(page.owner[2 * turn : 2 * turn + 2], page.ranking[2 * turn : 2 * turn + 2], strict=True))
            assert places == {FIRST: rows[FIRST][turn], SECOND: rows[SECOND][turn]}


def test_a_candidate_with_the_same_order_changes_no_page() -> None:
    """Twice the present theta ranks alike, so users see the present ranking."""
    theta = np.array([1.0, 0.2])
    page = shared_page(Linear(2), theta, 2 * theta, DOCS, k=3, coins=np.random.default_rng(0))
    assert page.ranking.tolist() == [0, 1, 2]


def test_directions_are_uniform_on_the_sphere() -> None:
    """All of length 1; over 20,000 of them each coordinate has mean 0 and mean square 1 / n_params."""
    drawn = directions(20_000, 5, np.random.default_rng(0))
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(np.ones(20_000))
    assert np.abs(drawn.mean(axis=0)).max() < 4 / np.sqrt(5 * 20_000)
    assert (drawn**2).mean(axis=0) == pytest.approx(np.full(5, 1 / 5), abs=0.01)
