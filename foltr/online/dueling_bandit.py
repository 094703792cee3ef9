"""Dueling Bandit Gradient Descent: a ranker moves towards a random neighbour that users prefer to it.

    u uniform on the unit sphere;  w' = w + step_size * u;  page = team draft of the rankings by w and by w'
    w <- w + learning_rate * u   if the places of w' got more clicks, else w stays

(Yue and Joachims, "Interactively optimizing information retrieval systems as a dueling bandits problem", ICML 2009,
Algorithm 1, with delta = step_size and gamma = learning_rate.) There w is projected back into a bounded space; the
order that a linear ranker gives depends on the direction of w alone, and as in later work nothing is projected.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import lengths, normals
from foltr.arrays import FloatMatrix, FloatVector
from foltr.online.interleaving import SECOND, Interleaved, team_draft, winner
from foltr.ranking.rankers import Ranker


def directions(n: int, n_params: int, rng: np.random.Generator) -> FloatMatrix:
    """`n` independent vectors `[n, n_params]`, uniform on the unit sphere."""
    drawn = normals(rng, n, n_params)
    unit: FloatMatrix = drawn / lengths(drawn)[:, None]
    return unit


def shared_page(
    ranker: Ranker,
    present: FloatVector,
    candidate: FloatVector,
    features: FloatMatrix,
    *,
    k: int,
    coins: np.random.Generator,
) -> Interleaved:
    """The page of at most `k` results on which two thetas `[n_params]` duel: the present one is FIRST.

    Equal scores are ranked in the order of the rows.
    """
    first, second = (np.argsort(-ranker.score(theta, features), kind="stable") for theta in (present, candidate))
    return team_draft(first.tolist(), second.tolist(), k=k, rng=coins)


def update(
    theta: FloatVector, direction: FloatVector, *, owner: npt.ArrayLike, clicks: npt.ArrayLike, learning_rate: float
) -> FloatVector:
    """theta after one duel `[n_params]`; `owner` and `clicks` `[k]`. A tie, as without clicks, keeps the present."""
    return theta + learning_rate * direction if winner(owner, clicks) == SECOND else theta
