"""Dueling Bandit Gradient Descent: a ranker moves towards a random neighbour that users prefer to it.

    u uniform on the unit sphere;  w' = w + step_size * u;  page = team draft of the rankings by w and by w'
    w <- w + learning_rate * u   if the places of w' got more clicks, else w stays

(Yue and Joachims, "Interactively optimizing information retrieval systems as a dueling bandits problem", ICML 2009,
Algorithm 1, with delta = step_size and gamma = learning_rate.) There w is projected back into a bounded space; the
order that a linear ranker gives depends only on the direction of w, so nothing is projected here, as in later work.

As four verbs, one client with all interactions is the method of the paper. A duel needs three things that are not in an
Interaction: the candidate, who placed which result, and by which coins. All three are functions of the device's state:
the candidate's direction and the coins of the team draft come from a generator seeded by (seed of the round, number of
the page). So `rank` and `learn` hold the same duel without exchanging anything but the page. Several pages shown before
the first is learned from share one duel, and only the first learned from is judged.

With several clients each duels on its own and the server averages their rankers as in FPDGD; no paper has that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import lengths, normals
from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.federated.fpdgd import FPDGD, FPDGDMessage
from foltr.federated.method import Model
from foltr.federated.optimizers import check_positive
from foltr.online.interleaving import SECOND, Interleaved, team_draft, winner
from foltr.ranking.interaction import Interaction
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
    """theta after one duel `[n_params]`; `owner` and `clicks` `[k]`. A tie, as without clicks, keeps theta."""
    return theta + learning_rate * direction if winner(owner, clicks) == SECOND else theta


class Averaged:
    """What the server does with rankers that devices send as they are: FPDGD's mean, without privacy."""

    __slots__ = ()
    ranker: Ranker

    def initial(self, rng: np.random.Generator) -> Model:
        """The ranker's own starting point."""
        return Model(self.ranker.initial(rng))

    def report(self, local: Any, rng: np.random.Generator) -> FPDGDMessage:
        """The ranker and how many pages it saw."""
        return FPDGDMessage(local.theta, local.n_interactions)

    def aggregate(self, model: Model, messages: Sequence[FPDGDMessage]) -> Model:
        """The mean weighted by pages seen (FPDGD's, thesis Eq. 3.16)."""
        return FPDGD(self.ranker).aggregate(model, messages)


@dataclass(frozen=True, slots=True, eq=False)
class DBGDLocal:
    """A device in the middle of a round; with the page's features it decides the next duel."""

    theta: FloatVector
    """[n_params]"""
    seed: int
    """of the round's candidates and coins"""
    n_interactions: int = 0


@dataclass(frozen=True, slots=True)
class DBGD(Averaged):
    """Dueling bandit with team-draft interleaving and one candidate; ValueRangeError unless both steps are positive."""

    ranker: Ranker
    learning_rate: float = 0.01
    """gamma of the paper: the step after a duel that the candidate won"""
    step_size: float = 1.0
    """delta: how far away the candidate stands"""

    def __post_init__(self) -> None:
        check_positive(learning_rate=self.learning_rate, step_size=self.step_size)

    def begin(self, model: Model, rng: np.random.Generator) -> DBGDLocal:
        """The global ranker and the seed of this round's duels: one integer of `rng`."""
        return DBGDLocal(model.theta, int(rng.integers(1 << 63)))

    def rank(self, local: DBGDLocal, features: FloatMatrix, rng: np.random.Generator, *, k: int) -> IntVector:
        """The page of the next duel; its coins are those of `local`, and `rng` is left alone."""
        return self.duel(local, features, k=k)[1].ranking

    def learn(self, local: DBGDLocal, interaction: Interaction) -> DBGDLocal:
        """A step towards the candidate when it won; a page that is not this duel's teaches nothing."""
        direction, page = self.duel(local, interaction.features, k=len(interaction.ranking))
        theta = local.theta
        if np.array_equal(page.ranking, interaction.ranking):
            theta = update(
                theta, direction, owner=page.owner, clicks=interaction.clicks, learning_rate=self.learning_rate
            )
        return replace(local, theta=theta, n_interactions=local.n_interactions + 1)

    def duel(self, local: DBGDLocal, features: FloatMatrix, *, k: int) -> tuple[FloatVector, Interleaved]:
        """The candidate's direction `[n_params]` and the page it shares with the present ranker."""
        luck = np.random.default_rng([local.seed, local.n_interactions])
        direction = directions(1, self.ranker.n_params, luck)[0]
        candidate = local.theta + self.step_size * direction
        return direction, shared_page(self.ranker, local.theta, candidate, features, k=k, coins=luck)
