"""Evaluation of all queries at once: the same numbers as the plain metrics, query by query, and as ir-measures."""

from __future__ import annotations

from dataclasses import astuple
from itertools import pairwise, product
from math import log2, nan

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, ERR, RR, nDCG

from foltr.errors import ValueRangeError
from foltr.ranking.metrics import average_precision, max_rr, ndcg_at_k, reciprocal_rank
from foltr.ranking.rankers import Linear, Neural
from simulation.cells.evaluation import (
    NoRelevant,
    Ties,
    expected_reciprocal_rank,
    judge,
    pages,
    ranked_rows,
    scores,
)
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import make_users


def queries_of(*grades: list[int], features: np.ndarray | None = None) -> QuerySet:
    """Queries of these grades whose one feature is, unless given, the place in the data counted downwards."""
    flat = np.array([g for query in grades for g in query], dtype=np.int8)
    offsets = np.concatenate([[0], np.cumsum([len(query) for query in grades])]).astype(np.int64)
    shown = np.arange(len(flat), 0, -1, dtype=np.float32)[:, None] if features is None else features
    return QuerySet(shown, flat, offsets, tuple(f"q{i}" for i in range(len(grades))))


def random_queries(seed: int, n_queries: int = 40) -> QuerySet:
    """Queries of 1 to 30 documents, a third of them without a relevant one; all features differ."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 31, n_queries)
    some = rng.random(n_queries) < 0.7
    grades = [(rng.integers(0, 5, n) * (rng.random(n) < 0.4) * s).tolist() for n, s in zip(lengths, some, strict=True)]
    return queries_of(*grades, features=rng.random((int(lengths.sum()), 6), dtype=np.float32))


def test_two_queries_by_hand() -> None:
    """Shown in the order of the data: grades 0, 2 and 1, 0, 1, of which the ideal is 2, 0 and 1, 1, 0."""
    found = judge(queries_of([0, 2], [1, 0, 1])).evaluate(Linear(1), np.ones(1))
    ndcg = ((3 / log2(3)) / 3 + (1 + 1 / log2(4)) / (1 + 1 / log2(3))) / 2
    assert (found.ndcg, found.mrr, found.map) == pytest.approx((ndcg, (1 / 2 + 1) / 2, (1 / 2 + (1 + 2 / 3) / 2) / 2))
    assert (found.max_rr, found.n_queries) == (None, 2)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("k", [1, 3, 10])
def test_every_query_as_by_the_plain_metrics(seed: int, k: int) -> None:
    """Cutting, ideals and thresholds agree with foltr.ranking.metrics on each query."""
    data, theta = random_queries(seed), np.random.default_rng(seed).standard_normal(6)
    judged = judge(data, k=k, no_relevant="zero", depth=5)
    values = judged.values(ranked_rows(scores(Linear(6), theta, data), data.offsets))
    for q in range(data.n_queries):
        grades = data.grades[data.rows(q)]
        shown = grades[np.argsort(-(data.features[data.rows(q)] @ theta), kind="stable")]
        assert values.ndcg[q] == pytest.approx(ndcg_at_k(shown, k))
        assert values.reciprocal_rank[q] == pytest.approx(reciprocal_rank(shown, k=5))
        assert values.average_precision[q] == pytest.approx(average_precision(shown, k=5))


@pytest.mark.parametrize("seed", range(2))
def test_means_as_by_ir_measures(seed: int) -> None:
    """nDCG@10, MRR and MAP of whole runs agree, with a query without relevant documents counted as zero."""
    data, theta = random_queries(seed), np.random.default_rng(seed).standard_normal(6)
    found = judge(data, no_relevant="zero").evaluate(Linear(6), theta)
    assert (found.ndcg, found.mrr, found.map) == pytest.approx(theirs(data, theta), abs=1e-9)


def test_expected_reciprocal_rank_by_hand() -> None:
    """Of a scale to 2: R is 3/4, 0, 1/4 for grades 2, 0, 1, so a quarter goes on, of whom a quarter stops at rank 3."""
    shown = np.array([[2, 0, 1], [0, 1, -1], [0, 0, 0]], dtype=np.int8)
    assert expected_reciprocal_rank(shown, 2).tolist() == [3 / 4 + (1 / 4) * (1 / 4) / 3, (1 / 4) / 2, 0.0]


@pytest.mark.parametrize("k", [1, 4, 10])
def test_expected_reciprocal_rank_of_users_who_stop(k: int) -> None:
    """The mean of 1 / rank over every way in which users may have stopped or gone on at each of the first k ranks."""
    data, theta = random_queries(4), np.random.default_rng(4).standard_normal(6)
    expected = []
    for q in range(data.n_queries):
        grades = data.grades[data.rows(q)]
        shown = grades[np.argsort(-(data.features[data.rows(q)] @ theta), kind="stable")][:k]
        value = 0.0
        for stops in product((False, True), repeat=len(shown)):
            weights = [
                (2.0**g - 1) / 16 if stop else 1 - (2.0**g - 1) / 16 for g, stop in zip(shown, stops, strict=True)
            ]
            value += np.prod(weights) / (1 + stops.index(True)) if any(stops) else 0.0
        expected.append(value)
    found = judge(data, k=k, top_grade=4, no_relevant="zero").evaluate(Linear(6), theta)
    assert found.err == pytest.approx(np.mean(expected))


def test_expected_reciprocal_rank_as_by_gdeval() -> None:
    """TREC's program, which has four grades above 0 and prints five digits; without a scale there is none."""
    data, theta = random_queries(5), np.random.default_rng(5).standard_normal(6)
    qrels, run = [], []
    for q in range(data.n_queries):
        for i, row in enumerate(range(data.rows(q).start, data.rows(q).stop)):
            qrels.append(ir_measures.Qrel(str(q), f"d{i}", int(data.grades[row])))
            run.append(ir_measures.ScoredDoc(str(q), f"d{i}", float(data.features[row].astype(np.float64) @ theta)))
    their = {value.query_id: value.value for value in ir_measures.iter_calc([ERR @ 10], qrels, run)}
    each = judge(data, no_relevant="zero", top_grade=4)
    shown = pages(data, ranked_rows(scores(Linear(6), theta, data), data.offsets), k=10)
    own = expected_reciprocal_rank(shown, 4)
    assert own == pytest.approx([their.get(str(q), 0.0) for q in range(data.n_queries)], abs=6e-6)
    assert each.evaluate(Linear(6), theta).err == pytest.approx(own.mean())
    assert judge(data).evaluate(Linear(6), theta).err is None
    with pytest.raises(ValueRangeError, match="top_grade: 3 is below 4"):
        judge(data, top_grade=3)


