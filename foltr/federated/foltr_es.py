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
have (for click-count no finite one), and a message costs the sum over its pages. To protect anyone, the device's
generator must be foltr.privacy.noise.keyed_generator. Rewards are rounded to 32 bits as sent. Of equal scores the later
document comes first, as in the published program, which reverses an ascending sort.

In one thing we do not follow the published programs (the paper's and the reproduction study's). There a client seeds
its own generator with s and then draws queries and clicks from it, while v_s comes from the same stream: the first
weights' perturbations tell which queries are asked, which biases the gradient of those weights. Linear rankers suffer:
on MQ2008 their MaxRR ends lower by about .02 for informational users, and with the reward dcg they do not follow these
users' clicks, which irrelevant pages earn more of. Here v_s is independent of everything else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arithmetic import dots, log, waves, weighted_sum
from foltr.arrays import BoolVector, FloatArray, FloatMatrix, FloatVector, Int64Vector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.joining import take_step
from foltr.federated.method import Model
from foltr.federated.optimizers import Adam, check_positive
from foltr.ranking.interaction import Interaction
from foltr.ranking.metrics import discounts
from foltr.ranking.rankers import Ranker


@lru_cache(maxsize=32)
def equal_weights(n_values: int) -> FloatVector:
    """w of randomised response, added up: `[n_values]`, read-only."""
    return _read_only(np.arange(1.0, n_values + 1.0))


@lru_cache(maxsize=32)
def click_count_weights(k: int) -> FloatVector:
    """w of the published program for patterns of clicks on k ranks, added up: `[2^k]`, read-only.

    w = 1 / (k binomial(k, m)) for each pattern of m > 0 clicks, 0 for the pattern without clicks. (The program draws
    again when it has drawn the truth, which is the law above.)
    """
    share = np.array([0.0] + [1.0 / (k * math.comb(k, m)) for m in range(1, k + 1)])
    n_clicks = np.array([pattern.bit_count() for pattern in range(1 << k)])
    return _read_only(np.cumsum(share[n_clicks]))


def answer(truth: int, u: float, *, truth_probability: float, weights: FloatVector) -> int:
    """The answer that the number u in [0, 1) stands for: the truth below p, the false answers share the rest in order.

        P(answer = truth) = p,     P(answer = i) = (1 - p) w_i / (sum of w but for the truth's)   for every other i

    With all weights w equal this is randomised response (Warner, 1965; FOLtR-ES, Section 3.3 and
    4.3); with n values its epsilon = ln(p (n - 1) / (1 - p)) (Eq. 10), pure, delta 0, and over several answers the
    epsilons add up. The paper's p is called `truth_probability` here, for p is the propensity.

    The program of the reproduction study draws false patterns of clicks by another law: first how many clicks, 1 to k
    equally likely, then which ranks. `click_count_weights` are its weights. A page without clicks is then never a false
    answer, so whoever receives one knows that it is true: that law has no finite epsilon.

    `weights` `[n_values]` are those of the false answers, added up.
    """
    if u < truth_probability:
        return truth
    before = float(weights[truth - 1]) if truth > 0 else 0.0
    place = (u - truth_probability) / (1.0 - truth_probability) * (before + float(weights[-1]) - float(weights[truth]))
    if place >= before:
        place = place - before + float(weights[truth])
    last = len(weights) - 1 if truth < len(weights) - 1 else truth - 1
    return min(int(np.searchsorted(weights, place, side="right")), last)


def answers_distribution(truths: FloatArray, *, truth_probability: float) -> FloatArray:
    """P(answer = i) for randomised response when the truth is i with probability truths[.., i]: `[.., n_values]`."""
    check_truth_probability(truth_probability, truths.shape[-1])
    told: FloatArray = truth_probability * truths + (1.0 - truth_probability) * (1.0 - truths) / (truths.shape[-1] - 1)
    return told


