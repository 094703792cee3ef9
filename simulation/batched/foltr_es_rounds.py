"""One round of FOLtR-ES, compiled: the same theta as the four verbs on the same streams.

Features of 32 bits are scored in 32 bits, as in the published program; theta and the perturbations stay in 64 until
then. With features of 64 bits pages and messages are those of the four verbs, but for documents whose scores differ
in the last digit, and the gradient but for the order of additions. A perturbation is made once, for both the device
and the server.

`perturb` gives the numbers of foltr.federated.foltr_es.perturbation for the same seed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.foltr_es import SEEDS, FoltrES
from foltr.federated.method import Model
from foltr.ranking.rankers import Linear, Neural
from simulation.batched import compiled, kernel
from simulation.batched.pages import (
    best_first,
    click_through,
    linear_scores,
    neural_scores,
    next_query,
    pages_of,
    to_shown,
)
from simulation.batched.simd_sums import log, waves
from simulation.rounds import federation
from simulation.rounds.federation import Population, Shown
from simulation.rounds.streams import Streams

_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_FIRST_SHIFT, _SECOND_SHIFT, _LAST_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
_ONE, _LOW_BITS, _SEED_SHIFT = np.uint64(1), np.uint64(11), np.uint64(32)
_TO_UNIT = 2.0**-53


@kernel(inlined=True)
def upper_bits(counter):  # type: ignore[no-untyped-def]
    """The upper 53 bits of number counter + 1 of the SplitMix64 sequence that starts at 0."""
    z = (counter + _ONE) * _STRIDE
    z = (z ^ (z >> _FIRST_SHIFT)) * _FIRST_FACTOR
    z = (z ^ (z >> _SECOND_SHIFT)) * _SECOND_FACTOR
    return np.float64(np.int64((z ^ (z >> _LAST_SHIFT)) >> _LOW_BITS))


@kernel()
def perturb(seed, v):  # type: ignore[no-untyped-def]
    """Fill v `[n_params]` with the perturbation of the seed, a uint64 below 2^32."""
    first = seed << _SEED_SHIFT
    for i in range(0, len(v), 2):
        counter = first + np.uint64(i)
        radius = np.sqrt(-2.0 * log((upper_bits(counter) + 1.0) * _TO_UNIT))
        across, along = waves(upper_bits(counter + _ONE) * _TO_UNIT)
        v[i] = radius * across
        if i + 1 < len(v):
            v[i + 1] = radius * along


BLOCK = 1 << 20
"""numbers of perturbations held in memory at a time"""


class Try(NamedTuple):
    """The method's settings for compiled code."""

    theta: FloatVector
    """[n_params]"""
    n_hidden: int
    """0 for a linear ranker"""
    sigma: float
    antithetic: bool
    k: int
    """how many results count for the reward"""
    patterns: bool
    """whether outcomes are patterns of clicks"""
    truth_probability: float
    values: FloatVector
    """[n_outcomes]"""
    weights: FloatVector
    """[n_outcomes] of the false answers, added up"""


