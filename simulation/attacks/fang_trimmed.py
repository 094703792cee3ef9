"""Fang's attack on trimmed mean and median: beyond the benign extreme, on the wrong side (thesis Section 5.2.3).

With s_j = - sign(mean_j - theta_t,j), each parameter of each malicious client is drawn uniformly and anew from

    s_j = +1    [max_j, b max_j] if max_j > 0, else [max_j, max_j / b]
    s_j = -1    [b min_j, min_j] if min_j < 0, else [min_j / b, min_j]

and is the mean where s_j = 0, that is, where nobody moved it. b = 2; max_j and min_j are of the benign clients' weights
(Fang et al., USENIX Security 2020, Section 4.3). Who knows the attackers' own updates alone, of mean mu and standard
deviation sigma (divided by m), draws from mu_j + s_j [3 sigma_j, 4 sigma_j]: "partial". The thesis seems to estimate
the extremes from them instead: "own-extremes". It takes the same attack for the median. Fang et al. bound local models,
and so do we; the authors' program bounds their differences to the common one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from simulation.attacks.settings import AttackedRound, AttackSettings

REACH = 2.0
"""b: how far beyond the extreme values may lie"""


class FangTrimmed(AttackSettings, frozen=True, tag="fang-trimmed"):
    """Values at random, from each attacker its own."""

    knowledge: Literal["full", "partial", "own-extremes"] = "full"

    def check(self, n_clients: int, n_malicious: int) -> None:
        """ValueRangeError where nobody is left whose extremes could be exceeded."""
        if n_malicious >= n_clients:
            raise ValueRangeError(f"fang-trimmed: {n_malicious} malicious of {n_clients} clients leave no benign one")

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """One number of the attackers' stream for each parameter of each malicious client, client after client."""
        known = scene.reported if self.knowledge == "full" else scene.own
        mean = known.mean(axis=0)
        side = -np.sign(mean - scene.start)
        drawn = scene.rng.random(scene.own.shape)
        if self.knowledge == "partial":
            far: FloatMatrix = mean + side * (3.0 + drawn) * scene.own.std(axis=0)
            return far
        edges = scene.benign if self.knowledge == "full" else scene.own
        sent = beyond_the_extreme(edges.min(axis=0), edges.max(axis=0), side, drawn)
        return np.where(side == 0, mean, sent)


def beyond_the_extreme(low: FloatVector, high: FloatVector, side: FloatVector, drawn: FloatMatrix) -> FloatMatrix:
    """Between the extreme of a `side` and b times as far out; `drawn` `[n, d]` in [0, 1) says where.

    `low`, `high` and `side`, 1 for the high one and else the low one, are `[d]`. An extreme that lies inside 0 is
    divided by b, which is outward as well.
    """
    edge = np.where(side > 0, high, low)
    far = np.where(side * edge > 0, REACH * edge, edge / REACH)
    beyond: FloatMatrix = edge + drawn * (far - edge)
    return beyond
