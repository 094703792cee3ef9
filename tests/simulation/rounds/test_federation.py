from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from foltr.federated.method import Model
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, Ranker
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import Users
from simulation.rounds.federation import Population, run_round
from simulation.rounds.streams import make_streams, user_generator


@dataclass(frozen=True)
class Recorder:
    """A method that shows the candidates in their order and sends what it was given."""

    ranker: Ranker

    def initial(self, rng: np.random.Generator) -> Model:
        return Model(np.zeros(1))

    def begin(self, model: Model, rng: np.random.Generator) -> tuple[Interaction, ...]:
        return ()

    def rank(self, local: Any, features: npt.NDArray[np.float64], rng: Any, *, k: int) -> npt.NDArray[np.intp]:
        return np.arange(min(k, len(features)))

    def learn(self, local: tuple[Interaction, ...], interaction: Interaction) -> tuple[Interaction, ...]:
        return (*local, interaction)

    def report(self, local: tuple[Interaction, ...], rng: np.random.Generator) -> tuple[Interaction, ...]:
        return local

    def aggregate(self, model: Model, messages: Sequence[tuple[Interaction, ...]]) -> Model:
        return Model(np.array([len(message) for message in messages], dtype=np.float64), model.round + 1)


def population(n_clients: int, n_local: int) -> Population:
    """Two queries with the grades 0 1 2 and 0; users open every relevant result and never stop."""
    features = np.array([[0.0], [1.0], [2.0], [3.0]], dtype=np.float32)
    data = QuerySet(features, np.array([0, 1, 2, 0], dtype=np.int8), np.array([0, 3, 4]), ("a", "b"))
    return Population(data, Users(np.array([[0.0, 1.0, 1.0]]), np.zeros((1, 3)), np.ones((1, 10))), n_clients, n_local)


def test_shown_by_hand() -> None:
    """Every page of query a: nDCG (1 / log2 3 + 3 / 2) / (3 + 1 / log2 3), first click at rank 2, two clicks."""
    streams = make_streams(0, 4)
    on_a = sum(int((user_generator(streams, client).random() * 2) < 1) for client in range(4))
    assert 0 < on_a < 4
    model, shown = run_round(Recorder(Linear(1)), Model(np.zeros(1)), population(4, 1), streams)
    ndcg = (1 / log2(3) + 3 / 2) / (3 + 1 / log2(3))
    assert (shown.interactions, shown.clicks) == (4, 2 * on_a)
    assert shown.ndcg == pytest.approx(on_a * ndcg)
    assert (shown.reciprocal_rank, shown.max_rr) == (on_a / 2, on_a / 2)
    assert model.theta.tolist() == [1, 1, 1, 1]


def test_every_client_learns_from_its_own_pages() -> None:
    """Three clients with five interactions send five pages each, and the round counts on."""
    model, shown = run_round(Recorder(Linear(1)), Model(np.zeros(1), 6), population(3, 5), make_streams(0, 3))
    assert model.theta.tolist() == [5, 5, 5]
    assert (model.round, shown.interactions) == (7, 15)


def test_streams_go_on_from_round_to_round() -> None:
    """Two rounds see other pages than the first one twice."""
    streams = make_streams(2, 2)
    _, first = run_round(Recorder(Linear(1)), Model(np.zeros(1)), population(2, 40), streams)
    _, second = run_round(Recorder(Linear(1)), Model(np.zeros(1)), population(2, 40), streams)
    _, again = run_round(Recorder(Linear(1)), Model(np.zeros(1)), population(2, 40), make_streams(2, 2))
    assert first == again
    assert first != second
