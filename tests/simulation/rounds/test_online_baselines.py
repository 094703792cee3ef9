"""The online baselines learn: on a linear problem that a linear ranker can solve, from simulated clicks alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foltr.federated.coltr import COLTR
from foltr.federated.dbgd import DBGD
from foltr.federated.method import Method
from foltr.ranking.rankers import Linear
from simulation.cells.evaluation import judge
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import make_users
from simulation.rounds.federation import Population, run_round
from simulation.rounds.streams import make_streams

RANKER = Linear(8)


def linear_problem(seed: int, n_queries: int = 60, n_docs: int = 15) -> QuerySet:
    """Documents whose grade is by thresholds of one linear score: the best tenth 2, the next fifth 1."""
    rng = np.random.default_rng(seed)
    features = rng.random((n_queries * n_docs, 8), dtype=np.float32)
    score = features @ np.linspace(-1.0, 1.0, 8)
    grades = np.digitize(score, np.quantile(score, [0.7, 0.9])).astype(np.int8)
    return QuerySet(features, grades, np.arange(n_queries + 1) * n_docs, tuple(map(str, range(n_queries))))


@pytest.mark.parametrize(
    ("method", "at_least"), [(DBGD(RANKER), 0.85), (COLTR(RANKER, n_candidates=50), 0.93)], ids=["dbgd", "coltr"]
)
def test_held_out_ndcg_rises_from_that_of_chance(method: Method[Any, Any], at_least: float) -> None:
    """From about a half to nearly 1 within 800 pages of one client, on queries that were never shown."""
    held_out = judge(linear_problem(1))
    population = Population(linear_problem(0), make_users("navigational", top_grade=2), n_clients=1, n_local=800)
    streams = make_streams(4, 1)
    start = method.initial(streams.model)
    model, shown = run_round(method, start, population, streams)
    before, after = (held_out.evaluate(RANKER, theta).ndcg for theta in (start.theta, model.theta))
    assert shown.interactions == 800
    assert before < 0.7
    assert after > at_least
