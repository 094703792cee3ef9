"""FOLtR-ES: every device tries a random perturbation of the ranker, the server follows those that earned more clicks.

    device  draws a seed s; ranks one page by theta + sigma v_s, the next by theta - sigma v_s; sends s and the mean
            privatised reward of either direction: 12 bytes (FOLtR-ES, Section 3.2), or 8 without antithetic variates
    server  makes v_s anew, averages (f+ - f-) v_s / (2 sigma), and steps by Adam (Sections 3.2 and 5)

Which pages are ranked in which direction: the paper takes the first and the second half of the B pages of a round. A
device cannot know how many pages a round will bring, so here the directions alternate, beginning with plus; as the
pages are independent draws, the law is the same for even B. Pages are learned from in the order they were shown in,
each before the next is shown. A direction without a page reports the other's mean, which teaches nothing.

The reward of each page is privatised by itself, then the directions are averaged, as in the paper's program and thesis
Section 3.1.2. A page therefore costs the epsilon of Eq. 10, ln(p (n - 1) / (1 - p)) with the n values that a page can
have (none that is finite for click-count), and a message the sum over its pages. To protect anyone, the
device's generator must be foltr.privacy.noise.os_entropy_generator. Rewards are rounded to 32 bits as sent. Equal
scores: the later document first, as in the published program, which reverses an ascending sort.

The published programs (the paper's and the reproduction study's) are not followed in one thing. There a client seeds
its own generator with s and then draws queries and clicks from it, while v_s comes from the same stream: the first
weights' perturbations tell which queries are asked, which biases the gradient of those weights. Linear rankers suffer:
on MQ2008 their MaxRR ends lower by about .02 for informational users, and with the reward dcg they do not follow these
users' clicks, which irrelevant pages earn more of. Here v_s is independent of everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.joining import take_step
from foltr.federated.method import Model
from foltr.federated.optimizers import Adam, check_positive
from foltr.online.click_rewards import Reward, outcome, reward_values
from foltr.online.evolution_strategies import SEEDS, ascent_gradient, perturbation
from foltr.privacy.privatisation import answer, check_truth_probability, click_count_weights, equal_weights
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Ranker

FalseAnswers = Literal["uniform", "click-count"]


@dataclass(frozen=True, slots=True, eq=False)
class FoltrESLocal:
    """A device in the middle of a round."""

    theta: FloatVector
    """[n_params] the global one"""
    seed: int
    """in [0, 2^32)"""
    step: FloatVector
    """[n_params] sigma v_s"""
    outcomes: tuple[int, ...] = ()
    """of the pages so far, as foltr.online.click_rewards.outcome has them"""


class FoltrESMessage(msgspec.Struct, frozen=True):
    """What leaves the device."""

    seed: int
    """in [0, 2^32)"""
    positive: float
    """mean privatised reward of the pages ranked by theta + sigma v"""
    negative: float | None = None
    """by theta - sigma v; None without antithetic variates"""


@dataclass(frozen=True, slots=True)
class FoltrES:
    """FOLtR-ES; ValueRangeError for a setting outside its range, also for a truth_probability of 1/n or less."""

    ranker: Ranker
    """the paper's are Linear and Neural with 10 hidden units: one layer with bias, and none at the output, as here"""
    sigma: float = 0.01
    """how far away perturbed rankers are, never tuned in the paper"""
    learning_rate: float = 0.001
    """eta of Adam; beta1, beta2 and eps are PyTorch's .9, .999 and 1e-8"""
    antithetic: bool = True
    reward: Reward = "max-rr"
    truth_probability: float = 0.9
    """the paper's p: how often a page's true reward is told; 1 tells it always. (In this project p is a propensity.)"""
    false_answers: FalseAnswers = "uniform"
    """all alike as in Section 3.3, or "click-count" for dcg and ndcg as in the program of the reproduction study"""
    k: int = 10
    """how many results of a page count for the reward"""

    def __post_init__(self) -> None:
        check_positive(sigma=self.sigma, learning_rate=self.learning_rate)
        check_truth_probability(self.truth_probability, len(self.values))
        if self.false_answers not in ("uniform", "click-count"):
            raise ValueRangeError(f"false_answers are uniform or click-count, not {self.false_answers!r}")
        if self.false_answers == "click-count" and self.reward == "max-rr":
            raise ValueRangeError("false answers by click-count are for the rewards dcg and ndcg, not for max-rr")

    @property
    def values(self) -> FloatVector:
        """What each outcome is worth `[n_outcomes]`."""
        return reward_values(self.reward, self.k)

    @property
    def weights(self) -> FloatVector:
        """Of the false answers, added up `[n_outcomes]`."""
        return equal_weights(len(self.values)) if self.false_answers == "uniform" else click_count_weights(self.k)

    def initial(self, rng: np.random.Generator) -> Model:
        """All parameters zero, as in the paper; draws nothing."""
        return Model(np.zeros(self.ranker.n_params))

    def begin(self, model: Model, rng: np.random.Generator) -> FoltrESLocal:
        """A seed and its perturbation: int(u * 2^32) with u = `rng.random()`."""
        seed = int(rng.random() * SEEDS)
        return FoltrESLocal(model.theta, seed, self.sigma * perturbation(seed, len(model.theta)))

    def rank(self, local: FoltrESLocal, features: FloatMatrix, rng: np.random.Generator, *, k: int) -> IntVector:
        """The best by the perturbed ranker; draws nothing."""
        theta = local.theta - local.step if self._backwards(local) else local.theta + local.step
        return np.argsort(self.ranker.score(theta, features), kind="stable")[::-1][:k]

    def learn(self, local: FoltrESLocal, interaction: Interaction) -> FoltrESLocal:
        """Take note of the page's outcome."""
        clicked = outcome(self.reward, interaction.clicks, k=self.k)
        return replace(local, outcomes=(*local.outcomes, clicked))

    def report(self, local: FoltrESLocal, rng: np.random.Generator) -> FoltrESMessage:
        """The seed and the mean rewards; one `rng.random()` for each page in turn, none when the truth is always told.

        Without a page both rewards are 0.
        """
        told = [self._told(truth, rng) for truth in local.outcomes]
        rewards = self.values[np.array(told, dtype=np.intp)]
        if not self.antithetic:
            return FoltrESMessage(local.seed, _mean(rewards))
        positive = _mean(rewards[0::2])
        return FoltrESMessage(local.seed, positive, _mean(rewards[1::2]) if len(rewards) > 1 else positive)

    def aggregate(self, model: Model, messages: Sequence[FoltrESMessage]) -> Model:
        """A step of Adam along the estimated gradient; without messages none is made.

        ShapeError for a message with the wrong number of rewards, ValueRangeError for a seed or a reward that no honest
        device sends.
        """
        if not messages:
            return replace(model, round=model.round + 1)
        for message in messages:
            self._check(message)
        opposite = [m.negative for m in messages if m.negative is not None]
        gradient = ascent_gradient(
            np.array([m.seed for m in messages]),
            np.array([m.positive for m in messages]),
            sigma=self.sigma,
            n_params=len(model.theta),
            opposite=np.array(opposite) if self.antithetic else None,
        )
        return self.climbed(model, gradient)

    def climbed(self, model: Model, gradient: FloatVector) -> Model:
        """The model after one step of Adam up the gradient `[n_params]`."""
        adam = Adam(self.learning_rate, beta1=0.9, beta2=0.999, tau=1e-8, bias_correction=True)
        return take_step(adam, model, gradient)

    def _backwards(self, local: FoltrESLocal) -> bool:
        return self.antithetic and len(local.outcomes) % 2 == 1

    def _told(self, truth: int, rng: np.random.Generator) -> int:
        if self.truth_probability == 1.0:
            return truth
        return answer(truth, rng.random(), truth_probability=self.truth_probability, weights=self.weights)

    def _check(self, message: FoltrESMessage) -> None:
        if (message.negative is not None) != self.antithetic:
            raise ShapeError(f"a message has {'two rewards' if self.antithetic else 'one reward'} here")
        if not 0 <= message.seed < SEEDS:
            raise ValueRangeError(f"a seed lies in 0 to {SEEDS - 1}, not at {message.seed}")
        largest = float(np.float32(self.values.max()))
        for reward in (message.positive, message.negative):
            if reward is not None and not 0.0 <= reward <= largest:
                raise ValueRangeError(f"the reward {self.reward} lies in [0, {largest:g}], not at {reward}")


def _mean(rewards: FloatVector) -> float:
    """The mean, added up one by one and rounded to 32 bits as it is sent; 0 of none."""
    if not rewards.size:
        return 0.0
    return float(np.float32(np.cumsum(rewards)[-1] / len(rewards)))