def theirs(data: QuerySet, theta: np.ndarray) -> tuple[float, float, float]:
    """nDCG@10, MRR and MAP by ir-measures, whose gains are what it is told are grades."""
    qrels, run = [], []
    for q, qid in enumerate(data.qids):
        rows = data.rows(q)
        for i, (row, grade) in enumerate(zip(data.features[rows], data.grades[rows].tolist(), strict=True)):
            qrels.append(ir_measures.Qrel(qid, f"d{i}", 2**grade - 1))
            run.append(ir_measures.ScoredDoc(qid, f"d{i}", float(row.astype(np.float64) @ theta)))
    means = ir_measures.calc_aggregate([nDCG @ 10, RR, AP], qrels, run)
    return means[nDCG @ 10], means[RR], means[AP]


@pytest.mark.parametrize(("policy", "ndcg", "count"), [("skip", 1.0, 1), ("zero", 0.5, 2), ("one", 1.0, 2)])
def test_queries_without_relevant_documents(policy: NoRelevant, ndcg: float, count: int) -> None:
    """One perfect query and one with nothing to find: left out, or counted as 0 or 1, for all three metrics."""
    found = judge(queries_of([1, 0], [0, 0, 0]), no_relevant=policy).evaluate(Linear(1), np.ones(1))
    assert (found.ndcg, found.mrr, found.map, found.n_queries) == (ndcg, ndcg, ndcg, count)


def test_nothing_to_count_is_nan() -> None:
    """Without a query that counts there is no mean."""
    found = judge(queries_of([0, 0])).evaluate(Linear(1), np.ones(1))
    assert (found.ndcg, found.n_queries) == (pytest.approx(nan, nan_ok=True), 0)


@pytest.mark.parametrize(("ties", "rank"), [("first", 1), ("last", 3)])
def test_equal_scores(ties: Ties, rank: int) -> None:
    """With all scores equal, the first document of the data is shown first, or last."""
    found = judge(queries_of([1, 0, 0], [1, 0, 0]), ties=ties).evaluate(Linear(1), np.zeros(1))
    assert found.mrr == pytest.approx(1 / rank)


def test_expected_max_rr_of_the_shown_pages() -> None:
    """Perfect user, two results on a page, grades 0, 2, 2 and 0: half a point and nothing, over all queries."""
    users = make_users("perfect", top_grade=2, k=2)
    found = judge(queries_of([0, 2, 2], [0])).evaluate(Linear(1), np.ones(1), users=users)
    assert found.max_rr == pytest.approx((max_rr([0, 1]) + 0) / 2)
    assert found.n_queries == 1


def test_pages_end_with_their_query() -> None:
    """Shorter queries are filled with -1."""
    data = queries_of([3, 1], [2])
    assert pages(data, np.array([1, 0, 2]), k=3).tolist() == [[1, 3, -1], [2, -1, -1]]


def test_scale_and_the_order_of_documents_change_nothing() -> None:
    """Doubling theta keeps every ranking, and so does turning each query's documents round when no scores are equal."""
    data, theta = random_queries(9), np.random.default_rng(9).standard_normal(6)
    found = judge(data).evaluate(Linear(6), theta)
    turned = np.concatenate([np.arange(end - 1, start - 1, -1) for start, end in pairwise(data.offsets)])
    other = QuerySet(data.features[turned], data.grades[turned], data.offsets, data.qids)
    assert judge(data).evaluate(Linear(6), 2 * theta) == found
    assert astuple(judge(other).evaluate(Linear(6), theta))[:3] == pytest.approx(astuple(found)[:3])


def test_a_net_is_scored_as_by_the_ranker() -> None:
    """Blocks of documents give the scores that the ranker gives for all at once."""
    rng = np.random.default_rng(0)
    data = queries_of([0] * 1500, [1] * 700, features=rng.random((2200, 4), dtype=np.float32))
    ranker = Neural(4, 5)
    theta = ranker.initial(rng)
    expected = ranker.score(theta, data.features.astype(np.float64))
    assert scores(ranker, theta, data) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_scores_that_are_no_numbers_are_refused() -> None:
    """A model that has diverged is an error."""
    with pytest.raises(ValueRangeError, match="2 of 2 scores"):
        judge(queries_of([1, 0])).evaluate(Linear(1), np.array([np.inf]))
