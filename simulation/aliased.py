"""FedPer as the published program of thesis Chapter 4 runs it: all clients and the server hold one hidden layer.

Their rankers are copies that share the array, so within a round every client goes on where the one before stopped, and
what the server averages is that array once for each client, which changes nothing. Output weights are the clients' own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import Joining
from foltr.federated.method import Model
from foltr.privacy.mechanisms import NoPrivacy
from simulation.cell import Cell
from simulation.errors import PresetError
from simulation.federation import Page, Population, Shown, learned, sums
from simulation.streams import Streams


def aliased_round(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """A `simulation.federation.Round`, client after client on one hidden layer."""
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


def check_aliased(cell: Cell, method: Any) -> None:
    """PresetError where there is no such layer, or somebody does more than average it."""
    federation = cell.preset.federation
    other = federation.attack or federation.correlation or federation.tested
    if not (isinstance(method, FPDGD) and method.personal and method.privacy == NoPrivacy()):
        raise PresetError("federation.aliased: wanted fpdgd with method.personal = true and without method.privacy")
    if other or method.joining != Joining():
        raise PresetError(
            "federation.aliased: wanted a server that averages, without attack, correlation or acceptance"
        )
