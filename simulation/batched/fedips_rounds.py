"""Rounds of FedIPS: each user comes back to its queries until it has clicked enough; by the four verbs, and compiled.

The paper (Section 4) has every user issue 5 queries per round and click m = 10 documents in it, without saying how the
clicks come about. Our reading: a round's queries are drawn at its start, uniformly with replacement, and their pages
are visited in turn, again and again, until there are m clicks. The page with the m-th click is read to its end, so a
round may have a few more: stopping inside a page would favour its top. After MAX_SWEEPS visits of each page the round
ends anyway; only pages without anything relevant, read by a user with a strong bias, come near that.

Compiled clients are simulated one after another and leave behind only their part of the sums, so a round needs memory
only for the data and the random streams, and adds up in the same order every time. Pages are those of a fixed ranker: a
client's visits can be played to the end before anything is learned from them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector, Int64Matrix
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fedips import FedIPS, FedIPSMessage
from foltr.federated.method import Model
from foltr.online.ips import LEAST, attraction, position_propensities
from foltr.ranking.plackett_luce import rank_with_noise
from foltr.ranking.rankers import Linear
from simulation.batched import compiled, kernel
from simulation.batched.pages import click_through, next_query, pages_of, to_shown
from simulation.batched.pdgd_linear import copy_to
from simulation.batched.simd_sums import dot
from simulation.data.queries import QuerySet
from simulation.rounds.federation import Population, Shown, visit
from simulation.rounds.streams import Streams, keep_user_state, user_generator

MAX_SWEEPS = 50
"""visits of each page in a round, at most"""


def visiting_round(method: FedIPS, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round by the four verbs, client after client: `n_local` queries each.

    A round costs a user's stream one number for each query, then what `Users.clicks` draws on each visit. With
    propensity="true" a device knows its user's row of `Users.propensities`.
    """
    messages: list[FedIPSMessage] = []
    pages: list[Shown] = []
    for client in range(population.n_clients):
        rng = user_generator(streams, client)
        message, visited = _client(method, model, population, client, rng, streams.devices[client])
        messages.append(message)
        pages += visited
        keep_user_state(streams, client, rng)
    return method.aggregate(model, messages), Shown.total(pages)


def _client(
    method: FedIPS,
    model: Model,
    population: Population,
    client: int,
    user: np.random.Generator,
    device: np.random.Generator,
) -> tuple[FedIPSMessage, list[Shown]]:
    """A device's round."""
    propensities = population.users.propensities
    local = method.begin_knowing(model, propensities[client if len(propensities) > 1 else 0])
    queries = [population.draw_query(client, user) for _ in range(population.local[client])]
    pages: list[Shown] = []
    n_clicks = 0
    for query in queries * MAX_SWEEPS:
        interaction, page = visit(method, local, population, client, query, user)
        local = method.learn(local, interaction)
        pages.append(page)
        n_clicks += page.clicks
        if n_clicks >= method.clicks:
            break
    return method.report(local, device), pages


class FedIPSSettings(NamedTuple):
    """What a round needs of the method."""

    learning_rate: float
    n_clicks: int
    max_sweeps: int
    estimate: bool
    em_steps: int
    smallest: float
    against_shown: bool


class Shared(NamedTuple):
    """What all clients of a round share."""

    ranked: Int64Matrix
    """[n_queries, k] the rows shown for each query, counted within it; -1 where it has fewer"""
    attracted: FloatMatrix
    """[n_queries, k] F of the documents shown; empty unless propensities are estimated"""
    propensities: FloatMatrix
    """[n_clients or 1, k] clipped; where EM starts when they are estimated"""
    theta: FloatVector
    """[n_features]"""


class LoggedVisits(NamedTuple):
    """What one client does in a round; used again for the next."""

    queries: npt.NDArray[np.int64]
    """[n_local]"""
    slots: npt.NDArray[np.int64]
    """[n_clicks + k] of each click, the place of its query in `queries`"""
    ranks: npt.NDArray[np.int64]
    """[n_clicks + k] of each click, from 0"""
    opened: FloatMatrix
    """[n_local, k] how often each document shown was clicked"""
    passed: FloatMatrix
    """[n_local, k] how often it was not"""


