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
from simulation.batched.step_method import StepMethod
from simulation.cells.preset import Federation
from simulation.errors import PresetError
from simulation.rounds import federation as rounds
from simulation.rounds.acceptance import AcceptingRounds
from simulation.rounds.asynchronous import AsynchronousRounds
from simulation.rounds.federation import Play, Population, Shown, repeated
from simulation.rounds.round_privacy import CorrelatedRounds, check_correlated
from simulation.rounds.streams import Streams


def aliased_round(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """FedPer as the published program of thesis Chapter 4 runs it: all clients and the server hold one hidden layer.

    Their rankers are copies that share the array, so within a round every client goes on where the one before stopped,
    and what the server averages is that array once for each client, which changes nothing. Output weights are the
    clients' own.
    """
    assert population.personal is not None  # method.personal, by check_plain
    pages: list[Shown] = []
    common = model.theta
    for client, own in enumerate(population.personal):
        local = method.begin_keeping(replace(model, theta=common), own)
        local, _, seen = rounds.learned(method, local, population, streams, client, model.round)
        population.personal[client] = local.theta
        common = method.placed(common, method.sent(local.theta))
        pages += seen
    population.personal[:] = np.array([method.with_personal(common, own) for own in population.personal])
    return replace(model, theta=common, round=model.round + 1), Shown.total(pages)


def check_plain(federation: Federation, method: Any, key: str, *, personal: bool) -> None:
    """PresetError unless it is FPDGD, with or without weights that clients keep, and a server that only averages."""
    verbs = ("report", "aggregate", "joined")
    own = any(getattr(type(method), verb, None) is not getattr(FPDGD, verb) for verb in verbs)
    if own or method.personal != personal or method.privacy != NoPrivacy():
        wanted = f"fpdgd with method.personal = {str(personal).lower()} and without method.privacy"
        raise PresetError(f"federation.{key}: wanted {wanted}")
    if federation.attack or federation.correlation or federation.tested or method.joining != Joining():
        raise PresetError(f"federation.{key}: wanted a server that averages, without attack, correlation or acceptance")


COMPILED: dict[type[Any], Play] = {
    FPDGD: fpdgd_rounds.play,
    FedIPS: repeated(fedips_rounds.run_round),
    FoltrES: repeated(foltr_es_rounds.run_round),
}
"""by the exact type: what wraps a method changes what it does, and goes by the four verbs"""
_BY_THE_FOUR_VERBS = repeated(rounds.run_round)


def fast_play(method: Method[Any, Any]) -> Play:
    """The compiled rounds of the method where it has them, else the four verbs."""
    by_type = fpdgd_rounds.play if isinstance(method, StepMethod) else _BY_THE_FOUR_VERBS
    return COMPILED.get(type(method), by_type)


def play_of(federation: Federation, method: Method[Any, Any]) -> Play:
    """The rounds that [federation] asks for."""
    if federation.correlation is not None:
        return repeated(CorrelatedRounds(federation.correlation, federation.rounds))
    if federation.tested is not None:
        return repeated(AcceptingRounds(federation.tested))
    if federation.unwaited is not None:
        return repeated(AsynchronousRounds(federation.unwaited))
    if federation.aliased:
        return repeated(aliased_round)
    return _BY_THE_FOUR_VERBS if federation.in_order else fast_play(method)


def check_rounds(federation: Federation, method: Method[Any, Any], name: str) -> None:
    """PresetError for a kind of round that the method of that name does not know."""
    if federation.correlation is not None:
        check_correlated(method)
    if federation.tested is not None and (not isinstance(method, FPDGD) or method.shared or method.personal):
        part = " with method.shared or method.personal" * isinstance(method, FPDGD)
        raise PresetError(
            f"federation.acceptance: clients of fpdgd exchange whole rankers, those of {name}{part} do not"
        )
    if federation.aliased:
        check_plain(federation, method, "aliased", personal=True)
    if federation.unwaited is not None:
        check_plain(federation, method, "asynchrony", personal=False)
    if federation.in_order and not isinstance(method, FPDGD):
        raise PresetError(f"federation.in_order: clients of fpdgd can run out of queries, those of {name} cannot")
    if federation.unlearning and play_of(federation, method) is not fast_play(method):
        other = "correlation, acceptance, asynchrony or in_order"
        raise PresetError(f"federation.unlearning: clients are forgotten of plain rounds alone, without {other}")
