"""FPDGD: every device learns by PDGD, the server averages their rankers (thesis Algorithms 2 to 4).

    theta_c <- theta_t;  B times: theta_c <- theta_c + learning_rate * PDGD gradient of the page just shown
    theta_{t+1} = sum over clients of  n_c / n * theta_c          (Eq. 3.16, n = sum of n_c)

A page is a Plackett-Luce ranking of the local scores divided by the temperature, and the gradient uses the same
temperature (the published code divides in sampling alone, after which the reversed-pair weight is wrong). One device
with many interactions in a round is centralised PDGD.

With a privacy mechanism the device holds its ranker within `local_bound` after each step and lets out only what the
mechanism releases (Algorithm 3); see foltr.privacy.mechanisms for what that is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec
import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.joining import Joined, Joining, join, weights
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Optimizer
from foltr.online import pdgd
from foltr.privacy.clipping import clip_l2
from foltr.privacy.mechanisms import Mechanism, NoPrivacy
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import draw
from foltr.ranking.rankers import Ranker


@dataclass(frozen=True, slots=True, eq=False)
class FPDGDLocal:
    """A device in the middle of a round."""

    start: FloatVector
    """[n_params] the global theta it began with"""
    theta: FloatVector
    """[n_params] what it has learned since"""
    n_interactions: int = 0


class FPDGDMessage(msgspec.Struct, frozen=True, eq=False):
    """What leaves the device: its ranker after the privacy mechanism, and how many pages it saw."""

    theta: FloatVector
    """[n_params]"""
    n_interactions: int


@dataclass(frozen=True, slots=True)
class FPDGD:
    """Federated PDGD; ValueRangeError for a learning rate or temperature that is not positive and finite."""

    ranker: Ranker
    learning_rate: float = 0.1
    """eta"""
    temperature: float = 1.0
    """of the Plackett-Luce model: above 1 explores more"""
    update: Literal["each", "batch"] = "each"
    """a step after each page, or the gradients of all the round's pages at its first theta, added up into one step"""
    weighting: Literal["interactions", "equal"] = "interactions"
    """n_c of Eq. 3.16: pages seen, or 1; always 1 while a privacy mechanism is on"""
    privacy: Mechanism = field(default_factory=NoPrivacy)
    aggregation: Aggregation = field(default_factory=Mean)
    """how the server joins the clients' differences; "mean" is Eq. 3.16"""
    largest_weight: int | None = None
    """pages of one device that count at most, where weights are not equal; None: all of them"""
    guard: bool = False
    """whether the server judges each round, and joins it robustly while it looks attacked"""
    assumed_malicious: int = 0
    """how many bad updates the guard's rule withstands; 0: a fifth of them"""
    optimizer: Optimizer = field(default_factory=SGD)
    """the server's step along the joined difference; SGD of rate 1 is Eq. 3.16"""

    def __post_init__(self) -> None:
        for name, value in (("learning_rate", self.learning_rate), ("temperature", self.temperature)):
            if not (value > 0 and np.isfinite(value)):
                raise ValueRangeError(f"{name} must be positive, not {value}")
        _ = self.joining  # refuses what does not fit

    @property
    def joining(self) -> Joining:
        """The server's part of the settings."""
        return Joining(
            rule=self.aggregation,
            largest_weight=self.largest_weight,
            guard=self.guard,
            assumed_malicious=self.assumed_malicious,
            optimizer=self.optimizer,
        )

    @property
    def weighs_alike(self) -> bool:
        """Whether every device that saw a page counts as much as any other."""
        return self.weighting == "equal" or not isinstance(self.privacy, NoPrivacy)

    def initial(self, rng: np.random.Generator) -> Model:
        """The ranker's own starting point."""
        return Model(self.ranker.initial(rng))

    def begin(self, model: Model, rng: np.random.Generator) -> FPDGDLocal:
        """The global ranker, no page seen; draws nothing."""
        return FPDGDLocal(model.theta, model.theta)

    def rank(self, local: FPDGDLocal, features: FloatMatrix, rng: np.random.Generator, *, k: int) -> IntVector:
        """A Plackett-Luce ranking: one number of `rng` for each of the `min(k, n_docs)` ranks."""
        return draw(self.ranker.score(self._learner(local), features) / self.temperature, k, rng)

    def learn(self, local: FPDGDLocal, interaction: Interaction) -> FPDGDLocal:
        """One PDGD step; with update="batch" its gradient is that of the round's first theta."""
        slope = pdgd.gradient(self.ranker, self._learner(local), interaction, temperature=self.temperature)
        theta = local.theta + self.learning_rate * slope
        if self.update == "each":
            theta = self._bounded(theta)
        return replace(local, theta=theta, n_interactions=local.n_interactions + 1)

    def report(self, local: FPDGDLocal, rng: np.random.Generator) -> FPDGDMessage:
        """What the privacy mechanism lets out."""
        end = self._bounded(local.theta) if self.update == "batch" else local.theta
        return FPDGDMessage(self.privacy.release(local.start, end, rng), local.n_interactions)

    def aggregate(self, model: Model, messages: Sequence[FPDGDMessage]) -> Model:
        """What `foltr.federated.joining.join` makes of the messages; by default the weighted mean.

        The same theta when there are no messages or none saw a page. ShapeError for a theta of another length than the
        model's; ValueRangeError for one that is not finite, and for a negative number of interactions.
        """
        for message in messages:
            if np.shape(message.theta) != model.theta.shape:
                raise ShapeError(f"theta must be {list(model.theta.shape)}, not {list(np.shape(message.theta))}")
        thetas = np.array([m.theta for m in messages], dtype=np.float64).reshape(len(messages), len(model.theta))
        return self.joined(model, thetas, np.array([m.n_interactions for m in messages], dtype=np.float64)).model

    def joined(self, model: Model, thetas: FloatMatrix, n_interactions: FloatVector) -> Joined:
        """`aggregate` for the matrix of what the devices sent `[n_clients, n_params]` and their pages `[n_clients]`."""
        return join(self.joining, model, thetas, weights(self.joining, n_interactions, equal=self.weighs_alike))

    def _learner(self, local: FPDGDLocal) -> FloatVector:
        return local.theta if self.update == "each" else local.start

    def _bounded(self, theta: FloatVector) -> FloatVector:
        bound = self.privacy.local_bound
        return theta if bound is None else clip_l2(theta, bound)
