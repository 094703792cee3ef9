"""One round of FPDGD, compiled: the same theta as the four verbs on the same streams.

Features of 32 bits are scored in 32 bits; theta stays in 64. Features of 64 bits give what the four verbs give, up to
the order in which products are added.
"""

from __future__ import annotations

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.privacy.mechanisms import NoPrivacy
from foltr.ranking.rankers import Linear, Neural
from simulation import federation
from simulation.batched.pages import pages_of, to_shown
from simulation.batched.pdgd import linear_round
from simulation.batched.pdgd_neural import feature_by_feature, neural_round, unit_by_unit
from simulation.federation import Population, Shown
from simulation.streams import Streams


def run_round(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round of FPDGD; by the four verbs for what is not compiled: see `is_compiled`.

    ShapeError for a theta or features that do not fit the ranker; ValueRangeError when scores stop being finite.
    """
    if not is_compiled(method):
        return federation.run_round(method, model, population, streams)
    thetas, seen = reported_thetas(method, model, population, streams)
    thetas = federation.attacked_thetas(method, model, thetas, population, streams)
    return federation.joined_thetas(method, model, thetas, population), seen


def is_compiled(method: FPDGD) -> bool:
    """Whether there is a kernel for it: a Linear or Neural ranker, all weights shared and no step changed."""
    changed = method.longest_step is not None or method.longest_query is not None or method.proximal > 0
    return isinstance(method.ranker, (Linear, Neural)) and not method.shared and not method.personal and not changed


def reported_thetas(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[FloatMatrix, Shown]:
    """What every client of a round reports `[n_clients, n_params]`, before the server joins it.

    The messages of the four verbs, with the errors of `run_round`; ValueRangeError for what is not compiled.
    """
    if not is_compiled(method):
        raise ValueRangeError("shared, personal, proximal and capped steps are not compiled: use the four verbs")
    _check(method, model, population)
    start = np.repeat(model.theta[None, :], population.n_clients, axis=0)
    thetas, sums = _learned(method, start, population, streams)
    _release(method, model.theta, thetas, streams)
    return thetas, to_shown(sums, int(population.local.sum()))


def _check(method: FPDGD, model: Model, population: Population) -> None:
    n_params, n_features = method.ranker.n_params, method.ranker.n_features
    if model.theta.shape != (n_params,):
        raise ShapeError(f"theta must be [{n_params}], not {list(model.theta.shape)}")
    if population.data.n_features != n_features:
        raise ShapeError(f"features must be [n_docs, {n_features}], not {list(population.data.features.shape)}")


def _learned(
    method: FPDGD, thetas: FloatMatrix, population: Population, streams: Streams
) -> tuple[FloatMatrix, FloatVector]:
    """The clients' thetas `[n_clients, n_params]` at the end of the round, and the sums of `click_through` `[4]`."""
    pages, sums = pages_of(population), np.zeros(4)
    bound = method.privacy.local_bound
    radius = np.inf if bound is None else bound
    each, scale = method.update == "each", 1.0 / method.temperature
    settings = (population.local, method.learning_rate, scale, each, radius)
    if isinstance(method.ranker, Neural):
        n_hidden = method.ranker.n_hidden
        turned = feature_by_feature(thetas, n_hidden)
        finite = neural_round(pages, n_hidden, turned, streams.users, *settings, sums)
        thetas = unit_by_unit(turned, n_hidden)
    else:
        finite = linear_round(pages, thetas, streams.users, *settings, sums)
    if not finite:
        raise ValueRangeError("scores must be finite; the learning rate may be too high")
    return thetas, sums


def _release(method: FPDGD, start: FloatVector, thetas: FloatMatrix, streams: Streams) -> None:
    """Put what may leave each device in place of what it learned."""
    if isinstance(method.privacy, NoPrivacy):
        return
    for client, theta in enumerate(thetas):
        thetas[client] = method.privacy.release(start, theta, streams.devices[client])
