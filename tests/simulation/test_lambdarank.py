"""LambdaRank's lambdas: by hand, and by changing places."""

from __future__ import annotations

from math import exp, log2

import numpy as np
import pytest

from foltr.ranking.metrics import ndcg_at_k
from simulation.lambdarank import lambdas


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