def check_truth_probability(truth_probability: float, n_values: int) -> None:
    """ValueRangeError unless 1 / n_values < p <= 1: below, answers speak against the truth (FOLtR-ES, Fact 1)."""
    if n_values < 2:
        raise ShapeError(f"a metric needs two values to be privatised, not {n_values}")
    if not 1.0 / n_values < truth_probability <= 1.0:
        raise ValueRangeError(
            f"truth_probability must be above 1/{n_values} and at most 1, not {truth_probability}: "
            "the reward has that many values"
        )


def _read_only(values: FloatVector) -> FloatVector:
    values.flags.writeable = False
    return values


Reward = Literal["max-rr", "dcg", "ndcg"]

LONGEST_PATTERN = 16
"""results on a page whose patterns of clicks have a table of values"""


def outcome(reward: Reward, clicks: BoolVector, *, k: int) -> int:
    """Which of the reward's outcomes the clicks `[k']` are (FOLtR-ES, Sections 3.3 and 5).

    Those below rank k do not count.

        max-rr   1 / rank of the highest click, 0 without one                  outcomes 0 (no click), 1 .. k (its rank)
        dcg      sum over the clicked ranks i of 1 / log2(i + 1)               outcomes: 2^k patterns of clicks
        ndcg     dcg divided by that of the same number of clicks on top       outcomes as for dcg

    A pattern is a number in which bit r stands for a click on rank r + 1. max-rr is the paper's. dcg is what the
    program of the reproduction study (thesis Section 3.1, RQ1.1.4) optimises where the thesis writes nDCG.
    """
    seen = np.flatnonzero(clicks[:k])
    if reward == "max-rr":
        return int(seen[0]) + 1 if seen.size else 0
    return sum(1 << int(rank) for rank in seen)


@lru_cache(maxsize=32)
def reward_values(reward: Reward, k: int) -> FloatVector:
    """The value of every outcome on pages of k results `[n_outcomes]`, read-only.

    ValueRangeError for an unknown reward, for k below 1, and for k above 16 where outcomes are patterns.
    """
    if reward not in ("max-rr", "dcg", "ndcg"):
        raise ValueRangeError(f"the reward is max-rr, dcg or ndcg, not {reward!r}")
    longest = 1 << 16 if reward == "max-rr" else LONGEST_PATTERN
    if not 1 <= k <= longest:
        raise ValueRangeError(f"{reward} is for pages of 1 to {longest} results, not {k}")
    if reward == "max-rr":
        values = np.concatenate([[0.0], 1.0 / np.arange(1, k + 1)])
    else:
        patterns = click_patterns(k)
        values = dots(patterns.astype(np.float64), discounts(k))
        if reward == "ndcg":
            best = np.concatenate([[1.0], np.cumsum(discounts(k))])
            values = values / best[patterns.sum(axis=1)]
    return _read_only(values)


def click_patterns(k: int) -> Int64Vector:
    """Whether rank r + 1 is clicked in each pattern `[2^k, k]`."""
    return (np.arange(1 << k)[:, None] >> np.arange(k)) & 1


SEEDS = 1 << 32
"""how many seeds there are"""

_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
_TO_UNIT = 2.0**-53
_BLOCK = 1 << 20
"""normal numbers held in memory at a time"""


def perturbation(seed: int, n_params: int) -> FloatVector:
    """v `[n_params]` of one seed in [0, 2^32); ValueRangeError for another seed."""
    v: FloatVector = perturbations(np.array([seed]), n_params)[0]
    return v


