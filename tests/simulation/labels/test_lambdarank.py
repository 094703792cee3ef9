"""LambdaRank's lambdas: by hand, and by changing places."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from foltr.ranking.metrics import ndcg_at_k
from foltr.ranking.rankers import make_ranker
from simulation.cells.evaluation import judge
from simulation.data.queries import QuerySet
from simulation.labels.lambdarank import LambdaRank, lambdas
from simulation.rounds.click_models import make_users


@pytest.mark.parametrize("k", [2, 5])
def test_lambdas_by_changing_places(k: int) -> None:
    """The weight of a pair is the change of nDCG@k when two documents of the ranking are exchanged."""
    rng = np.random.default_rng(k)
    scores, grades = rng.standard_normal(6), rng.integers(0, 4, 6).astype(np.int8)
    order = np.argsort(-scores)
    expected, total = np.zeros(6), 0.0
    for i in range(6):
        for j in range(6):
            if grades[i] > grades[j]:
                exchanged = np.array([{i: j, j: i}.get(int(d), int(d)) for d in order])
                change = ndcg_at_k(grades[exchanged], k, judged=grades) - ndcg_at_k(grades[order], k, judged=grades)
                pull = abs(change) / (1 + exp(scores[i] - scores[j]))
                total += abs(change)
                expected[i] += pull
                expected[j] -= pull
    assert lambdas(scores, grades, k=k) == pytest.approx(expected / total)


@pytest.mark.parametrize("copies", [50])
def test_a_longer_list_of_the_same_documents_moves_theta_by_the_same(copies: int) -> None:
    """A good and a bad document, each so many times: theta ends where it ends with one of each."""
    rng = np.random.default_rng(copies)
    features, grades = rng.random((2, 3)).astype(np.float32), np.array([1, 0], dtype=np.int8)
    short = QuerySet(features, grades, np.array([0, 2]), ("q",))
    long = QuerySet(features.repeat(copies, axis=0), grades.repeat(copies), np.array([0, 2 * copies]), ("q",))
    ends = [LambdaRank(epochs=5).fit(data, np.random.default_rng(0)) for data in (short, long)]
    assert ends[1] == pytest.approx(ends[0], rel=1e-6)


@pytest.mark.parametrize("n_features", [5, 200])
def test_scores_do_not_depend_on_units_or_on_how_often_a_feature_is_there(n_features: int) -> None:
    """Features in other units, shifted, or each twice, give the same scores up to a constant."""
    rng = np.random.default_rng(n_features)
    queries = made_up_queries(rng, n_queries=4, n_docs=10, n_features=n_features)
    x = queries.features
    scores = x @ LambdaRank(epochs=3).fit(queries, np.random.default_rng(0))
    units = rng.uniform(0.5, 2.0, n_features) * 4096
    for other in (x * units + 3.0, np.hstack([x, x])):
        changed = replace(queries, features=other.astype(np.float32))
        again = changed.features @ LambdaRank(epochs=3).fit(changed, np.random.default_rng(0))
        assert again - again.mean() == pytest.approx(scores - scores.mean(), abs=1e-4)


@pytest.mark.parametrize(("n_docs", "n_features"), [(8, 46), (200, 45)])
def test_the_default_learns_from_lists_of_any_length(n_docs: int, n_features: int) -> None:
    """What a linear ranker can tell it learns to tell, from short and long lists, few and many features."""
    rng = np.random.default_rng(n_docs)
    queries = made_up_queries(rng, n_queries=40, n_docs=n_docs, n_features=n_features)
    theta = LambdaRank().fit(queries, rng)
    judged = judge(queries, k=10, no_relevant="skip")
    users = make_users("perfect", top_grade=2)
    assert judged.evaluate(make_ranker("linear", n_features), theta, users=users).ndcg > 0.85


def made_up_queries(rng: np.random.Generator, *, n_queries: int, n_docs: int, n_features: int) -> QuerySet:
    """Grades 0 to 2 by a hidden linear ranker and some noise; features of log-normal sizes, as counts have."""
    x = np.exp(rng.normal(size=(n_queries * n_docs, n_features)))
    worth = x @ rng.normal(size=n_features) + 2.0 * rng.normal(size=len(x))
    grades = np.searchsorted(np.quantile(worth, [0.7, 0.9]), worth).astype(np.int8)
    offsets = np.arange(0, len(x) + 1, n_docs)
    return QuerySet(x.astype(np.float32), grades, offsets, tuple(map(str, range(n_queries))))


def test_lambdas_without_relevant_documents() -> None:
    """No document can rise."""
    assert lambdas(np.zeros(2), np.zeros(2, dtype=np.int8), k=10).tolist() == [0.0, 0.0]