def run_round(method: FedIPS, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round of FedIPS on a linear ranker; others go by the four verbs, as do clients that differ in what they have.

    ShapeError for a theta or data that does not fit, ValueRangeError when theta stops being finite.
    """
    if not isinstance(method.ranker, Linear) or not isinstance(population.n_local, int):
        return visiting_round(method, model, population, streams)
    n_features = method.ranker.n_features
    if model.theta.shape != (n_features,) or population.data.n_features != n_features:
        raise ShapeError(
            f"theta {list(model.theta.shape)} and data of {population.data.n_features} features for {n_features}"
        )
    pages, sums = pages_of(population), np.zeros(4)
    moved, relevance_moved = np.zeros(n_features), np.zeros(n_features + 1)
    settings = FedIPSSettings(
        method.learning_rate,
        method.clicks,
        MAX_SWEEPS,
        method.estimates,
        method.em_steps,
        method.smallest_propensity,
        method.against == "shown",
    )
    shared = _shared(method, model, population)
    n = population.n_clients
    visits = _clients(pages, shared, settings, streams.users[:n], population.n_local, moved, relevance_moved, sums)
    if not np.isfinite(moved).all():
        raise ValueRangeError("theta is not finite any more: the learning rate is too high")
    relevance_mean = method.relevance_rate * relevance_moved / n if method.estimates else None
    return method.moved(model, moved / n, relevance_mean), to_shown(sums, int(visits))


def _shared(method: FedIPS, model: Model, population: Population) -> Shared:
    data, users = population.data, population.users
    ranked = _ranked(data, method.shown_by(model.theta).tobytes(), users.k)
    relevance = method.relevance(model)
    if relevance is None:
        attracted = np.zeros((0, users.k))
        known = np.atleast_2d(method.propensities(users.propensities, k=users.k))
    else:
        attracted = _attracted(data, ranked, relevance)
        known = position_propensities(method.position_bias, k=users.k)[None, :]
    return Shared(ranked, attracted, known, model.theta)


@lru_cache(maxsize=4)
def _ranked(data: QuerySet, theta_bytes: bytes, k: int) -> Int64Matrix:
    """The first k rows of every query by theta; a production ranker's are found once."""
    theta = np.frombuffer(theta_bytes)
    ranker = Linear(data.n_features)
    ranked = np.full((data.n_queries, k), -1, dtype=np.int64)
    for query in range(data.n_queries):
        scores = ranker.score(theta, data.features[data.rows(query)].astype(np.float64))
        page = rank_with_noise(scores, np.zeros(len(scores)), k=k)
        ranked[query, : len(page)] = page
    return ranked


def _attracted(data: QuerySet, ranked: Int64Matrix, relevance: FloatVector) -> FloatMatrix:
    """F of every document on a page `[n_queries, k]`; where there is none, that of the query's first."""
    rows = data.offsets[:-1, None] + np.maximum(ranked, 0)
    return attraction(relevance, data.features[rows.ravel()].astype(np.float64)).reshape(ranked.shape)


@compiled(error_model="numpy")
def _clients(pages, shared, settings, states, n_local, moved, relevance_moved, sums):  # type: ignore[no-untyped-def]
    """Every client's round; adds what it moved to `moved` and `relevance_moved`, and returns the number of pages."""
    k, longest = len(pages.discounts), settings.n_clicks + len(pages.discounts)
    visits = LoggedVisits(
        np.empty(n_local, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty((n_local, k)),
        np.empty((n_local, k)),
    )
    theta, scores, every, n_pages = np.empty(len(shared.theta)), np.empty(pages.longest), np.arange(pages.longest), 0
    for client in range(len(states)):
        n_clicks, n_visits = _visit(pages, shared, settings, client, states[client], visits, sums)
        n_pages += n_visits
        propensities = shared.propensities[client if len(shared.propensities) > 1 else 0]
        if settings.estimate:
            propensities = _estimated(shared, settings.em_steps, visits)
            _move_relevance(pages, shared, visits, propensities, relevance_moved)
            propensities = np.maximum(propensities, settings.smallest)
        copy_to(theta, shared.theta)
        for click in range(n_clicks):
            query, rank = visits.queries[visits.slots[click]], visits.ranks[click]
            first, n_docs = pages.offsets[query], pages.offsets[query + 1] - pages.offsets[query]
            rows = shared.ranked[query, : min(k, n_docs)] if settings.against_shown else every[:n_docs]
            rate = settings.learning_rate / propensities[rank]
            _step(pages.features, first + rows, first + shared.ranked[query, rank], rate, theta, scores)
        for f in range(len(theta)):
            moved[f] += theta[f] - shared.theta[f]
    return n_pages


@compiled(error_model="numpy")
def _visit(pages, shared, settings, client, state, visits, sums):  # type: ignore[no-untyped-def]
    """Fill `visits` with a client's round; returns the numbers of clicks and of pages."""
    queries, clicks = visits.queries, np.empty(len(pages.discounts), np.bool_)
    visits.opened[:], visits.passed[:] = 0.0, 0.0
    for slot in range(len(queries)):
        queries[slot] = next_query(pages, client, state)
    n_clicks, n_visits = 0, 0
    while n_clicks < settings.n_clicks and n_visits < settings.max_sweeps * len(queries):
        slot = n_visits % len(queries)
        query = queries[slot]
        k = min(len(clicks), pages.offsets[query + 1] - pages.offsets[query])
        click_through(pages, client, query, shared.ranked[query], k, state, clicks, sums)
        for rank in range(k):
            if clicks[rank]:
                visits.slots[n_clicks], visits.ranks[n_clicks] = slot, rank
                visits.opened[slot, rank] += 1.0
                n_clicks += 1
            else:
                visits.passed[slot, rank] += 1.0
        n_visits += 1
    return n_clicks, n_visits


@kernel()
def _step(features, rows, clicked, rate, theta, scores):  # type: ignore[no-untyped-def]
    """theta -= rate * gradient of the hinge of the row `clicked` against `rows`, as in foltr.online.ips."""
    target = dot(features[clicked], theta)
    for d in range(len(rows)):
        scores[d] = dot(features[rows[d]], theta)
    n_violated = 0.0
    for d in range(len(rows)):
        if rows[d] != clicked and target - scores[d] < 1.0:
            n_violated += 1.0
            for f in range(len(theta)):
                theta[f] -= rate * features[rows[d], f]
    for f in range(len(theta)):
        theta[f] += rate * n_violated * features[clicked, f]


@compiled(error_model="numpy")
def _estimated(shared, n_steps, visits):  # type: ignore[no-untyped-def]
    """foltr.online.ips.estimated_propensities from the counts of a client's round, `[k]`."""
    p = shared.propensities[0].copy()
    for _ in range(n_steps):
        for rank in range(len(p)):
            examined, n_shown = 0.0, 0.0
            for slot in range(len(visits.queries)):
                opened, passed = visits.opened[slot, rank], visits.passed[slot, rank]
                attracted = shared.attracted[visits.queries[slot], rank]
                examined += opened + passed * p[rank] * (1.0 - attracted) / max(1.0 - p[rank] * attracted, 1e-12)
                n_shown += opened + passed
            if n_shown > 0.0:
                p[rank] = min(max(examined / n_shown, LEAST), 1.0)
    return p


@compiled(error_model="numpy")
def _move_relevance(pages, shared, visits, p, moved):  # type: ignore[no-untyped-def]
    """Add foltr.online.ips.relevance_gradient of a client's round to `moved` `[n_features + 1]`."""
    n_shown = visits.opened.sum() + visits.passed.sum()
    for slot in range(len(visits.queries)):
        query = visits.queries[slot]
        for rank in range(len(p)):
            opened, passed = visits.opened[slot, rank], visits.passed[slot, rank]
            if opened + passed == 0.0:
                continue
            attracted = shared.attracted[query, rank]
            posterior = (1.0 - p[rank]) * attracted / max(1.0 - p[rank] * attracted, 1e-12)
            residual = (opened * (1.0 - attracted) + passed * (posterior - attracted)) / n_shown
            row = pages.offsets[query] + shared.ranked[query, rank]
            for f in range(len(moved) - 1):
                moved[f] += residual * pages.features[row, f]
            moved[-1] += residual