def perturbations(seeds: npt.ArrayLike, n_params: int) -> FloatMatrix:
    """v of each seed `[n_seeds]`: `[n_seeds, n_params]`; ValueRangeError for a seed that is not in [0, 2^32).

    A perturbation v is a function of a 32-bit seed, so that a device sends the seed in place of the vector. With c the
    counter seed * 2^32 + i for i = 0, 1, .. n_params - 1 (and one more where n_params is odd),

        z = (c + 1) * 0x9E3779B97F4A7C15                                                       (mod 2^64)
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;  x_i = z ^ (z >> 31)

    which is a stretch of 2^32 numbers of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a different one for every
    seed; then, by Box and Muller (1958), for i even and y = floor(x / 2^11) the upper 53 bits,

        r = sqrt(-2 ln((y_i + 1) / 2^53)),  a = 2 pi y_{i+1} / 2^53,     v_i = r cos(a),  v_{i+1} = r sin(a)

    The published program takes numpy's generator. Its numbers are not promised to be the same in every version of
    numpy, and a device and a server that differ would follow different perturbations. Here they are the same on all
    machines (foltr.arithmetic).
    """
    given = np.asarray(seeds)
    if given.size and not (np.issubdtype(given.dtype, np.integer) and given.min() >= 0 and given.max() < SEEDS):
        raise ValueRangeError(f"seeds must be whole numbers from 0 to {SEEDS - 1}")
    even = n_params + n_params % 2
    counters = np.left_shift(given.astype(np.uint64), np.uint64(32))[:, None] + np.arange(even, dtype=np.uint64)
    upper = (_splitmix(counters) >> np.uint64(11)).astype(np.float64)
    radius = np.sqrt(-2.0 * log((upper[:, 0::2] + 1.0) * _TO_UNIT))
    across, along = waves(upper[:, 1::2] * _TO_UNIT)
    v = np.empty(counters.shape)
    v[:, 0::2], v[:, 1::2] = radius * across, radius * along
    return v[:, :n_params]


def ascent_gradient(
    seeds: npt.ArrayLike, rewards: npt.ArrayLike, *, sigma: float, n_params: int, opposite: npt.ArrayLike | None = None
) -> FloatVector:
    """The slope of the expected reward, the mean over the clients: `[n_params]`, zeros without clients.

        g = E[ f(theta + sigma v) v ] / sigma,                                  v ~ N(0, I)    (FOLtR-ES, Eq. 4)
        g = E[ (f(theta + sigma v) - f(theta - sigma v)) v ] / (2 sigma)        antithetic     (Section 3.2)

    `rewards` `[n_clients]` were earned at theta + sigma v; `opposite`, if given, at theta - sigma v. ShapeError when
    they do not fit; ValueRangeError for a reward that is not finite or a sigma that is not positive.
    """
    given, weights = np.asarray(seeds), reward_weights(rewards, opposite, sigma=sigma)
    if given.shape != weights.shape:
        raise ShapeError(f"one seed for each reward: {list(given.shape)} seeds, {list(weights.shape)} rewards")
    gradient = np.zeros(n_params)
    rows = max(1, _BLOCK // max(1, n_params))
    for begin in range(0, len(given), rows):
        block = slice(begin, begin + rows)
        gradient += weighted_sum(weights[block], perturbations(given[block], n_params))
    return gradient


def reward_weights(rewards: npt.ArrayLike, opposite: npt.ArrayLike | None = None, *, sigma: float) -> FloatVector:
    """What each client's v is multiplied with in the sum that is the gradient: `[n_clients]`."""
    earned = np.asarray(rewards, dtype=np.float64)
    if not (sigma > 0 and np.isfinite(sigma)):
        raise ValueRangeError(f"sigma must be positive, not {sigma}")
    if opposite is not None:
        if np.shape(opposite) != earned.shape:
            raise ShapeError(f"opposite rewards must be {list(earned.shape)}, not {list(np.shape(opposite))}")
        earned = (earned - np.asarray(opposite, dtype=np.float64)) / 2.0
    if earned.ndim != 1:
        raise ShapeError(f"rewards must be [n_clients], not {list(earned.shape)}")
    if not np.isfinite(earned).all():
        raise ValueRangeError("rewards must be finite")
    weights: FloatVector = earned / (sigma * max(1, len(earned)))
    return weights


def _splitmix(counters: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Number counters + 1 of the SplitMix64 sequence that starts at 0."""
    z = (counters + np.uint64(1)) * _STRIDE
    for shift, factor in _MIX:
        z = (z ^ (z >> np.uint64(shift))) * factor
    return z ^ (z >> np.uint64(31))


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
    """of the pages so far, as foltr.federated.foltr_es.outcome has them"""


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