def run_round(method: FoltrES, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round of FOLtR-ES; ValueRangeError when scores stop being numbers, ShapeError for a theta that does not fit.

    Rankers other than Linear and Neural go by the four verbs, as do clients that differ in what they have.
    """
    ranker = method.ranker
    if not isinstance(ranker, Linear | Neural) or not isinstance(population.n_local, int):
        return federation.run_round(method, model, population, streams)
    if model.theta.shape != (ranker.n_params,) or population.data.n_features != ranker.n_features:
        raise ShapeError(
            f"a ranker of {ranker.n_features} features and {ranker.n_params} parameters does not fit data of "
            f"{population.data.n_features} and theta {list(model.theta.shape)}"
        )
    gradient, sums = _gradient(method, model, population, streams)
    return method.climbed(model, gradient), to_shown(sums, population.n_clients * population.n_local)


def _gradient(
    method: FoltrES, model: Model, population: Population, streams: Streams
) -> tuple[FloatVector, FloatVector]:
    """The estimated gradient `[n_params]` and the sums of `click_through` `[4]`."""
    drawn, pages, attempt = _device_draws(method, population, streams), pages_of(population), _attempt(method, model)
    sums, gradient = np.zeros(4), np.zeros_like(model.theta)
    rows = max(1, BLOCK // len(gradient))
    for first in range(0, population.n_clients, rows):
        part = drawn[first : first + rows]
        if not client_rounds(pages, attempt, first, part, streams.users, population.n_local, gradient, sums):
            raise ValueRangeError("the scores are not numbers any more")
    return gradient / (method.sigma * population.n_clients), sums


def _attempt(method: FoltrES, model: Model) -> Try:
    return Try(
        model.theta,
        method.ranker.n_hidden if isinstance(method.ranker, Neural) else 0,
        method.sigma,
        method.antithetic,
        method.k,
        method.reward != "max-rr",
        method.truth_probability,
        np.array(method.values),
        np.array(method.weights),
    )


def _device_draws(method: FoltrES, population: Population, streams: Streams) -> FloatMatrix:
    """What each device's stream gives in a round: the seed's number, then one for each page to be privatised."""
    n_answers = population.n_local if method.truth_probability < 1.0 else 0
    drawn = np.empty((population.n_clients, 1 + n_answers))
    for row, device in zip(drawn, streams.devices, strict=True):
        device.random(out=row)
    return drawn


class PerturbedSheet(NamedTuple):
    """Room for one page, used again for each."""

    ranker: npt.NDArray[np.floating[Any]]
    """[n_params] theta + sigma v or theta - sigma v, in the precision of the features"""
    scores: npt.NDArray[np.floating[Any]]
    """[longest]"""
    unit: npt.NDArray[np.floating[Any]]
    """[longest] what one hidden unit sees"""
    placed: npt.NDArray[np.floating[Any]]
    """[k] the scores of the shown documents"""
    ranking: npt.NDArray[np.int64]
    """[k]"""
    clicks: npt.NDArray[np.bool_]
    """[k]"""


@compiled(error_model="numpy")
def client_rounds(pages, attempt, first_client, drawn, states, n_local, gradient, sums):  # type: ignore[no-untyped-def]
    """n_local pages of each client from `first_client` on; adds to the gradient `[n_params]` and the sums `[4]`.

    `drawn` `[n_clients, 1 + n_answers]` comes from the devices' streams, `states` are the users'. Clients with the same
    query go one after another: reading the documents is most of the work. False when scores were not numbers.
    """
    n_clients, n_params = len(drawn), len(attempt.theta)
    v = np.empty((n_clients, n_params))
    for client in range(n_clients):
        perturb(np.uint64(drawn[client, 0] * SEEDS), v[client])
    sheet = new_sheet(pages, n_params)
    rewards, queries = np.zeros((n_clients, 2)), np.empty(n_clients, np.int64)
    for page in range(n_local):
        direction = page % 2 if attempt.antithetic else 0
        for client in range(n_clients):
            queries[client] = next_query(pages, first_client + client, states[first_client + client])
        for client in np.argsort(queries, kind="mergesort"):
            sigma = -attempt.sigma if direction == 1 else attempt.sigma
            for i in range(n_params):
                sheet.ranker[i] = attempt.theta[i] + sigma * v[client, i]
            told = visit(pages, attempt, sheet, queries[client], first_client + client, states, sums)
            if told < 0:
                return False
            if attempt.truth_probability < 1.0:
                told = answer(told, drawn[client, 1 + page], attempt.truth_probability, attempt.weights)
            rewards[client, direction] += attempt.values[told]
    for client in range(n_clients):
        weight = reward_weight(rewards[client], n_local, attempt.antithetic)
        for i in range(n_params):
            gradient[i] += weight * v[client, i]
    return True


@compiled()
def new_sheet(pages, n_params):  # type: ignore[no-untyped-def]
    """Room for a page."""
    kind, k = pages.features.dtype, len(pages.discounts)
    return PerturbedSheet(
        np.empty(n_params, kind),
        np.empty(pages.longest, kind),
        np.empty(pages.longest, kind),
        np.empty(k, kind),
        np.empty(k, np.int64),
        np.empty(k, np.bool_),
    )


@compiled(error_model="numpy")
def visit(pages, attempt, sheet, query, client, states, sums):  # type: ignore[no-untyped-def]
    """Show a page by `sheet.ranker` and let the client click; its outcome, or -1 when scores were not numbers."""
    first, last = pages.offsets[query], pages.offsets[query + 1]
    if attempt.n_hidden > 0:
        neural_scores(pages.features, first, last, sheet.ranker, attempt.n_hidden, sheet.scores, sheet.unit)
    else:
        linear_scores(pages.features, first, last, sheet.ranker, sheet.scores)
    n_shown = min(len(pages.discounts), last - first)
    if not best_first(sheet.scores, last - first, n_shown, sheet.ranking, sheet.placed):
        return -1
    click_through(pages, client, query, sheet.ranking, n_shown, states[client], sheet.clicks, sums)
    return outcome(attempt, sheet.clicks, n_shown)


@compiled()
def outcome(attempt, clicks, n_shown):  # type: ignore[no-untyped-def]
    """foltr.federated.foltr_es.outcome."""
    pattern = 0
    for rank in range(min(attempt.k, n_shown)):
        if clicks[rank]:
            if not attempt.patterns:
                return rank + 1
            pattern |= 1 << rank
    return pattern


@compiled()
def answer(truth, u, truth_probability, weights):  # type: ignore[no-untyped-def]
    """foltr.federated.foltr_es.answer."""
    if u < truth_probability:
        return truth
    before = weights[truth - 1] if truth > 0 else 0.0
    place = (u - truth_probability) / (1.0 - truth_probability) * (before + weights[-1] - weights[truth])
    if place >= before:
        place = place - before + weights[truth]
    last = len(weights) - 1 if truth < len(weights) - 1 else truth - 1
    return min(np.searchsorted(weights, place, side="right"), last)


@compiled()
def reward_weight(rewards, n_local, antithetic):  # type: ignore[no-untyped-def]
    """The reward, or half the difference of those of the two directions, from their sums `[2]`; rounded as sent."""
    if not antithetic:
        return np.float64(np.float32(rewards[0] / n_local))
    backwards = n_local // 2
    if backwards == 0:
        return 0.0
    positive, negative = rewards[0] / (n_local - backwards), rewards[1] / backwards
    return (np.float64(np.float32(positive)) - np.float64(np.float32(negative))) / 2.0
