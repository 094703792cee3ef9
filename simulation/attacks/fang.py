"""Fang's attacks, each fitted to what a rule takes in (Fang et al., USENIX Security 2020; thesis Section 5.2.3).

On Krum and Multi-Krum: as far against the others as Krum still chooses the row (thesis Section 5.2.3).

    theta_mal = theta_t + lambda s,     s = - sign(mean - theta_t),     sign(0) = 0

from all malicious clients alike, so that each is the others' neighbour at no distance (Fang et al., USENIX Security
2020, Section 4.2). With full knowledge the mean is that of everybody's honest update, those of the attackers included;
with partial knowledge it is of the attackers' own. lambda is tried from an upper bound (their Theorem 1) down, halved
each time, until Krum chooses the crafted row among the benign ones, or it is below 1e-5. Of n clients, m malicious, d
parameters, q = n - m - 2 neighbours and c = m copies of the crafted row:

    lambda_0 = min_i sum_{q nearest benign l} ||x_i - x_l|| / ((q - c + 1) sqrt(d)) + max_i ||x_i - theta_t|| / sqrt(d)

Knowing only the attackers' updates, one plays Krum among them: the m rows are the benign ones, and c = 1, 2, ... copies
join until one is chosen, which leaves (m + c) - c - 2 neighbours. Where that or q - c + 1 is less than one, we take 1;
the paper does not say what to do then. A row is chosen if no benign one scores as low, as in the authors' program. That
program begins at lambda = 1, takes the sign of Krum's choice in place of the mean, and sets the copies apart by a
little noise.

On trimmed mean and median: beyond the benign extreme, on the wrong side (thesis Section 5.2.3).

With s_j = - sign(mean_j - theta_t,j), each parameter of each malicious client is drawn uniformly and anew from

    s_j = +1    [max_j, b max_j] if max_j > 0, else [max_j, max_j / b]
    s_j = -1    [b min_j, min_j] if min_j < 0, else [min_j / b, min_j]

and is the mean where s_j = 0, that is, where nobody moved it. b = 2; max_j and min_j are of the benign clients' weights
(Fang et al., USENIX Security 2020, Section 4.3). Knowing only the attackers' own updates, of mean mu and standard
deviation sigma (divided by m), it draws from mu_j + s_j [3 sigma_j, 4 sigma_j]: "partial". The thesis seems to estimate
the extremes from them instead: "own-extremes". It takes the same attack for the median. Fang et al. bound local models,
and so do we; the authors' program bounds their differences to the common one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from foltr.arithmetic import lengths
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.krum import Distance, distances
from foltr.federated.aggregation.rows import scores_by_distance
from simulation.attacks import AttackedRound, AttackSettings, Knowledge

LEAST_STRENGTH = 1e-5
"""lambda below which the search gives up"""


class FangKrum(AttackSettings, frozen=True, tag="fang-krum"):
    """The same crafted row from all."""

    knowledge: Knowledge = "full"
    distance: Distance = "euclidean"
    """of the Krum that the attackers expect, which they take to withstand as many as they are"""

    def check(self, n_clients: int, n_malicious: int) -> None:
        """ValueRangeError where Krum would have no neighbours."""
        if n_malicious and n_clients < n_malicious + 3:
            raise ValueRangeError(f"fang-krum: {n_malicious} malicious need {n_malicious + 3} clients, not {n_clients}")

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """See the module."""
        known = scene.reported if self.knowledge == "full" else scene.own
        away = -np.sign(known.mean(axis=0) - scene.start)
        crafted = scene.start + self.strength(scene, away) * away
        return np.tile(crafted, (scene.n_malicious, 1))

    def strength(self, scene: AttackedRound, away: FloatVector) -> float:
        """lambda along `away` `[n_sent]`."""
        m = scene.n_malicious
        if self.knowledge == "full":
            q = len(scene.reported) - m - 2
            return strongest(scene.benign, scene.start, away, n_copies=m, n_neighbours=q, distance=self.distance)
        q = max(1, m - 2)
        for n_copies in range(1, q + 2):
            found = strongest(scene.own, scene.start, away, n_copies=n_copies, n_neighbours=q, distance=self.distance)
            if found >= LEAST_STRENGTH:
                break
        return found


def strongest(
    benign: FloatMatrix, start: FloatVector, away: FloatVector, *, n_copies: int, n_neighbours: int, distance: Distance
) -> float:
    """The first lambda_0 / 2^i that Krum chooses among `benign` `[n_benign, d]`, or the first below the least."""
    strength = upper_bound(benign, start, n_copies=n_copies, n_neighbours=n_neighbours)
    while strength >= LEAST_STRENGTH:
        crafted = np.tile(start + strength * away, (n_copies, 1))
        between = distances(np.concatenate([crafted, benign]), distance)
        scores = scores_by_distance(between, n_neighbours=n_neighbours)
        if scores[0] < scores[n_copies:].min():
            break
        strength /= 2
    return strength


def upper_bound(benign: FloatMatrix, start: FloatVector, *, n_copies: int, n_neighbours: int) -> float:
    near = min(n_neighbours, len(benign) - 1)
    least = float(scores_by_distance(distances(benign, "euclidean"), n_neighbours=near).min())
    farthest = float(lengths(benign - start).max())
    return (least / max(1, n_neighbours - n_copies + 1) + farthest) / float(np.sqrt(len(start)))


REACH = 2.0
"""b: how far beyond the extreme values may lie"""


class FangTrimmed(AttackSettings, frozen=True, tag="fang-trimmed"):
    """Values at random, from each attacker its own."""

    of_the_honest = True
    knowledge: Literal["full", "partial", "own-extremes"] = "full"

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
