"""A federated method is four verbs: begin, learn and report run on the device, aggregate runs on the server.

    begin(model, rng) -> local          take the global model
    learn(local, interaction) -> local  after each result page, one at a time
    report(local, rng) -> message       what leaves the device
    aggregate(model, messages) -> model the next global model

The device of the app calls the first three, the server the last, the simulation all four. `rank` says which page the
device shows while it learns, because methods explore in different ways. A message is whatever the method sends:
weights, a difference of weights, or only (seed, reward); nothing here assumes weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.federated.guard import GuardState
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Ranker


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """The global model of one round."""

    theta: FloatVector
    """[n_params]"""
    round: int = 0
    """how many rounds led to it"""
    moments: tuple[FloatVector, ...] = field(default=())
    """what the server's optimiser remembers, each [n_params]; () for a server that only averages"""
    guard: GuardState = field(default_factory=GuardState)
    """what the server's guard remembers"""
    noise: float = 0.0
    """standard deviation of the noise in each weight that devices sent, added up since the lineage began"""


Local = TypeVar("Local")
Message = TypeVar("Message")


class Method(Protocol[Local, Message]):
    """What every federated method can do; a frozen dataclass whose fields are the paper's symbols in words."""

    @property
    def ranker(self) -> Ranker: ...

    def initial(self, rng: np.random.Generator) -> Model:
        """The model of round 0."""

    def begin(self, model: Model, rng: np.random.Generator) -> Local:
        """The device's state at the start of a round; `rng` is the device's own."""

    def rank(self, local: Local, features: FloatMatrix, rng: np.random.Generator, *, k: int) -> IntVector:
        """The `min(k, n_docs)` rows that the device shows, best first, for features `[n_docs, n_features]`."""

    def learn(self, local: Local, interaction: Interaction) -> Local:
        """The device's state after one result page."""

    def report(self, local: Local, rng: np.random.Generator) -> Message:
        """What leaves the device at the end of the round: clipped, noised, and nothing else."""

    def aggregate(self, model: Model, messages: Sequence[Message]) -> Model:
        """The next global model; the same model with the next round's number when there are no messages."""
