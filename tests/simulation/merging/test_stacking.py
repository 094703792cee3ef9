"""Stacking."""

from __future__ import annotations

import numpy as np

from simulation.cells.evaluation import judge
from simulation.data.queries import QuerySet
from simulation.labels.label_rankers import LeastSquares, learned_scorer
from simulation.merging.two_owners import with_scores
from tests.simulation.judged_queries import queries


def test_scores_become_the_last_features() -> None:
    """In the order of the rankers; everything else is as it was."""
    data = queries([[1.0], [2.0], [3.0]], [0, 1, 2], 2, 1)
    stacked = with_scores(data, lambda q: 10.0 * q.features[:, 0], lambda q: -q.features[:, 0].astype(np.float64))
    assert stacked.features.tolist() == [[1, 10, -1], [2, 20, -2], [3, 30, -3]]
    assert stacked.qids == data.qids
    assert stacked.grades.tolist() == data.grades.tolist()


def test_a_stacked_ranker_beats_both_where_each_knows_one_half() -> None:
    """Grades are a + b; one owner has only seen a, the other b (the other feature never varied in its queries)."""
    rng = np.random.default_rng(5)

    def asked(varies: tuple[float, float], n: int) -> QuerySet:
        features = rng.integers(0, 3, size=(n * 8, 2)) * varies
        return queries(features, features.sum(axis=1).astype(int).tolist(), *[8] * n)

    one, two = (
        learned_scorer(LeastSquares(), asked(varies, 20), np.random.default_rng(0)) for varies in ((1, 0), (0, 1))
    )
    stacked = learned_scorer(LeastSquares(), with_scores(asked((1, 1), 20), one, two), np.random.default_rng(0))
    test = asked((1, 1), 50)
    judged = judge(test)
    first, second, both = (
        judged.evaluate_scores(found).ndcg for found in (one(test), two(test), stacked(with_scores(test, one, two)))
    )
    assert both > 0.999
    assert max(first, second) < 0.95
