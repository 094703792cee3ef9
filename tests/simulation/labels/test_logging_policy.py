"""The production ranker: its gradient, how many queries it sees, and what it ignores."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.ranking.rankers import Linear
from simulation.cells.evaluation import judge
from simulation.data.queries import QuerySet
from simulation.labels.logging_policy import differing, logging_policy, pair_gradient, without_indifferent


def queries(grades: list[list[int]], rng: np.random.Generator, *, signal: float = 3.0) -> QuerySet:
    """Three random features, of which the first tells the grade with some noise."""
    flat = np.array([grade for query in grades for grade in query], dtype=np.int8)
    features = rng.normal(size=(len(flat), 3))
    features[:, 0] += signal * flat
    offsets = np.cumsum([0, *(len(query) for query in grades)]).astype(np.int64)
    names = tuple(f"q{number}" for number in range(len(grades)))
    return QuerySet(features.astype(np.float32), flat, offsets, names, tuple(f"d{row}" for row in range(len(flat))))


def test_gradient_by_hand() -> None:
    """Three pairs, one of them ordered by a margin of 1: the other two pull, each with a third."""
    theta, features = np.array([1.0]), np.array([[3.0], [1.0], [2.5]])
    # scores 3, 1, 2.5: pairs (0, 1) is apart by 2, (0, 2) by 0.5, (2, 1) by 1.5
    found = pair_gradient(theta, features, np.array([2, 0, 1], dtype=np.int8))
    assert found == pytest.approx([(2.5 - 3.0) / 3])


def test_gradient_is_the_slope_of_the_loss() -> None:
    """The gradient is the finite difference of the mean pair hinge."""
    rng = np.random.default_rng(3)
    theta, features, grades = rng.normal(size=4), rng.normal(size=(7, 4)), rng.integers(0, 3, 7).astype(np.int8)

    def loss(at: np.ndarray) -> float:
        s = features @ at
        pairs = [max(0.0, 1 - (s[i] - s[j])) for i in range(7) for j in range(7) if grades[i] > grades[j]]
        return float(np.mean(pairs))

    slope = [(loss(theta + 1e-6 * unit) - loss(theta - 1e-6 * unit)) / 2e-6 for unit in np.eye(4)]
    np.testing.assert_allclose(pair_gradient(theta, features, grades), slope, atol=1e-8)


def test_one_query_in_a_hundred() -> None:
    """It learns from 1 % of the queries and at least one: changing the labels of the others changes nothing."""
    data = queries([[0, 1, 2, 0]] * 40, np.random.default_rng(5))
    theta = logging_policy(data, np.random.default_rng(7))
    blind = 0
    for query in range(40):
        grades = data.grades.copy()
        grades[data.rows(query)] = [2, 1, 0, 0]
        other = QuerySet(data.features, grades, data.offsets, data.qids)
        blind += np.array_equal(theta, logging_policy(other, np.random.default_rng(7)))
    assert blind == 39


def test_it_ranks_better_than_nothing() -> None:
    """Even from one query it finds the feature that tells the grade."""
    data = queries([[0, 1, 2, 0, 0, 1]] * 60, np.random.default_rng(9))
    theta = logging_policy(data, np.random.default_rng(11))
    assert (
        judge(data, k=5).evaluate(Linear(3), theta).ndcg > judge(data, k=5).evaluate(Linear(3), np.zeros(3)).ndcg + 0.1
    )


def test_indifferent_queries_are_left_out() -> None:
    """Queries whose documents all have one grade go, with their rows and names."""
    data = queries([[1, 1], [0, 1, 0], [0], [2, 0]], np.random.default_rng(13))
    assert differing(data).tolist() == [1, 3]
    kept = without_indifferent(data)
    assert kept.qids == ("q1", "q3")
    assert kept.docids == ("d2", "d3", "d4", "d6", "d7")
    assert kept.offsets.tolist() == [0, 3, 5]
    np.testing.assert_array_equal(kept.features, data.features[[2, 3, 4, 6, 7]])
    assert without_indifferent(kept) is kept


def test_nothing_to_learn_from() -> None:
    """Without differing grades there is no production ranker, and no share outside (0, 1]."""
    flat = queries([[1, 1], [0, 0]], np.random.default_rng(15))
    with pytest.raises(ValueRangeError, match="different grades"):
        logging_policy(flat, np.random.default_rng(1))
    with pytest.raises(ValueRangeError, match="different grades"):
        without_indifferent(flat)
    with pytest.raises(ValueRangeError, match="share"):
        logging_policy(flat, np.random.default_rng(1), share=0.0)
