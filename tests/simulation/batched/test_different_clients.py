"""Compiled rounds of clients that differ in what they hold, how they click and how often they search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.batched.fpdgd_rounds import run_round
from simulation.data.queries import join
from simulation.partitions.grades import Grades
from simulation.partitions.intents import Intents
from simulation.rounds import federation
from simulation.rounds.click_models import in_turn, make_users
from simulation.rounds.federation import Population, Round
from simulation.rounds.streams import make_streams
from tests.simulation.judged_queries import random_queries

KINDS = [make_users(kind, top_grade=2) for kind in ("perfect", "navigational", "informational")]


def populations() -> dict[str, Population]:
    """Three clients, each time another difference between them; float64, so that scores are as exact as the verbs'."""
    data = random_queries()
    data = replace(data, features=data.features.astype(np.float64))
    labelled = replace(data, label_sets=np.stack([data.grades, 2 - data.grades, np.minimum(data.grades, 1)]))
    rng = np.random.default_rng(1)
    same = Population(data, KINDS[2], 3, 6)
    found = {
        "own users": replace(same, users=in_turn(KINDS, 3)),
        "users of every page": replace(same, users=replace(in_turn(KINDS, 3), mixed=True)),
        "own effort": replace(same, n_local=np.array([1, 3, 8])),
    }
    for name, partition in (("two grades each", Grades(each=2)), ("own labels", Intents())):
        shares = partition.split(labelled, 3, rng)
        ends = np.cumsum([0, *(share.n_queries for share in shares)])
        found[name] = replace(same, data=join(shares), holds=np.stack([ends[:-1], ends[1:]], axis=1))
    found["all at once"] = replace(
        found["own labels"], users=found["users of every page"].users, n_local=found["own effort"].n_local
    )
    return found


@pytest.mark.parametrize("ranker", [Linear(4), Neural(4, n_hidden=5)])
@pytest.mark.parametrize("difference", populations())
def test_the_compiled_round_is_the_four_verbs(difference: str, ranker: Ranker) -> None:
    """Five rounds: the same theta, weighted by each client's pages, and the same pages and clicks."""
    population, method = populations()[difference], FPDGD(ranker, learning_rate=0.3)

    def played(play: Round) -> tuple[np.ndarray, list[tuple[int, int, float]]]:
        streams, shown = make_streams(5, 3), []
        model = method.initial(streams.model)
        for _ in range(5):
            model, page = play(method, model, population, streams)
            shown.append((page.interactions, page.clicks, round(page.ndcg, 9)))
        return model.theta, shown

    (compiled, seen), (verbs, twin) = played(run_round), played(federation.run_round)
    np.testing.assert_allclose(compiled, verbs, rtol=1e-9, atol=1e-12)
    assert seen == twin
    assert all(interactions == population.local.sum() for interactions, _, _ in seen)
