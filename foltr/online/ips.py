"""Learning from clicks whose position bias is known: the hinge surrogate weighted by inverse propensity scores (IPS).

    rank of d  <=  1 + h_d,    h_d = sum over d' != d of max(0, 1 - (s_d - s_d'))              (Eq. 3)
    loss       =   sum over the clicked d of  h_d / p_d                                        (Eq. 4, one query)

with s the scores and p_d the probability that the user looked at d (Li and Ouyang, Federated Unbiased Learning to Rank,
2021). Its expectation over who looks where is the loss that labels would give (Eq. 9). As printed, Eq. 3 sums over all
documents of the query, d itself included: that adds the constant 1 to h_d and nothing to its gradient.

The gradient descends: theta - learning_rate * gradient. Where a margin is exactly 1 the subgradient is that of the flat
side, 0.

Where the bias is not known, the device estimates it: `estimated_propensities`, by regression EM (Wang et al., WSDM
2018, Section 4.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import dots, power, sigmoid, weighted_sum
from foltr.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Ranker


def position_propensities(gamma: float, *, k: int) -> FloatVector:
    """p = (1 / rank)^gamma for the ranks 1 to k, `[k]` (Section 4); ValueRangeError for a negative gamma or k."""
    if not (gamma >= 0 and np.isfinite(gamma)) or k < 0:
        raise ValueRangeError(f"gamma and k must be finite and not negative, not {gamma} and {k}")
    return 1.0 / power(np.arange(1.0, k + 1.0), gamma)


def clipped_propensities(propensities: npt.ArrayLike, *, smallest: float) -> FloatVector:
    """Propensities `[k]` of at least `smallest`: less variance, for some bias towards what is shown high.

    ValueRangeError unless every propensity is above 0 and at most 1 after clipping, and 0 <= smallest <= 1.
    """
    if not 0.0 <= smallest <= 1.0:
        raise ValueRangeError(f"the smallest propensity must lie in [0, 1], not {smallest}")
    p = np.maximum(np.asarray(propensities, dtype=np.float64), smallest)
    if not ((p > 0.0) & (p <= 1.0)).all():
        raise ValueRangeError(f"propensities must lie in (0, 1], not {p}")
    return p


def hinge_weights(scores: npt.ArrayLike, row: int) -> FloatVector:
    """The gradient of h_d by the scores, `[n_docs]`: 1 for each document less than 1 below d, minus their number for d.

    They sum to 0; `Ranker.weighted_gradient` turns them into the gradient by theta.
    """
    s = np.asarray(scores, dtype=np.float64)
    weights: FloatVector = (s[row] - s < 1.0).astype(np.float64)
    weights[row] = 0.0
    weights[row] = -weights.sum()
    return weights


def gradient(
    ranker: Ranker, theta: FloatVector, interaction: Interaction, propensities: npt.ArrayLike, *, rank: int
) -> FloatVector:
    """(1 / p_d) * gradient of h_d by theta, `[n_params]`, for the document shown at `rank`, from 0 (line 6)."""
    p = _by_rank(propensities, interaction)
    scores = ranker.score(theta, interaction.features)
    weights = hinge_weights(scores, int(interaction.ranking[rank])) / p[rank]
    return ranker.weighted_gradient(theta, interaction.features, weights)


def update(
    ranker: Ranker, theta: FloatVector, interaction: Interaction, propensities: npt.ArrayLike, *, learning_rate: float
) -> FloatVector:
    """One step for each clicked document, from the top down, each at the theta that the step before led to.

        theta <- theta - learning_rate * (1 / p_d) * gradient of h_d            (Algorithm 1, lines 5 to 8)

    Theta itself, unchanged, when nothing was clicked. Eq. 7 divides by the number of queries; Algorithm 1 does not, nor
    do we: the learning rate absorbs it.
    """
    for rank in np.flatnonzero(interaction.clicks):
        theta = theta - learning_rate * gradient(ranker, theta, interaction, propensities, rank=int(rank))
    return theta


def display(interaction: Interaction) -> Interaction:
    """The page as if only what it showed had been retrieved, so that d is compared with shown documents alone."""
    k = len(interaction.ranking)
    return Interaction(interaction.features[interaction.ranking], np.arange(k), interaction.clicks)


def _by_rank(propensities: npt.ArrayLike, interaction: Interaction) -> FloatVector:
    """The propensities of the ranks shown `[k]`; a page may be shorter than they are."""
    p = np.asarray(propensities, dtype=np.float64)
    k = len(interaction.ranking)
    if p.ndim != 1 or len(p) < k:
        raise ShapeError(f"propensities must be one for each of {k} ranks, not {list(p.shape)}")
    if not ((p[:k] > 0.0) & (p[:k] <= 1.0)).all():
        raise ValueRangeError(f"propensities must lie in (0, 1], not {p[:k]}")
    return p[:k]


LEAST = 1e-3
"""the smallest estimate: an inverse of at most 1,000"""


class Impressions(NamedTuple):
    """Everything that was shown on some pages, one after another."""

    features: FloatMatrix
    """[n_shown, n_features]"""
    ranks: IntVector
    """[n_shown] from 0"""
    clicks: BoolVector
    """[n_shown]"""


def attraction(relevance: FloatVector, features: FloatMatrix) -> FloatVector:
    """F(x) of each document `[n_shown]`; `relevance` `[n_features + 1]` is w and then b."""
    if relevance.shape != (features.shape[1] + 1,):
        raise ShapeError(f"relevance must be [{features.shape[1] + 1}], not {list(relevance.shape)}")
    return sigmoid(dots(features, relevance[:-1]) + relevance[-1])


def hidden(clicks: BoolVector, looked: FloatVector, attracted: FloatVector) -> tuple[FloatVector, FloatVector]:
    """P(E = 1 | click) and P(R = 1 | click), each `[n_shown]`, from p and F of each impression: the E-step."""
    neither = np.maximum(1.0 - looked * attracted, 1e-12)
    examined = np.where(clicks, 1.0, looked * (1.0 - attracted) / neither)
    attractive = np.where(clicks, 1.0, (1.0 - looked) * attracted / neither)
    return examined, attractive


def estimated_propensities(
    ranks: IntVector, clicks: BoolVector, attracted: FloatVector, *, start: npt.ArrayLike, n_steps: int
) -> FloatVector:
    """p `[k]` after `n_steps` of EM from `start` `[k]`, with F of each impression held fixed `[n_shown]`.

    A document is clicked when it is looked at (E, with probability p_r at rank r) and attractive (R, with probability
    F(x) = 1 / (1 + e^-(w . x + b))). For what was shown and not clicked, the E-step asks which of the two was missing:

        P(E = 1 | c = 0) = p (1 - F) / (1 - p F),    P(R = 1 | c = 0) = (1 - p) F / (1 - p F)

    A click is both. The M-step takes p_r as the mean of P(E = 1) at rank r and fits F to P(R = 1). Wang et al. draw
    labels from P(R = 1) for boosted trees; F is linear here as in Li and Ouyang (2021, Section 5), and is fitted to the
    probabilities themselves, whose expected gradient is the same.

    Clicks tell only the product of p and F. Rank 1 is taken as always looked at: p_1 = 1 stays 1 in every E-step.

    A rank that was never shown keeps its start. Starting from ones claims that everything is looked at, which no click
    contradicts: EM stays there. ShapeError when the impressions do not fit one another or a rank is not in `start`;
    ValueRangeError unless all of `start` lies in (0, 1].
    """
    p = np.array(start, dtype=np.float64)
    if not (len(ranks) == len(clicks) == len(attracted)) or (len(ranks) and int(ranks.max()) >= len(p)):
        raise ShapeError(f"impressions must agree and lie within {len(p)} ranks")
    if not ((p > 0.0) & (p <= 1.0)).all():
        raise ValueRangeError(f"propensities must lie in (0, 1], not {p}")
    shown = np.bincount(ranks, minlength=len(p))
    for _ in range(n_steps):
        examined, _attractive = hidden(clicks, p[ranks], attracted)
        means = np.bincount(ranks, weights=examined, minlength=len(p)) / np.maximum(shown, 1)
        p = np.where(shown > 0, np.clip(means, LEAST, 1.0), p)
    return p


def relevance_gradient(relevance: FloatVector, impressions: Impressions, propensities: FloatVector) -> FloatVector:
    """The direction in which F fits P(R = 1) better, mean over the impressions, `[n_features + 1]`; 0 for none.

    mean of (P(R = 1 | click) - F(x)) * (x, 1): the ascent gradient of the expected log likelihood of R
    """
    if not len(impressions.ranks):
        return np.zeros_like(relevance)
    attracted = attraction(relevance, impressions.features)
    _, attractive = hidden(impressions.clicks, propensities[impressions.ranks], attracted)
    residual = (attractive - attracted) / len(attracted)
    return np.append(weighted_sum(residual, impressions.features), residual.sum())
