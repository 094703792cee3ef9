"""Pairwise Differentiable Gradient Descent: learn a ranker from one result page at a time.

    gradient = sum over pairs (d_k opened, d_l not)
               rho(d_k, d_l, R) * P(d_k > d_l) * P(d_l > d_k) * (f'(d_k) - f'(d_l)) / temperature

with P(d_k > d_l) = e^s_k / (e^s_k + e^s_l), s the scores divided by the temperature they were sampled with (Oosterhuis
and de Rijke, CIKM 2018; thesis Algorithm 1, Eq. 3.9 to 3.12). rho, the reversed-pair weight, removes the advantage that
a document had from its position.

The published programs give NaN when a ranking is very improbable (both products of Eq. 3.12 underflow); here
everything stays in logarithms. They also ignore the temperature in the gradient; here it is the same in both places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import log_sum, log_sums, sigmoid
from foltr.arrays import BoolVector, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import log_denominators
from foltr.ranking.rankers import Ranker


class Pairs(NamedTuple):
    """Preferences that one page expressed, each `[n_pairs]`."""

    preferred: IntVector
    """row of the opened document"""
    other: IntVector
    """row of the document that was passed over"""
    weight: FloatVector
    """rho * P(preferred > other) * P(other > preferred) / temperature, never negative"""


def clicked_and_passed(clicks: BoolVector) -> tuple[IntVector, IntVector]:
    """Ranks (from 0) of every pair of an opened result and one that was seen and not opened.

    Seen are all ranks down to the one below the last click. Without a click or without a passed result: no pairs.
    """
    clicked = np.flatnonzero(clicks)
    passed = np.flatnonzero(~clicks[: clicked[-1] + 2 if clicked.size else 0])
    return np.repeat(clicked, len(passed)), np.tile(passed, len(clicked))


def reversed_pair_weight(
    scores: npt.ArrayLike, ranking: npt.ArrayLike, *, first: IntVector, second: IntVector
) -> FloatVector:
    """rho = P(R*) / (P(R) + P(R*)) where R* is the ranking with ranks `first` and `second` exchanged, `[n_pairs]`.

    Exchanging ranks lo < hi changes only the denominators of ranks lo+1 .. hi: there the document of rank lo still
    waits to be placed, and the one of rank hi no longer does. So log P(R*)/P(R) is the sum of those differences, and
    each changed denominator is added up anew (subtracting would lose all digits when one document dominates).
    Any finite scores and any ranking give a number in [0, 1]. Source: thesis Eq. 3.12.
    """
    ranked, remaining = log_denominators(scores, ranking)
    k = len(ranked)
    lo, hi = np.minimum(first, second), np.maximum(first, second)
    before_hi = np.where(np.arange(k) < np.arange(k)[:, None], ranked, -np.inf)
    # between[hi, r]: log sum over the documents at ranks r .. hi-1
    between = log_sums(before_hi[:, ::-1])[:, ::-1]
    outside = log_sum(np.stack([ranked[lo], remaining[hi + 1]], axis=-1))
    changed = log_sum(np.stack(np.broadcast_arrays(outside[:, None], between[hi]), axis=-1))
    ranks = np.arange(k)
    inside = (ranks > lo[:, None]) & (ranks <= hi[:, None])
    log_ratio = np.sum(np.where(inside, remaining[:-1] - changed, 0.0), axis=1)
    return sigmoid(log_ratio)


def pair_weights(scores: FloatVector, ranking: IntVector, *, first: IntVector, second: IntVector) -> FloatVector:
    """rho * P(d > e) * P(e > d) of the documents at each two ranks, whichever of them was opened, `[n_pairs]`."""
    p = sigmoid(-np.abs(scores[ranking[first]] - scores[ranking[second]]))
    return reversed_pair_weight(scores, ranking, first=first, second=second) * p * (1.0 - p)


def preference_pairs(scores: npt.ArrayLike, interaction: Interaction, *, temperature: float = 1.0) -> Pairs:
    """The weighted preferences of one page; empty where it has none.

    `scores` `[n_docs]` ranked it, undivided. ShapeError: they do not fit; ValueRangeError: temperature <= 0.
    """
    if not (temperature > 0 and np.isfinite(temperature)):
        raise ValueRangeError(f"the temperature of the gradient must be positive, not {temperature}")
    s = np.asarray(scores, dtype=np.float64)
    if s.shape != (interaction.n_docs,):
        raise ShapeError(f"scores must be [{interaction.n_docs}] as the page is, not {list(s.shape)}")
    clicked, passed = clicked_and_passed(interaction.clicks)
    preferred, other = interaction.ranking[clicked], interaction.ranking[passed]
    if not clicked.size:
        return Pairs(preferred, other, np.zeros(0))
    with np.errstate(over="ignore"):
        tempered = np.clip(s / temperature, -1e300, 1e300)
    weight = pair_weights(tempered, interaction.ranking, first=clicked, second=passed)
    return Pairs(preferred, other, weight / temperature)


def document_weights(pairs: Pairs, n_docs: int) -> FloatVector:
    """By how much the page wants each document's score to rise, `[n_docs]`; sums to 0."""
    weights = np.zeros(n_docs)
    np.add.at(weights, pairs.preferred, pairs.weight)
    np.subtract.at(weights, pairs.other, pairs.weight)
    return weights


def gradient(ranker: Ranker, theta: FloatVector, interaction: Interaction, *, temperature: float = 1.0) -> FloatVector:
    """The PDGD gradient `[n_params]` (thesis Eq. 3.11); zero for a page that expresses no preference."""
    pairs = preference_pairs(ranker.score(theta, interaction.features), interaction, temperature=temperature)
    return ranker.weighted_gradient(theta, interaction.features, document_weights(pairs, interaction.n_docs))
