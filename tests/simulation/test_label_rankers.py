"""Baselines on labels: by hand, by brute force, and on data that can be separated."""

from __future__ import annotations

from math import exp, log2
from pathlib import Path

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.ranking.metrics import ndcg_at_k
from foltr.ranking.rankers import Linear
from simulation.click_models import make_users
from simulation.data.datasets import load_fold
from simulation.data.queries import QuerySet
from simulation.evaluation import evaluate
from simulation.label_rankers import LABEL_RANKERS, LeastSquares
from simulation.lambdarank import LambdaRank, lambdas
from simulation.ranksvm import RankingProblem, RankSVM, label_pairs

LETOR = Path(__file__).resolve().parents[3] / "shared" / "data" / "letor"


def queries(features: list[list[float]] | np.ndarray, grades: list[int], *sizes: int) -> QuerySet:
    """Documents cut into queries of these sizes."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x = np.array(features, dtype=np.float32)
    return QuerySet(x, np.array(grades, dtype=np.int8), offsets, tuple(map(str, range(len(sizes)))))


def random_queries(seed: int = 0) -> QuerySet:
    """Twelve queries of 2 to 9 documents with four features, the first of which has much to do with the grade."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 10, 12).tolist()
    grades = rng.integers(0, 3, sum(sizes))
    features = rng.random((sum(sizes), 4))
    features[:, 0] += 0.4 * grades
    return queries(features, grades.tolist(), *sizes)


@pytest.fixture
def rng() -> np.random.Generator:
    """The randomness of a fit."""
    return np.random.default_rng(0)


def test_least_squares_by_hand(rng: np.random.Generator) -> None:
    """Through (0, 0), (1, 2), (2, 1): slope ((-1)(-1) + 0 + (1)(0)) / 2, and the intercept is forgotten."""
    assert LeastSquares().fit(queries([[0], [1], [2]], [0, 2, 1], 3), rng).tolist() == pytest.approx([1 / 2])


def test_least_squares_where_features_depend_on_each_other(rng: np.random.Generator) -> None:
    """Twice the same feature and one that never changes: the shortest solution shares the slope."""
    data = queries([[0, 0, 5], [1, 1, 5], [2, 2, 5]], [0, 2, 1], 3)
    assert LeastSquares().fit(data, rng).tolist() == pytest.approx([1 / 4, 1 / 4, 0])


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


def test_lambdas_by_hand() -> None:
    """Grades 0 2 1 shown in this order with equal scores: |gains' difference * discounts' difference| / ideal / 2."""
    d = [1.0, 1 / log2(3), 1 / log2(4)]
    ideal = 3 * d[0] + 1 * d[1]
    pull = {(1, 0): 3 * (d[0] - d[1]), (1, 2): 2 * (d[1] - d[2]), (2, 0): 1 * (d[0] - d[2])}
    expected = np.zeros(3)
    for (i, j), change in pull.items():
        expected[i] += change / ideal / 2
        expected[j] -= change / ideal / 2
    assert lambdas(np.zeros(3), np.array([0, 2, 1], dtype=np.int8), k=10) == pytest.approx(expected)


@pytest.mark.parametrize("k", [2, 5])
def test_lambdas_by_changing_places(k: int) -> None:
    """The weight of a pair is the change of nDCG@k when two documents of the ranking are exchanged."""
    rng = np.random.default_rng(k)
    scores, grades = rng.standard_normal(6), rng.integers(0, 4, 6).astype(np.int8)
    order = np.argsort(-scores)
    expected = np.zeros(6)
    for i in range(6):
        for j in range(6):
            if grades[i] > grades[j]:
                exchanged = np.array([{i: j, j: i}.get(int(d), int(d)) for d in order])
                change = ndcg_at_k(grades[exchanged], k, judged=grades) - ndcg_at_k(grades[order], k, judged=grades)
                pull = abs(change) / (1 + exp(scores[i] - scores[j]))
                expected[i] += pull
                expected[j] -= pull
    assert lambdas(scores, grades, k=k) == pytest.approx(expected)


def test_lambdas_without_relevant_documents() -> None:
    """No document can rise."""
    assert lambdas(np.zeros(2), np.zeros(2, dtype=np.int8), k=10).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", LABEL_RANKERS)
def test_separable_data_is_ranked_perfectly(name: str, rng: np.random.Generator) -> None:
    """Grades that a weighted sum of features decides are found, whatever the features' scales."""
    x = np.random.default_rng(4).random((300, 3))
    worth = x @ [3.0, -1.0, 0.0]
    kept = np.abs(worth - np.round(worth)) < 0.35
    x, grades = x[kept], np.clip(np.round(worth[kept]), 0, 2).astype(int)
    n = len(grades) // 10
    data = queries(x[: 10 * n] * [1.0, 100.0, 10.0], grades[: 10 * n].tolist(), *[10] * n)
    theta = LABEL_RANKERS[name]().fit(data, rng)
    assert evaluate(Linear(3), theta, data).ndcg == pytest.approx(1.0, abs=0.005 if name != "ranksvm" else 1e-12)


@pytest.mark.parametrize("name", LABEL_RANKERS)
def test_the_same_generator_gives_the_same_ranker(name: str) -> None:
    """All randomness is in the argument."""
    data = random_queries()
    first, second = (LABEL_RANKERS[name]().fit(data, np.random.default_rng(9)) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_refused_settings() -> None:
    """What is not positive is an error."""
    with pytest.raises(ValueRangeError):
        RankSVM(c=0.0)
    with pytest.raises(ValueRangeError):
        LambdaRank(k=0)


@pytest.mark.skipif(not LETOR.is_dir(), reason="MQ2008 is not beside the repository")
def test_ranksvm_on_mq2008(rng: np.random.Generator) -> None:
    """FOLtR-ES, Table 3, SVMRank: its published program has .46050 on the test part of fold 1, .46472 on train."""
    fold = load_fold("mq2008", 1, root=LETOR, cache="off")
    users = make_users("navigational", top_grade=2)
    theta = LABEL_RANKERS["ranksvm"]().fit(fold.train, rng)
    found = [evaluate(Linear(46), theta, part, users=users, ties="last").max_rr for part in (fold.test, fold.train)]
    assert found == pytest.approx([0.46050, 0.46472], abs=0.003)
