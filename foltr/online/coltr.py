"""Counterfactual online learning to rank: many candidate rankers are judged on clicks that none of them was shown for.

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
"""

from __future__ import annotations

import numpy as np

from foltr.arithmetic import dots, exp
from foltr.arrays import BoolVector, FloatMatrix, FloatVector
from foltr.errors import ShapeError
from foltr.ranking.interaction import Interaction
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
