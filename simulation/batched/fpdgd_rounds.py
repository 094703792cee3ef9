"""Rounds of FPDGD, compiled: the same theta as the four verbs on the same streams.

Features of 32 bits are scored in 32 bits; theta stays in 64. Features of 64 bits give what the four verbs give, up to
the order in which products are added.

Where everything between two rounds is compiled too, many go by in one call (`play`); else the clients' pages are
compiled, and foltr's own functions add noise and join.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, Int64Vector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.rows import check_rows
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.privacy.mechanisms import NoPrivacy
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.batched import whole_rounds
from simulation.batched.pages import Pages, pages_of, to_shown
from simulation.batched.pdgd_linear import Steps, linear_clients, linear_room, new_sheet
from simulation.batched.pdgd_neural import feature_by_feature, neural_clients, neural_room, unit_by_unit
from simulation.batched.whole_rounds import Between, between_rounds
from simulation.rounds import federation
from simulation.rounds.federation import Population, Shown
from simulation.rounds.streams import Streams, keep_states, states_of

TOO_FAR = "scores must be finite; the learning rate may be too high"


def run_round(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round of FPDGD; see `play`."""
    model, (shown,) = play(method, model, population, streams, 1)
    return model, shown


def play(
    method: FPDGD, model: Model, population: Population, streams: Streams, n_rounds: int
) -> tuple[Model, list[Shown]]:
    """So many rounds of FPDGD; by the four verbs for what is not compiled: see `is_compiled`.

    ShapeError for a theta or features that do not fit the ranker; ValueRangeError when scores stop being finite.
    """
    if not is_compiled(method):
        return federation.repeated(federation.run_round)(method, model, population, streams, n_rounds)
    _check(method, model, population)
    between = between_rounds(method, model, population, _places(method))
    if between is None:
        return federation.repeated(_learn_and_join)(method, model, population, streams, n_rounds)
    return _whole_rounds(method, between, model, population, streams, n_rounds)


def is_compiled(method: FPDGD) -> bool:
    """Whether there is a kernel for it: a Linear or Neural ranker, learned whole, no step capped."""
    own = type(method).learn is FPDGD.learn and type(method).report is FPDGD.report
    capped = method.longest_step is not None or method.longest_query is not None
    hidden = method.personal and not isinstance(method.privacy, NoPrivacy)
    return own and isinstance(method.ranker, (Linear, Neural)) and not (method.shared or capped or hidden)


def _whole_rounds(
    method: FPDGD, between: Between, model: Model, population: Population, streams: Streams, n_rounds: int
) -> tuple[Model, list[Shown]]:
    """Rounds from end to end in one call."""
    pages, sums, theta = pages_of(population), np.zeros((n_rounds, 4)), _laid_out(method.ranker, model.theta[None])[0]
    thetas = _begin(method, model, population)
    ended = np.empty_like(thetas if population.personal is not None else thetas[:0])
    devices = streams.devices if between.noise.n_shares else ()
    states = streams.users, states_of(devices), states_of((streams.attacker,))[0]
    rounds = whole_rounds.neural_rounds if isinstance(method.ranker, Neural) else whole_rounds.linear_rounds
    done, how = rounds(
        pages, *_desk(method, pages, population), *between, theta[: method.n_sent], thetas, ended, states, sums
    )
    if how == whole_rounds.NOT_FINITE:
        raise ValueRangeError(TOO_FAR)
    if how == whole_rounds.NOT_JOINED:
        check_rows(_as_sent(method.ranker, thetas))
    keep_states((*devices, streams.attacker), (*states[1], states[2]))
    if population.personal is not None:
        population.personal[:] = _as_sent(method.ranker, ended)
    after = replace(model, theta=_as_sent(method.ranker, theta[None])[0], round=model.round + done)
    n_pages = int(population.local.sum())
    return after, [to_shown(row, n_pages) for row in sums]


def _learn_and_join(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """A round of compiled pages, joined by foltr."""
    thetas, seen = reported_thetas(method, model, population, streams)
    thetas = federation.attacked_thetas(method, model, thetas, population, streams)
    return federation.joined_thetas(method, model, thetas, population), seen


def reported_thetas(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[FloatMatrix, Shown]:
    """What every client of a round reports `[n_clients, n_sent]`, before the server joins it.

    The messages of the four verbs, with the errors of `run_round`; ValueRangeError for what is not compiled.
    """
    if not is_compiled(method):
        raise ValueRangeError("shared, capped and hidden personal weights are not compiled: use the four verbs")
    _check(method, model, population)
    thetas, pages, sums = _begin(method, model, population), pages_of(population), np.zeros(4)
    clients = neural_clients if isinstance(method.ranker, Neural) else linear_clients
    if not clients(pages, *_desk(method, pages, population), thetas, streams.users, sums):
        raise ValueRangeError(TOO_FAR)
    thetas = _as_sent(method.ranker, thetas)
    if population.personal is not None:
        population.personal[:] = thetas
    if not isinstance(method.privacy, NoPrivacy):
        released = zip(thetas, streams.devices, strict=True)
        thetas = np.array([method.privacy.release(model.theta, theta, device) for theta, device in released])
    return thetas[:, : method.n_sent], to_shown(sums, int(population.local.sum()))


def _check(method: FPDGD, model: Model, population: Population) -> None:
    n_params, n_features = method.ranker.n_params, method.ranker.n_features
    if model.theta.shape != (n_params,):
        raise ShapeError(f"theta must be [{n_params}], not {list(model.theta.shape)}")
    if population.data.n_features != n_features:
        raise ShapeError(f"features must be [n_docs, {n_features}], not {list(population.data.features.shape)}")


def _begin(method: FPDGD, model: Model, population: Population) -> FloatMatrix:
    """What every client begins with, laid out for learning: the common ranker, and its own part where it keeps one."""
    if population.personal is None:
        return _laid_out(method.ranker, np.repeat(model.theta[None, :], population.n_clients, axis=0))
    return _laid_out(method.ranker, np.array([method.with_personal(model.theta, own) for own in population.personal]))


def _desk(method: FPDGD, pages: Pages, population: Population) -> tuple[Any, Any, Steps]:
    """Room for a page and for a client, and how clients learn."""
    sheet = new_sheet(pages.longest, len(pages.discounts))
    room = neural_room(pages, method.ranker.n_hidden) if isinstance(method.ranker, Neural) else linear_room(pages)
    bound = method.privacy.local_bound
    radius = np.inf if bound is None else bound
    each, scale = method.update == "each", 1.0 / method.temperature
    return sheet, room, Steps(population.local, method.learning_rate, scale, each, radius, method.proximal)


def _laid_out(ranker: Ranker, thetas: FloatMatrix) -> FloatMatrix:
    """foltr's thetas `[n_clients, n_params]` as they are learned; what is sent comes first in both."""
    return feature_by_feature(thetas, ranker.n_hidden) if isinstance(ranker, Neural) else thetas.copy()


def _as_sent(ranker: Ranker, thetas: FloatMatrix) -> FloatMatrix:
    """The inverse of `_laid_out`."""
    return unit_by_unit(thetas, ranker.n_hidden) if isinstance(ranker, Neural) else thetas


def _places(method: FPDGD) -> Int64Vector:
    """The column that each weight that is sent `[n_sent]` has where it is learned."""
    numbered: FloatVector = _laid_out(method.ranker, np.arange(float(method.ranker.n_params))[None])[0]
    return np.argsort(numbered)[: method.n_sent]
