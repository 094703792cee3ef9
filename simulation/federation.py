"""One federated round over simulated clients: by the four verbs, or compiled where a method has a batched path.

`run_round` is the reference: it calls the very functions that a device and a server call. The compiled rounds in
simulation.batched draw the same numbers from the same streams and must end at the same theta; tests compare them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foltr.federated.method import Method, Model
from foltr.ranking.interaction import Interaction
from foltr.ranking.metrics import max_rr, ndcg_at_k, reciprocal_rank
from simulation.click_models import Users
from simulation.data.queries import QuerySet
from simulation.streams import Streams, keep_user_state, user_generator


@dataclass(frozen=True, slots=True)
class Shown:
    """What the users of one round saw: sums over its interactions."""

    interactions: int
    ndcg: float
    """nDCG of the shown pages by their grades, ideal over all candidates; 0 for a query without relevant documents"""
    reciprocal_rank: float
    """1 / rank of the first shown document with a grade above 0"""
    max_rr: float
    """1 / rank of the highest click"""
    clicks: int


@dataclass(frozen=True, slots=True)
class Population:
    """Who takes part in a round, and with what."""

    data: QuerySet
    """every client draws its queries from here, uniformly with replacement: query int(u * n_queries)"""
    users: Users
    n_clients: int
    n_local: int
    """interactions of each client in a round"""


Round = Callable[[Any, Model, Population, Streams], tuple[Model, Shown]]


def run_round(method: Method[Any, Any], model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round by the four verbs, client after client.

    A page costs the user's stream: one number for the query, what `method.rank` draws, what `Users.clicks` draws.
    """
    messages = []
    pages: list[tuple[float, float, float, int]] = []
    for client in range(population.n_clients):
        rng = user_generator(streams, client)
        local = method.begin(model, streams.devices[client])
        for _ in range(population.n_local):
            interaction, page = _visit(method, local, population, client, rng)
            local = method.learn(local, interaction)
            pages.append(page)
        messages.append(method.report(local, streams.devices[client]))
        keep_user_state(streams, client, rng)
    ndcg, first, highest, clicks = (sum(column) for column in zip(*pages, strict=True))
    return method.aggregate(model, messages), Shown(len(pages), ndcg, first, highest, int(clicks))


def _visit(
    method: Method[Any, Any], local: object, population: Population, client: int, rng: np.random.Generator
) -> tuple[Interaction, tuple[float, float, float, int]]:
    """One page: a query, the ranking shown, the clicks on it."""
    data, users = population.data, population.users
    rows = data.rows(int(rng.random() * data.n_queries))
    features, grades = data.features[rows].astype(np.float64), data.grades[rows]
    ranking = method.rank(local, features, rng, k=users.k)
    shown = grades[ranking]
    clicks = users.clicks(shown, client, rng)
    page = (
        ndcg_at_k(shown, users.k, judged=grades),
        reciprocal_rank(shown),
        max_rr(clicks, users.k),
        int(clicks.sum()),
    )
    return Interaction(features, ranking, clicks), page
