"""Rounds of FedIPS: the four verbs and the compiled round end at the same model from the same streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fedips import FedIPS
from foltr.federated.method import Model
from foltr.federated.optimizers import Yogi
from foltr.ranking.rankers import Linear, Neural
from simulation.batched import fedips_rounds
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import Users, make_users
from simulation.rounds.federation import Population, Round
from simulation.rounds.round_kinds import COMPILED
from simulation.rounds.streams import make_streams

N_CLIENTS, N_QUERIES, N_FEATURES = 12, 30, 6


def population(gamma: float = 1.5, *, top: int = 2, n_clients: int = N_CLIENTS) -> Population:
    """Queries of 2 to 12 documents, so that some pages are short; the first feature tells the grade."""
    rng = np.random.default_rng(21)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(2, 13, N_QUERIES))]).astype(np.int64)
    grades = rng.choice(3, int(offsets[-1]), p=[0.6, 0.3, 0.1]).astype(np.int8) % (top + 1)
    features = rng.random((len(grades), N_FEATURES)).astype(np.float32)
    features[:, 0] += grades
    data = QuerySet(features, grades, offsets, tuple(map(str, range(N_QUERIES))))
    users = make_users("fedips", top_grade=2, n_clients=n_clients, k=5, rng=rng, eta=gamma)
    return Population(data, users, n_clients, 5)


def play(round_: Round, method: FedIPS, players: Population, *, rounds: int = 3) -> tuple[Model, list[object]]:
    """The model after some rounds, and what else they left behind."""
    streams = make_streams(5, players.n_clients)
    model, seen = method.initial(streams.model), []
    for _ in range(rounds):
        model, shown = round_(method, model, players, streams)
        seen += [shown.interactions, shown.clicks, *(round(x, 8) for x in (shown.ndcg, shown.reciprocal_rank))]
        seen.append(round(shown.max_rr, 8))
    return model, [*seen, streams.users.tolist()]


@pytest.mark.parametrize("propensity", ["true", "estimated", "none"])
@pytest.mark.parametrize("against", ["shown", "retrieved"])
@pytest.mark.parametrize("production", [(), (1.0, 0.5, 0.0, -0.5, 0.0, 0.0)])
def test_compiled_round_is_the_four_verbs(propensity: str, against: str, production: tuple[float, ...]) -> None:
    """Theta, moments, what was shown and the state of every stream agree after three rounds."""
    method = FedIPS(
        Linear(N_FEATURES),
        learning_rate=0.03,
        server=Yogi(),
        propensity=propensity,  # type: ignore[arg-type]
        against=against,  # type: ignore[arg-type]
        smallest_propensity=0.1,
        production=production,
    )
    slow, left = play(fedips_rounds.visiting_round, method, population())
    fast, left_too = play(fedips_rounds.run_round, method, population())
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-12)
    for mine, theirs in zip(fast.moments, slow.moments, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    assert left == left_too
    assert fast.round == slow.round == 3


@pytest.mark.parametrize("propensity", ["true", "estimated", "none"])
def test_mixed_users_of_few_behaviours_are_the_same_compiled(propensity: str) -> None:
    """Each page has one of two behaviours, whichever of the twelve clients it is of: devices know their mean alone."""
    players, looks = population(), np.array([[1.0, 0.5, 0.2, 0.2, 0.2], [1.0, 1.0, 1.0, 0.6, 0.6]])
    mixed = replace(players.users, examination=looks, mixed=True)
    np.testing.assert_allclose(mixed.propensities, [[1.0, 0.75, 0.6, 0.4, 0.4]])
    players = Population(players.data, mixed, N_CLIENTS, 5)
    method = FedIPS(Linear(N_FEATURES), learning_rate=0.03, propensity=propensity)  # type: ignore[arg-type]
    slow, left = play(fedips_rounds.visiting_round, method, players)
    fast, left_too = play(fedips_rounds.run_round, method, players)
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-12)
    assert left == left_too


def test_a_round_ends_with_enough_clicks() -> None:
    """Every user makes m clicks, and no more than the rest of that page adds."""
    players = population(n_clients=1)
    for m in (1, 5, 20):
        streams = make_streams(9, 1)
        method = FedIPS(Linear(N_FEATURES), clicks=m)
        _, shown = fedips_rounds.run_round(method, method.initial(streams.model), players, streams)
        assert m <= shown.clicks <= m + players.users.k - 1


def test_a_user_who_never_clicks_gives_up() -> None:
    """Without clicks the round ends after MAX_SWEEPS visits of each page, and theta stays."""
    players = population()
    silent = Users(np.zeros((1, 3)), np.zeros((1, 3)), players.users.examination)
    players = Population(players.data, silent, 2, 5)
    method, streams = FedIPS(Linear(N_FEATURES)), make_streams(1, 2)
    model = method.initial(streams.model)
    following, shown = fedips_rounds.run_round(method, model, players, streams)
    assert shown.interactions == 2 * 5 * fedips_rounds.MAX_SWEEPS
    assert shown.clicks == 0
    np.testing.assert_array_equal(following.theta, model.theta)


def test_one_row_of_examination_serves_all() -> None:
    """Users who look alike may share one row of propensities."""
    players = population()
    alike = Users(players.users.click, players.users.stop, players.users.examination[:1])
    shared, repeated = (
        Population(players.data, Users(alike.click, alike.stop, rows), N_CLIENTS, 5)
        for rows in (alike.examination, np.repeat(alike.examination, N_CLIENTS, axis=0))
    )
    method = FedIPS(Linear(N_FEATURES), learning_rate=0.01)
    assert play(fedips_rounds.run_round, method, shared)[1] == play(fedips_rounds.run_round, method, repeated)[1]


def test_other_rankers_go_by_the_four_verbs() -> None:
    """A neural ranker has no compiled round and needs none; FedIPS is known to the laboratory."""
    method = FedIPS(Neural(N_FEATURES, 3), learning_rate=0.01)
    one, other = (
        play(which, method, population(), rounds=1)[0]
        for which in (fedips_rounds.run_round, fedips_rounds.visiting_round)
    )
    np.testing.assert_array_equal(one.theta, other.theta)
    assert type(method) in COMPILED


def test_propensities_take_out_the_position() -> None:
    """Where the shown order says nothing of relevance, weighing by propensity finds the feature that does.

    The production ranker sorts by a feature that is noise; FedAvg on clicks of biased users takes that for relevance.
    """
    noise = (0.0, 5.0, 0.0, 0.0, 0.0, 0.0)
    share = {}
    for propensity in ("true", "none"):
        method = FedIPS(
            Linear(N_FEATURES),
            learning_rate=0.002,
            propensity=propensity,  # type: ignore[arg-type]
            production=noise,
        )
        theta = play(fedips_rounds.run_round, method, population(2.0, n_clients=400), rounds=30)[0].theta
        share[propensity] = theta[1] / theta[0]
    assert abs(share["true"]) < 0.5 * abs(share["none"])


def test_what_does_not_fit_is_refused() -> None:
    """A theta of another length, and a learning rate that blows up, are errors."""
    players, streams = population(), make_streams(1, N_CLIENTS)
    method = FedIPS(Linear(N_FEATURES))
    with pytest.raises(ShapeError, match="theta"):
        fedips_rounds.run_round(method, Model(np.zeros(3)), players, streams)
    wild = FedIPS(Linear(N_FEATURES), learning_rate=1e308, propensity="none")
    with pytest.raises(ValueRangeError, match="learning rate"):
        fedips_rounds.run_round(wild, Model(np.zeros(N_FEATURES)), players, streams)
