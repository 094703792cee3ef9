"""Counterfactual online learning to rank: many candidate rankers are judged by clicks on a page that none of them made.

    u_1 .. u_n uniform on the unit sphere;  w_j = w + step_size * u_j
    winners = those whose estimated risk is below the present ranker's
    w <- w + learning_rate * mean of the winners' u_j;  w stays without a winner

(Zhuang and Zuccon, "Counterfactual Online Learning to Rank", ECIR 2020, and their published program.) The risk of a
ranker is estimated from one page by the self-normalised inverse propensity score, with a penalty for its variance:

    rho_d = p_j(d) / p(d)                                   p(d) = softmax of the scores over the candidate documents
    R = sum_d rho_d delta_d / sum_d rho_d                   (Swaminathan and Joachims, NeurIPS 2015)
    V = sum_d rho_d^2 (delta_d - R)^2 / sum_d rho_d^2
    risk = R + variance_penalty * sqrt(V / k)               sums over the k results of the page

delta_d is 1 for a result that was passed over on the way to the last click, else 0. R and V stay as they are when all
rho of one ranker are multiplied by a number, so the softmax's denominators, which run over all documents, are never
needed. (V is the published program's; the usual estimate divides by the square of sum rho instead.)

As four verbs, one client with all interactions is the method of the paper. A page is a Plackett-Luce ranking of the
scores divided by `temperature`; all that a step needs is that page. Candidates come from a generator seeded by (seed of
the round, number of the page), so a step is a function of the device's state. With several clients the server averages
their rankers as in FPDGD; no paper has that.

The published program divides by the temperature only when it samples, and judges candidates with a temperature of 1,
the default of `judging_temperature`; set equal to `temperature`, it makes the propensities those of the page. Its rate
decays with each update, here with each round, which is the same where a round is one interaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foltr.arithmetic import dots, exp, power
from foltr.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.dbgd import Averaged, directions
from foltr.federated.method import Model
from foltr.federated.optimizers import check_positive
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import draw
from foltr.ranking.rankers import Ranker


def passed_over(clicks: BoolVector) -> FloatVector:
    """delta by rank `[k]`: 1 for every result above the last click that was not opened; without a click all 0."""
    clicked = np.flatnonzero(clicks)
    last = int(clicked[-1]) if clicked.size else 0
    return ((np.arange(len(clicks)) < last) & ~clicks).astype(np.float64)


def risks(log_ratios: FloatMatrix, delta: FloatVector, *, variance_penalty: float) -> FloatVector:
    """The estimated risk of each ranker `[n_rankers]`; lower is better.

    `log_ratios` `[n_rankers, k]` are log rho up to one number for each ranker; ShapeError when `delta` is not `[k]`.
    """
    if log_ratios.ndim != 2 or delta.shape != log_ratios.shape[1:]:
        raise ShapeError(f"one delta for each column: {list(delta.shape)}, log ratios {list(log_ratios.shape)}")
    rho = exp(log_ratios - log_ratios.max(axis=1, keepdims=True))
    mean = dots(rho, delta) / rho.sum(axis=1)
    spread = np.sum((rho * (delta - mean[:, None])) ** 2, axis=1) / np.sum(rho**2, axis=1)
    risk: FloatVector = mean + variance_penalty * np.sqrt(spread / len(delta))
    return risk


def winners(
    ranker: Ranker,
    theta: FloatVector,
    candidates: FloatMatrix,
    interaction: Interaction,
    *,
    temperature: float = 1.0,
    variance_penalty: float = 1.0,
) -> BoolVector:
    """Which of the candidate thetas `[n, n_params]` have a lower risk on the page than theta: `[n]`.

    `temperature` divides the scores inside p. Nobody wins on a page where nothing was passed over, as without clicks.
    """
    delta = passed_over(interaction.clicks)
    if not delta.any():
        return np.zeros(len(candidates), dtype=np.bool_)
    shown = interaction.features[interaction.ranking]
    scores = np.array([ranker.score(each, shown) for each in (theta, *candidates)])
    risk = risks((scores - scores[0]) / temperature, delta, variance_penalty=variance_penalty)
    better: BoolVector = risk[1:] < risk[0]
    return better


def update(theta: FloatVector, directions: FloatMatrix, won: BoolVector, *, learning_rate: float) -> FloatVector:
    """theta + learning_rate * mean of the directions `[n, n_params]` that won; theta itself when none did."""
    return theta + learning_rate * directions[won].mean(axis=0) if won.any() else theta


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
class COLTR(Averaged):
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

    def begin(self, model: Model, rng: np.random.Generator) -> COLTRLocal:
        """The global ranker, this round's rate, and the seed of its candidates: one integer of `rng`."""
        rate = self.learning_rate * float(power(self.learning_rate_decay, model.round))
        return COLTRLocal(model.theta, rate, int(rng.integers(1 << 63)))

    def rank(self, local: COLTRLocal, features: FloatMatrix, rng: np.random.Generator, *, k: int) -> IntVector:
        """A Plackett-Luce ranking: one number of `rng` for each of the `min(k, n_docs)` ranks."""
        return draw(self.ranker.score(local.theta, features) / self.temperature, k, rng)

    def learn(self, local: COLTRLocal, interaction: Interaction) -> COLTRLocal:
        """A step towards the candidates that the page favours."""
        luck = np.random.default_rng([local.seed, local.n_interactions])
        drawn = directions(self.n_candidates, self.ranker.n_params, luck)
        won = winners(
            self.ranker,
            local.theta,
            local.theta + self.step_size * drawn,
            interaction,
            temperature=self.judging_temperature,
            variance_penalty=self.variance_penalty,
        )
        theta = update(local.theta, drawn, won, learning_rate=local.learning_rate)
        return replace(local, theta=theta, n_interactions=local.n_interactions + 1)
