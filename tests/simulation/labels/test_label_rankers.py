"""Baselines on labels: by hand, by brute force, and on data that can be separated."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.ranking.rankers import Linear
from simulation.cells.cell import LEARN_FROM_LABELS, MethodChoice
from simulation.cells.evaluation import judge
from simulation.errors import PresetError
from simulation.labels.label_rankers import LABEL_RANKERS, TREES, LeastSquares, label_ranker
from simulation.labels.lambdarank import LambdaRank
from simulation.labels.ranksvm import RankSVM
from tests.simulation.judged_queries import queries, random_queries


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
    assert judge(data).evaluate(Linear(3), theta).ndcg == pytest.approx(1.0, abs=0.005 if name != "ranksvm" else 1e-12)


@pytest.mark.parametrize("name", LABEL_RANKERS)
def test_the_same_generator_gives_the_same_ranker(name: str) -> None:
    """All randomness is in the argument."""
    data = random_queries()
    first, second = (LABEL_RANKERS[name]().fit(data, np.random.default_rng(9)) for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize(
    ("name", "settings", "fault"),
    [
        ("least-squares", {"c": 1.0}, "method.c: least-squares has no such setting; it has none"),
        ("ranksvm", {"rounds": 5}, "method.rounds: ranksvm has no such setting; it has c, tolerance"),
        ("lambdarank", {"epochs": 1.5}, "lambdarank: method.epochs: expected int, got float"),
        ("lambdamart", {"num_leaves": "many"}, "lambdamart: method.num_leaves: expected int, got str"),
    ],
)
def test_settings_of_another_name_or_kind_are_refused(name: str, settings: dict[str, object], fault: str) -> None:
    """Before anything runs, and in words of the preset."""
    with pytest.raises(PresetError) as refused:
        label_ranker(MethodChoice(name=name, settings=settings))
    assert str(refused.value) == fault


def test_refused_settings() -> None:
    """What is not positive is an error."""
    with pytest.raises(ValueRangeError):
        RankSVM(c=0.0)
    with pytest.raises(ValueRangeError):
        LambdaRank(k=0)


def test_what_a_cell_knows_of_them_is_so() -> None:
    """The names that a cell goes by, without loading the compiler, are those of the rankers."""
    assert set(LEARN_FROM_LABELS) == {*LABEL_RANKERS, *TREES}
