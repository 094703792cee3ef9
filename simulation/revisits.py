"""A federated round of FedIPS by the four verbs: each user comes back to its queries until it has clicked enough.

The paper (Section 4) has every user issue 5 queries per round and click m = 10 documents in it, without saying how the
clicks come about. We read: a round's queries are drawn at its start, uniformly with replacement, and their pages are
visited in turn, again and again, until there are m clicks. The page with the m-th click is read to its end, so a round
may have a few more: stopping inside a page would favour its top. After MAX_SWEEPS visits of each page the round ends
anyway; only pages of nothing relevant read by a user with a strong bias come near that.
"""

from __future__ import annotations

import numpy as np

from foltr.federated.fedips import FedIPS, FedIPSMessage
from foltr.federated.method import Model
from foltr.ranking.interaction import Interaction
from foltr.ranking.metrics import max_rr, ndcg_at_k, reciprocal_rank
from simulation.federation import Population, Shown
from simulation.streams import Streams, keep_user_state, user_generator

MAX_SWEEPS = 50
"""visits of each page in a round, at most"""

_Page = tuple[float, float, float, int]
"""nDCG, reciprocal rank, MaxRR, clicks"""


def run_round(method: FedIPS, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round, client after client: `n_local` queries each.

    A round costs a user's stream one number for each query, then what `Users.clicks` draws on each visit. With
    propensity="true" a device knows its user's row of `Users.examination`.
    """
    messages: list[FedIPSMessage] = []
    pages: list[_Page] = []
    for client in range(population.n_clients):
        rng = user_generator(streams, client)
        message, visited = _client(method, model, population, client, rng, streams.devices[client])
        messages.append(message)
        pages += visited
        keep_user_state(streams, client, rng)
    ndcg, first, highest, clicks = (sum(column) for column in zip(*pages, strict=True))
    return method.aggregate(model, messages), Shown(len(pages), ndcg, first, highest, int(clicks))


def _client(
    method: FedIPS,
    model: Model,
    population: Population,
    client: int,
    user: np.random.Generator,
    device: np.random.Generator,
) -> tuple[FedIPSMessage, list[_Page]]:
    """A device's round."""
    data, users = population.data, population.users
    looks = users.alone(client).examination[0]
    local = method.begin_knowing(model, looks)
    queries = [population.draw_query(client, user) for _ in range(population.local[client])]
    pages: list[_Page] = []
    n_clicks = 0
    for query in queries * MAX_SWEEPS:
        features, grades = data.features[data.rows(query)].astype(np.float64), data.grades[data.rows(query)]
        ranking = method.rank(local, features, user, k=users.k)
        shown = grades[ranking]
        clicks = users.clicks(shown, client, user)
        local = method.learn(local, Interaction(features, ranking, clicks))
        opened = int(clicks.sum())
        pages.append(
            (ndcg_at_k(shown, users.k, judged=grades), reciprocal_rank(shown), max_rr(clicks, users.k), opened)
        )
        n_clicks += opened
        if n_clicks >= method.clicks:
            break
    return method.report(local, device), pages
