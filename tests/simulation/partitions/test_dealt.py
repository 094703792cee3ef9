"""Real users as clients: each its own queries, in order of time, each once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.ranking.rankers import Linear
from simulation.data.datasets import load_fold
from simulation.data.queries import QuerySet, join, select
from simulation.errors import PresetError
from simulation.partitions import ByAsker
from simulation.rounds.click_models import make_users
from simulation.rounds.federation import Population, run_round
from simulation.rounds.streams import make_streams

RNG = np.random.default_rng(0)


def asked(*askers: str) -> QuerySet:
    """The first queries of the sample, asked by these."""
    return replace(select(load_fold("sample").train, range(len(askers))), askers=askers)


def test_each_user_holds_its_own_in_order() -> None:
    """Users in the order of their first query; nothing is drawn."""
    queries = asked("b", "a", "b", "c", "b")
    shares = ByAsker().split(queries, 3, RNG)
    assert [share.qids for share in shares] == [queries.qids[::2], queries.qids[1:2], queries.qids[3:4]]
    assert [set(share.askers) for share in shares] == [{"b"}, {"a"}, {"c"}]


def test_another_number_of_clients_and_queries_of_nobody_are_refused() -> None:
    """The key is named, and how many users there are."""
    with pytest.raises(PresetError, match=r"federation\.clients: 2 users asked, one client each is wanted, got 3"):
        ByAsker().split(asked("a", "b"), 3, RNG)
    with pytest.raises(PresetError, match=r"federation\.partition: kind = \"users\" needs a data set that says who"):
        ByAsker().split(load_fold("sample").train, 3, RNG)


def test_in_order_every_query_is_asked_once_and_then_no_more() -> None:
    """Five and one queries, two a round: 2 + 1, 2, 1, then nobody, and the ranker stays."""
    shares = ByAsker().split(asked("a", "b", "a", "a", "a", "a"), 2, RNG)
    users = make_users("perfect", top_grade=2)
    population = Population(
        join(shares), users, n_clients=2, n_local=2, holds=np.array([[0, 5], [5, 6]]), in_order=True
    )
    asked_for = [[list(population.queries_of(client, t, RNG)) for client in (0, 1)] for t in range(4)]
    assert asked_for == [[[0, 1], [5]], [[2, 3], []], [[4], []], [[], []]]
    method, streams = FPDGD(Linear(46)), make_streams(1, 2)
    model, seen = Model(np.zeros(46)), []
    for _ in range(3):
        model, shown = run_round(method, model, population, streams)
        seen.append(shown.interactions)
    last, nothing = run_round(method, model, population, streams)
    assert seen == [3, 2, 1]
    assert nothing.interactions == 0
    np.testing.assert_array_equal(last.theta, model.theta)


def test_who_has_no_page_left_does_not_hold_the_others_back() -> None:
    """With one client through, the next ranker is the other's alone."""
    queries = asked("a", "b", "a")
    users, method = make_users("perfect", top_grade=2), FPDGD(Linear(46))
    both = Population(
        join(ByAsker().split(queries, 2, RNG)), users, 2, 1, holds=np.array([[0, 2], [2, 3]]), in_order=True
    )
    alone = Population(select(queries, [0, 2]), users, 1, 1, in_order=True)
    start = Model(np.zeros(46), round=1)
    together, _ = run_round(method, start, both, make_streams(1, 2))
    single, _ = run_round(method, start, alone, make_streams(1, 1))
    np.testing.assert_allclose(together.theta, single.theta, rtol=1e-12)
