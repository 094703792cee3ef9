"""Estimating on the device at which ranks its user looks: regression EM (Wang et al., WSDM 2018, Section 4.2).

A document is clicked when it is looked at (E, with probability p_r at rank r) and attractive (R, with probability
F(x) = 1 / (1 + e^-(w . x + b))). Of what was shown and not clicked the E-step asks which of the two was missing:

    P(E = 1 | c = 0) = p (1 - F) / (1 - p F),    P(R = 1 | c = 0) = (1 - p) F / (1 - p F)

A click is both. The M-step takes p_r as the mean of P(E = 1) at rank r and fits F to P(R = 1). Wang et al. draw labels
from P(R = 1) for boosted trees; F is linear here as in Li and Ouyang (2021, Section 5), and is fitted to the
probabilities themselves, whose expected gradient is the same.

Clicks tell only the product of p and F. Rank 1 is taken as always looked at: p_1 = 1 stays 1 in every E-step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import dots, sigmoid, weighted_sum
from foltr.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError

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

    A rank that was never shown keeps its start. Starting from ones is the claim that everything is looked at, which
    no click contradicts: EM stays there. ShapeError when the impressions do not fit one another or a rank is not in
    `start`; ValueRangeError unless all of `start` lies in (0, 1].
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
