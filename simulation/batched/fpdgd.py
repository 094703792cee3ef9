"""FPDGD rounds, compiled."""

from __future__ import annotations

from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from simulation import federation
from simulation.federation import Population, Shown
from simulation.streams import Streams


def run_round(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round of FPDGD."""
    return federation.run_round(method, model, population, streams)
