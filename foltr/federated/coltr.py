"""Counterfactual online learning to rank as four verbs; one client with all interactions is the method of the paper.

A page is a Plackett-Luce ranking of the scores divided by `temperature`; all that a step needs is that page. Candidates
come from a generator seeded by (seed of the round, number of the page), so a step is a function of the device's state.
With several clients the server averages their rankers as in FPDGD; no paper has that.

The published program divides by the temperature in sampling alone and judges candidates with a temperature of 1:
`judging_temperature` is that, by default, and equal to `temperature` it makes the propensities those of the page. Its
rate decays with each update; here with each round, which is the same where a round is one interaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foltr.arithmetic import power
from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.errors import ValueRangeError, check_positive
from foltr.federated.fpdgd import FPDGD, FPDGDMessage
from foltr.federated.method import Model
from foltr.online import coltr
from foltr.online.dueling_bandit import directions
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import draw
from foltr.ranking.rankers import Ranker


@dataclass(frozen=True, slots=True, eq=False)
class COLTRLocal:
    """A device in the middle of a round."""

    theta: FloatVector
    """[n_params]"""
    learning_rate: float
    """of this round"""
    seed: int
    """of the round's candidates"""
    n_interactions: int = 0


@dataclass(frozen=True, slots=True)
class COLTR:
    """Counterfactual dueling of many candidates; ValueRangeError for a setting outside its range."""

    ranker: Ranker
    learning_rate: float = 0.1
    learning_rate_decay: float = 0.99966
    """the rate is multiplied by this after each round; without decay noisy clicks keep the ranker wandering"""
    n_candidates: int = 499
    step_size: float = 1.0
    """how far away the candidates stand"""
    temperature: float = 0.1
    """of the ranking drawn"""
    judging_temperature: float = 1.0
    """of the probabilities that candidates are judged by"""
    variance_penalty: float = 1.0

    def __post_init__(self) -> None:
        check_positive(learning_rate=self.learning_rate, n_candidates=self.n_candidates, step_size=self.step_size)
        check_positive(temperature=self.temperature, judging_temperature=self.judging_temperature)
        if not 0 < self.learning_rate_decay <= 1:
            raise ValueRangeError(f"learning_rate_decay must lie in (0, 1], not {self.learning_rate_decay}")
        if not self.variance_penalty >= 0:
            raise ValueRangeError(f"variance_penalty must not be negative, not {self.variance_penalty}")

    def initial(self, rng: np.random.Generator) -> Model:
        """The ranker's own starting point."""
        return Model(self.ranker.initial(rng))

    def begin(self, model: Model, rng: np.random.Generator) -> COLTRLocal:
        """The global ranker, this round's rate, and the seed of its candidates: one integer of `rng`."""
        rate = self.learning_rate * float(power(self.learning_rate_decay, model.round))
        return COLTRLocal(model.theta, rate, int(rng.integers(1 << 63)))

    def rank(self, local: COLTRLocal, features: FloatMatrix, rng: np.random.Generator, *, k: int) -> IntVector:
        """A Plackett-Luce ranking: one number of `rng` for each of the `min(k, n_docs)` ranks."""
        return draw(self.ranker.score(local.theta, features) / self.temperature, k, rng)

    def learn(self, local: COLTRLocal, interaction: Interaction) -> COLTRLocal:
        """A step towards the candidates that the page speaks for."""
        luck = np.random.default_rng([local.seed, local.n_interactions])
        drawn = directions(self.n_candidates, self.ranker.n_params, luck)
        won = coltr.winners(
            self.ranker,
            local.theta,
            local.theta + self.step_size * drawn,
            interaction,
            temperature=self.judging_temperature,
            variance_penalty=self.variance_penalty,
        )
        theta = coltr.update(local.theta, drawn, won, learning_rate=local.learning_rate)
        return replace(local, theta=theta, n_interactions=local.n_interactions + 1)

    def report(self, local: COLTRLocal, rng: np.random.Generator) -> FPDGDMessage:
        """The ranker and how many pages it saw, as FPDGD without privacy."""
        return FPDGDMessage(local.theta, local.n_interactions)

    def aggregate(self, model: Model, messages: Sequence[FPDGDMessage]) -> Model:
        """The mean weighted by pages seen (FPDGD's, thesis Eq. 3.16)."""
        return FPDGD(self.ranker).aggregate(model, messages)
