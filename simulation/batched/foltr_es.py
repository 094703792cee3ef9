"""One round of FOLtR-ES, compiled: the same theta as the four verbs on the same streams.

Features of 32 bits are scored in 32 bits, as in the published program; theta and the perturbations stay in 64 until
then. With features of 64 bits pages and messages are those of the four verbs, but for documents whose scores differ
in the last digit, and the gradient but for the order of additions. A perturbation is made once, for both the device
and the server.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.foltr_es import FoltrES
from foltr.federated.method import Model
from foltr.online.evolution_strategies import SEEDS
from foltr.ranking.rankers import Linear, Neural
from simulation import federation
from simulation.batched.best_first import best_first, linear_scores, neural_scores
from simulation.batched.pages import click_through, next_query, pages_of, shown
from simulation.batched.perturbation import perturb
from simulation.federation import Population, Shown
from simulation.streams import Streams

FloatVector = npt.NDArray[np.float64]
FloatMatrix = npt.NDArray[np.float64]


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

    Rankers other than Linear and Neural go by the four verbs.
    """
    ranker = method.ranker
    if not isinstance(ranker, Linear | Neural):
        return federation.run_round(method, model, population, streams)
    if model.theta.shape != (ranker.n_params,) or population.data.n_features != ranker.n_features:
        raise ShapeError(
            f"a ranker of {ranker.n_features} features and {ranker.n_params} parameters does not fit data of "
            f"{population.data.n_features} and theta {list(model.theta.shape)}"
        )
    drawn = _device_draws(method, population, streams)
    sums, gradient = np.zeros(4), np.zeros_like(model.theta)
    attempt = _attempt(method, model)
    if not client_rounds(pages_of(population), attempt, drawn, streams.users, population.n_local, gradient, sums):
        raise ValueRangeError("the scores are not numbers any more")
    return method.stepped(model, gradient), shown(sums, population.n_clients * population.n_local)


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


@njit(cache=True, error_model="numpy")
def client_rounds(pages, attempt, drawn, states, n_local, gradient, sums):  # type: ignore[no-untyped-def]
    """n_local pages of every client; adds up the gradient `[n_params]` and the pages' metrics `[4]`.

    `drawn` `[n_clients, 1 + n_answers]` comes from the devices' streams, `states` are the users'. False when scores
    were not numbers.
    """
    n_clients, n_params, k = len(drawn), len(attempt.theta), len(pages.discounts)
    v = np.empty(n_params)
    rankers = np.empty((2, n_params), pages.features.dtype)
    scores = np.empty(pages.longest, pages.features.dtype)
    unit, placed = np.empty_like(scores), np.empty(k, pages.features.dtype)
    ranking, clicks = np.empty(k, np.int64), np.empty(k, np.bool_)
    rewards = np.empty(2)
    for client in range(n_clients):
        perturb(np.uint64(drawn[client, 0] * SEEDS), v)
        for i in range(n_params):
            rankers[0, i] = attempt.theta[i] + attempt.sigma * v[i]
            rankers[1, i] = attempt.theta[i] - attempt.sigma * v[i]
        rewards[:] = 0.0
        for page in range(n_local):
            direction = page % 2 if attempt.antithetic else 0
            query = next_query(pages, states[client])
            first, last = pages.offsets[query], pages.offsets[query + 1]
            if attempt.n_hidden > 0:
                neural_scores(pages.features, first, last, rankers[direction], attempt.n_hidden, scores, unit)
            else:
                linear_scores(pages.features, first, last, rankers[direction], scores)
            n_shown = min(k, last - first)
            if not best_first(scores, last - first, n_shown, ranking, placed):
                return False
            click_through(pages, client, query, ranking, n_shown, states[client], clicks, sums)
            told = outcome(attempt, clicks, n_shown)
            if attempt.truth_probability < 1.0:
                told = answer(told, drawn[client, 1 + page], attempt.truth_probability, attempt.weights)
            rewards[direction] += attempt.values[told]
        weight = reward_weight(rewards, n_local, attempt.antithetic) / (attempt.sigma * n_clients)
        for i in range(n_params):
            gradient[i] += weight * v[i]
    return True


@njit(cache=True)
def outcome(attempt, clicks, n_shown):  # type: ignore[no-untyped-def]
    """foltr.online.click_rewards.outcome."""
    pattern = 0
    for rank in range(min(attempt.k, n_shown)):
        if clicks[rank]:
            if not attempt.patterns:
                return rank + 1
            pattern |= 1 << rank
    return pattern


@njit(cache=True)
def answer(truth, u, truth_probability, weights):  # type: ignore[no-untyped-def]
    """foltr.privacy.privatisation.answer."""
    if u < truth_probability:
        return truth
    before = weights[truth - 1] if truth > 0 else 0.0
    place = (u - truth_probability) / (1.0 - truth_probability) * (before + weights[-1] - weights[truth])
    if place >= before:
        place = place - before + weights[truth]
    last = len(weights) - 1 if truth < len(weights) - 1 else truth - 1
    return min(np.searchsorted(weights, place, side="right"), last)


@njit(cache=True)
def reward_weight(rewards, n_local, antithetic):  # type: ignore[no-untyped-def]
    """The reward, or half the difference of those of the two directions, from their sums `[2]`; rounded as sent."""
    if not antithetic:
        return np.float64(np.float32(rewards[0] / n_local))
    backwards = n_local // 2
    if backwards == 0:
        return 0.0
    positive, negative = rewards[0] / (n_local - backwards), rewards[1] / backwards
    return (np.float64(np.float32(positive)) - np.float64(np.float32(negative))) / 2.0
