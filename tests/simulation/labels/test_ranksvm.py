"""RankSVM: by hand, by differences, at its minimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foltr.ranking.rankers import Linear
from simulation.cells.evaluation import judge
from simulation.data.datasets import load_fold
from simulation.labels.label_rankers import LABEL_RANKERS
from simulation.labels.ranksvm import RankingProblem, RankSVM, label_pairs
from simulation.rounds.click_models import make_users
from tests.simulation.judged_queries import queries, random_queries

LETOR = Path(__file__).resolve().parents[4] / "shared" / "data" / "letor"


@pytest.fixture
def rng() -> np.random.Generator:
    """The randomness of a fit."""
    return np.random.default_rng(0)


def test_pairs_by_hand() -> None:
    """Grades 0 2 1 and 1 1: three pairs in the first query, none in the second."""
    better, worse = label_pairs(queries(np.zeros((5, 1)), [0, 2, 1, 1, 1], 3, 2))
    assert sorted(zip(better.tolist(), worse.tolist(), strict=True)) == [(1, 0), (1, 2), (2, 0)]


def test_ranksvm_by_hand(rng: np.random.Generator) -> None:
    """One pair with difference 2, two queries: theta = 1/2, where the margin is 1, or 2 C / 2 where that is less."""
    data = queries([[0.0], [2.0], [0.0]], [0, 1, 0], 2, 1)
    assert RankSVM(c=1000.0).fit(data, rng) == pytest.approx([1 / 2], abs=1e-3)
    assert RankSVM(c=0.1).fit(data, rng) == pytest.approx([2 * 0.1 / 2])


@pytest.mark.parametrize("h", [0.01, 0.5])
def test_ranksvm_slope_and_curvature_by_differences(h: float) -> None:
    """Gradient and Hessian of the smoothed objective, against its values a little to either side."""
    problem, theta, step = RankingProblem.of(random_queries(), c=20.0), np.array([1.0, -0.5, 0.2, 0.8]), 1e-6
    slope, curvature = problem.slope_and_curvature(theta, h)
    for f, direction in enumerate(step * np.eye(4)):
        up, down = theta + direction, theta - direction
        assert slope[f] == pytest.approx((problem.objective(up, h) - problem.objective(down, h)) / (2 * step), rel=1e-5)
        turned = problem.slope_and_curvature(up, h)[0] - problem.slope_and_curvature(down, h)[0]
        assert curvature[f] == pytest.approx(turned / (2 * step), rel=1e-4, abs=1e-4)


def test_ranksvm_finds_the_minimum(rng: np.random.Generator) -> None:
    """No point nearby, near or far, has a smaller sum of hinges, but for the smoothing's share."""
    data = random_queries()
    problem, theta = RankingProblem.of(data, c=100.0), RankSVM(c=100.0).fit(data, rng)
    least = problem.objective(theta)
    allowed = problem.weight * len(problem.better) * 0.001 / 4
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for direction in np.random.default_rng(1).standard_normal((50, 4)):
            assert problem.objective(theta + size * direction) > least - allowed


def test_ranksvm_without_pairs(rng: np.random.Generator) -> None:
    """Where all grades are alike nothing is to be learned."""
    assert RankSVM().fit(queries([[1.0], [2.0]], [1, 1], 2), rng).tolist() == [0.0]


@pytest.mark.skipif(not LETOR.is_dir(), reason="MQ2008 is not beside the repository")
def test_ranksvm_on_mq2008(rng: np.random.Generator) -> None:
    """FOLtR-ES, Table 3, SVMRank: its published program has .46050 on the test part of fold 1, .46472 on train."""
    fold = load_fold("mq2008", 1, root=LETOR, cache="off")
    users = make_users("navigational", top_grade=2)
    theta = LABEL_RANKERS["ranksvm"]().fit(fold.train, rng)
    found = [
        judge(part, ties="last").evaluate(Linear(46), theta, users=users).max_rr for part in (fold.test, fold.train)
    ]
    assert found == pytest.approx([0.46050, 0.46472], abs=0.003)
