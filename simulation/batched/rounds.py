"""Which compiled rounds belong to which method."""

from __future__ import annotations

from typing import Any

from foltr.federated.fedips import FedIPS
from foltr.federated.foltr_es import FoltrES
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Method
from simulation import federation
from simulation.batched import fedips, foltr_es, fpdgd
from simulation.federation import Play

COMPILED: dict[type[Any], Play] = {
    FPDGD: fpdgd.play,
    FedIPS: federation.repeated(fedips.run_round),
    FoltrES: federation.repeated(foltr_es.run_round),
}
"""by the exact type: what wraps a method changes what it does, and goes by the four verbs"""
_BY_THE_FOUR_VERBS = federation.repeated(federation.run_round)


def fast_play(method: Method[Any, Any]) -> Play:
    """The compiled rounds of the method where it has them, else the four verbs."""
    return COMPILED.get(type(method), _BY_THE_FOUR_VERBS)
