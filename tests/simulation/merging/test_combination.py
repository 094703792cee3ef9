"""The grid of alphas."""

from __future__ import annotations

import numpy as np

from foltr.ranking.rankers import Linear
from simulation.cells.evaluation import judge
from simulation.merging.two_owners import ALPHAS, alpha_curve, chosen_alpha, combined
from tests.simulation.judged_queries import queries, random_queries


def test_the_ends_of_the_grid_are_the_two_rankers() -> None:
    """alpha = 0 is exactly the first, alpha = 1 exactly the second, even where a sum would round."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=30) * 1e17, rng.normal(size=30)
    assert len(ALPHAS) == 101
    assert combined(ALPHAS[0], first, second).tolist() == first.tolist()
    assert combined(ALPHAS[-1], first, second).tolist() == second.tolist()
    assert combined(0.25, np.array([4.0]), np.array([8.0])).tolist() == [0.75 * 4 + 0.25 * 8]


def test_linear_rankers_combined_are_a_linear_ranker() -> None:
    """Mixing scores is mixing thetas: what a device's blend of two linear rankers is."""
    data, rng = random_queries(), np.random.default_rng(1)
    one, two = rng.normal(size=(2, data.n_features))
    judged = judge(data)
    x = data.features.astype(np.float64)
    curve = alpha_curve(judged, x @ one, x @ two)
    for alpha, found in zip(ALPHAS[::10], curve[::10], strict=True):
        assert found == judged.evaluate(Linear(data.n_features), (1 - alpha) * one + alpha * two)


def test_the_chosen_alpha_by_hand() -> None:
    """(1 - a) 1 < a 3 puts the relevant document first: a > 1/4, so .26 is the smallest of the best."""
    judged = judge(queries([[0.0], [0.0]], [0, 1], 2))
    assert chosen_alpha(judged, np.array([1.0, 0.0]), np.array([0.0, 3.0])) == 0.26


def test_of_equal_alphas_the_smallest_is_chosen() -> None:
    """Where both rank alike nothing speaks for the second."""
    judged = judge(queries([[0.0], [0.0]], [0, 1], 2))
    assert chosen_alpha(judged, np.array([0.0, 1.0]), np.array([0.0, 5.0])) == 0.0
