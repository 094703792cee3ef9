"""How the rounds of a study are played: compiled where the method has compiled rounds, else by the four verbs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from foltr.federated.fedips import FedIPS
from foltr.federated.foltr_es import FoltrES
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import Joining
from foltr.federated.method import Method, Model
from foltr.privacy.mechanisms import NoPrivacy
from simulation.batched import fedips_rounds, foltr_es_rounds, fpdgd_rounds
from simulation.cells.preset import Federation
from simulation.errors import PresetError
from simulation.rounds.acceptance import AcceptingRounds
from simulation.rounds.correlated import CorrelatedRounds, check_correlated
from simulation.rounds.federation import Page, Play, Population, Shown, learned, repeated, run_round, sums
from simulation.rounds.streams import Streams


def aliased_round(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """FedPer as the published program of thesis Chapter 4 runs it: all clients and the server hold one hidden layer.

    Their rankers are copies that share the array, so within a round every client goes on where the one before stopped,
    and what the server averages is that array once for each client, which changes nothing. Output weights are the
    clients' own.
    """
    assert population.personal is not None  # method.personal, by check_aliased
    pages: list[Page] = []
    common = model.theta
    for client, own in enumerate(population.personal):
        local = method.begin_keeping(replace(model, theta=common), own)
        local, _, seen = learned(method, local, population, streams, client, model.round)
        population.personal[client] = local.theta
        common = method.placed(common, method.sent(local.theta))
        pages += seen
    population.personal[:] = np.array([method.with_personal(common, own) for own in population.personal])
    return replace(model, theta=common, round=model.round + 1), sums(pages)


def check_aliased(federation: Federation, method: Any) -> None:
    """PresetError where there is no such layer, or somebody does more than average it."""
    other = federation.attack or federation.correlation or federation.tested
    if not (isinstance(method, FPDGD) and method.personal and method.privacy == NoPrivacy()):
        raise PresetError("federation.aliased: wanted fpdgd with method.personal = true and without method.privacy")
    if other or method.joining != Joining():
        raise PresetError(
            "federation.aliased: wanted a server that averages, without attack, correlation or acceptance"
        )


COMPILED: dict[type[Any], Play] = {
    FPDGD: fpdgd_rounds.play,
    FedIPS: repeated(fedips_rounds.run_round),
    FoltrES: repeated(foltr_es_rounds.run_round),
}
"""by the exact type: what wraps a method changes what it does, and goes by the four verbs"""
_BY_THE_FOUR_VERBS = repeated(run_round)


def fast_play(method: Method[Any, Any]) -> Play:
    """The compiled rounds of the method where it has them, else the four verbs."""
    return COMPILED.get(type(method), _BY_THE_FOUR_VERBS)


def play_of(federation: Federation, method: Method[Any, Any]) -> Play:
    """The rounds that [federation] asks for."""
    if federation.correlation is not None:
        return repeated(CorrelatedRounds(federation.correlation, federation.rounds))
    if federation.tested is not None:
        return repeated(AcceptingRounds(federation.tested))
    if federation.aliased:
        return repeated(aliased_round)
    return _BY_THE_FOUR_VERBS if federation.in_order else fast_play(method)


def check_rounds(federation: Federation, method: Method[Any, Any], name: str) -> None:
    """PresetError for a kind of round that the method of that name does not know."""
    if federation.correlation is not None:
        check_correlated(method)
    if federation.tested is not None and not isinstance(method, FPDGD):
        raise PresetError(f"federation.acceptance: clients of fpdgd exchange rankers, those of {name} do not")
    if federation.aliased:
        check_aliased(federation, method)
    if federation.in_order and not isinstance(method, FPDGD):
        raise PresetError(f"federation.in_order: clients of fpdgd can run out of queries, those of {name} cannot")
