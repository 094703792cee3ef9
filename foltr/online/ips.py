"""Learning from clicks whose position bias is known: the hinge surrogate weighted by inverse propensity scores (IPS).

    rank of d  <=  1 + h_d,    h_d = sum over d' != d of max(0, 1 - (s_d - s_d'))              (Eq. 3)
    loss       =   sum over the clicked d of  h_d / p_d                                        (Eq. 4, one query)

with s the scores and p_d the probability that the user looked at d (Li and Ouyang, Federated Unbiased Learning to Rank,
2021). Its expectation over who looks where is the loss that labels would give (Eq. 9). As printed, Eq. 3 sums over all
documents of the query, d itself included: that adds the constant 1 to h_d and nothing to its gradient.

The gradient descends: theta - learning_rate * gradient. Where a margin is exactly 1 the subgradient is that of the flat
side, 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import power
from foltr.arrays import FloatVector
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
    """One step for each clicked document from the top, each at the theta that the last one led to.

        theta <- theta - learning_rate * (1 / p_d) * gradient of h_d            (Algorithm 1, lines 5 to 8)

    Theta itself, unchanged, when nothing was clicked. Eq. 7 divides by the number of queries, Algorithm 1 does not, nor
    do we: the learning rate takes it in.
    """
    for rank in np.flatnonzero(interaction.clicks):
        theta = theta - learning_rate * gradient(ranker, theta, interaction, propensities, rank=int(rank))
    return theta


def display(interaction: Interaction) -> Interaction:
    """The page as if nothing had been retrieved but what it showed: then d is compared with shown documents alone."""
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
