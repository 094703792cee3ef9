"""The compiled round of FOLtR-ES: the same theta as the four verbs from the same streams."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.foltr_es import FoltrES, perturbation
from foltr.federated.method import Model
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.batched import foltr_es_rounds
from simulation.batched.foltr_es_rounds import perturb, run_round
from simulation.batched.pages import best_first
from simulation.data.queries import QuerySet
from simulation.rounds import federation
from simulation.rounds.click_models import make_users
from simulation.rounds.federation import Population
from simulation.rounds.streams import Streams, make_streams


def made(lengths: list[int], *, n_features: int = 7, dtype: type = np.float64) -> QuerySet:
    """Queries of these lengths with random features and grades 0 to 2."""
    rng = np.random.default_rng(0)
    n = sum(lengths)
    features = rng.random((n, n_features)).astype(dtype)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return QuerySet(features, rng.integers(0, 3, n).astype(np.int8), offsets, tuple(map(str, range(len(lengths)))))


def population(data: QuerySet, *, clicks: str = "informational", n_clients: int = 20, n_local: int = 5) -> Population:
    """Clients who search in `data`."""
    users = make_users(clicks, top_grade=2, n_clients=n_clients, eta=np.linspace(0, 2, n_clients))
    return Population(data, users, n_clients, n_local)


def played(play: federation.Round, method: FoltrES, where: Population, *, rounds: int) -> tuple[Model, list, Streams]:
    """The model after some rounds, what users saw in each, and the streams as they were left."""
    streams = make_streams(3, where.n_clients)
    model, seen = method.initial(streams.model), []
    for _ in range(rounds):
        model, shown = play(method, model, where, streams)
        seen.append(shown)
    return model, seen, streams


@pytest.mark.parametrize(
    ("ranker", "reward", "antithetic", "truth_probability"),
    [
        (Linear(7), "max-rr", True, 1.0), (Linear(7), "max-rr", False, 0.6), (Linear(7), "dcg", True, 0.6),
        (Linear(7), "ndcg", True, 1.0), (Linear(7), "ndcg", False, 0.6),
        (Neural(7, 10), "max-rr", True, 0.6), (Neural(7, 10), "dcg", False, 1.0),
    ],
)  # fmt: skip
def test_as_the_four_verbs(ranker: Ranker, reward: str, antithetic: bool, truth_probability: float) -> None:
    """Theta, moments, what was seen and where every stream stands, after three rounds of 20 clients."""
    method = FoltrES(
        ranker,
        sigma=0.1,
        learning_rate=0.05,
        reward=reward,  # type: ignore[arg-type]
        antithetic=antithetic,
        truth_probability=truth_probability,
        false_answers="click-count" if reward == "dcg" else "uniform",
    )
    where = population(made([1, 3, 10, 13, 25]))
    expected, expected_seen, left = played(federation.run_round, method, where, rounds=3)
    found, seen, stand = played(run_round, method, where, rounds=3)
    assert found.theta == pytest.approx(expected.theta, rel=1e-9, abs=1e-12)
    assert found.round == expected.round == 3
    for moment, twin in zip(found.moments, expected.moments, strict=True):
        assert moment == pytest.approx(twin, rel=1e-9, abs=1e-12)
    assert np.array(seen) == pytest.approx(np.array(expected_seen))
    assert (stand.users == left.users).all()
    assert [d.random() for d in stand.devices] == [d.random() for d in left.devices]


@pytest.mark.parametrize(
    ("change", "lengths", "clicks", "n_local", "dtype"),
    [
        ({"k": 3}, [12, 30], "pbm", 5, np.float64),
        ({"k": 3, "reward": "ndcg"}, [12, 30], "pbm", 5, np.float64),
        ({}, [10, 12], "informational", 1, np.float64),
        ({}, [10, 12], "informational", 2, np.float64),
        ({}, [10, 40], "informational", 5, np.float32),
    ],
    ids=["reward cut off before the page", "its ideal too", "one page", "two pages", "scored in 32 bits"],
)
def test_other_cutoffs_pages_and_precisions(
    change: dict[str, Any], lengths: list[int], clicks: str, n_local: int, dtype: type
) -> None:
    """As the four verbs again. Random features have no near ties; one page a round teaches nothing."""
    method = replace(FoltrES(Linear(7), sigma=0.1), **change)
    where = population(made(lengths, dtype=dtype), clicks=clicks, n_local=n_local)
    expected, _, _ = played(federation.run_round, method, where, rounds=2)
    found, _, _ = played(run_round, method, where, rounds=2)
    assert found.theta == pytest.approx(expected.theta, rel=1e-9, abs=1e-12)
    assert found.theta.any() == (n_local > 1)


def test_clients_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where perturbations do not fit in memory together, clients keep their streams and their place in the mean."""
    method, where = FoltrES(Linear(7), sigma=0.1), population(made([10, 25]), clicks="pbm")
    whole, whole_seen, _ = played(run_round, method, where, rounds=2)
    monkeypatch.setattr(foltr_es_rounds, "BLOCK", 7 * 6)
    blocks, blocks_seen, _ = played(run_round, method, where, rounds=2)
    assert blocks.theta == pytest.approx(whole.theta, rel=1e-12, abs=1e-15)
    assert np.array(blocks_seen) == pytest.approx(np.array(whole_seen))


def test_perturbations_are_those_of_the_device() -> None:
    """To the last digit."""
    for seed, n_params in product([0, 12345, 2**32 - 1], [1, 8, 137]):
        v = np.empty(n_params)
        perturb(np.uint64(seed), v)
        assert (v == perturbation(seed, n_params)).all()


def test_best_first_as_by_sorting() -> None:
    """The k best in order, equal ones later first, as a stable ascending sort turned round."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(1, 40)), 10
        scores = rng.integers(0, 6, n).astype(np.float32) if seed % 2 else rng.random(n).astype(np.float32)
        ranking, shown = np.zeros(k, dtype=np.int64), min(k, n)
        assert best_first(scores, n, shown, ranking, np.empty(k, dtype=np.float32))
        assert ranking[:shown].tolist() == np.argsort(scores, kind="stable")[::-1][:k].tolist()


def test_it_learns_what_users_click() -> None:
    """The one feature that tells the grade gets the largest weight."""
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 3, 400).astype(np.int8)
    features = np.concatenate([rng.random((400, 5)), grades[:, None] + rng.random((400, 1))], axis=1)
    data = QuerySet(features.astype(np.float32), grades, np.arange(0, 401, 20), tuple(map(str, range(20))))
    method = FoltrES(Linear(6), truth_probability=0.9)
    model, seen, _ = played(
        foltr_es_rounds.run_round, method, population(data, clicks="perfect", n_clients=500), rounds=40
    )
    assert model.theta.argmax() == 5
    assert seen[-1][3] > seen[0][3] + 500


def test_refused_thetas_and_scores() -> None:
    """A theta or features of another length, and numbers that are none."""
    where, streams = population(made([5])), make_streams(0, 20)
    with pytest.raises(ShapeError):
        run_round(FoltrES(Linear(7)), Model(np.zeros(3)), where, streams)
    with pytest.raises(ShapeError):
        run_round(FoltrES(Linear(3)), Model(np.zeros(3)), where, streams)
    with pytest.raises(ValueRangeError):
        run_round(FoltrES(Linear(7)), Model(np.full(7, np.nan)), where, streams)
