"""Updates that go backwards: as far as they like, or as far as clients who test a ranker still adopt it.

Opposed: the poisoned leaver of unlearning studies (thesis Section 6.2). Flip: the opposite of one's own (the attack of
RankGuard, arXiv 2606.12246). IPM, inner product manipulation: the mean update of the honest, backwards (Xie, Koyejo and
Gupta, UAI 2019). Noisy reversal: the program published with Tao et al. (SIGIR 2025) puts -2 gamma g + mu in the place
of every page's gradient g, gamma uniform in [1, 2] and each number of mu normal, with the mean and standard deviation
of the numbers of g. Here it is done once to a round's update, because attacks stand between report and aggregate.
"""

from __future__ import annotations

import numpy as np

from foltr.arithmetic import normals
from foltr.arrays import FloatMatrix
from simulation.attacks import AttackedRound, AttackSettings


class Opposed(AttackSettings, frozen=True, tag="opposed"):
    """-z times the ranker learned.

    M_mal = -z * M_local                             (thesis Eq. 6.3)
    M_mal - M = -z * (M_local - M) - (z + 1) * M     (Eq. 6.4)
    """

    z: float = 2.0
    """-1 is honest"""

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """By Eq. 6.4, from what each has learned."""
        return scene.start + (-self.z * (scene.own - scene.start) - (self.z + 1.0) * scene.start)


class Flip(AttackSettings, frozen=True, tag="flip"):
    """start - scale * (what was learned - start)."""

    scale: float = 1.0

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """Each its own; unlike "opposed" the common ranker itself is left as it is."""
        return scene.start - self.scale * (scene.own - scene.start)


class InnerProductManipulation(AttackSettings, frozen=True, tag="ipm"):
    """start - scale * mean of the honest updates, the same from all."""

    of_the_honest = True
    scale: float = 0.5
    """below 1, rules that compare distances hardly see it; above, fewer attackers turn the mean of all backwards"""

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """The attackers know what the honest send."""
        backwards = scene.start - self.scale * (scene.benign.mean(axis=0) - scene.start)
        return np.tile(backwards, (scene.n_malicious, 1))


class NoisyReversal(AttackSettings, frozen=True, tag="noisy-reversal"):
    """-2 gamma times the update, and noise like it."""

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """Every attacker has its own gamma and noise."""
        updates = scene.own - scene.start
        gamma = scene.rng.uniform(1.0, 2.0, size=(len(updates), 1))
        mean, spread = updates.mean(axis=1, keepdims=True), updates.std(axis=1, keepdims=True)
        noise: FloatMatrix = mean + spread * normals(scene.rng, *updates.shape)
        return scene.start - 2.0 * gamma * updates + noise


HALVINGS = 8


class Adaptive(AttackSettings, frozen=True, tag="adaptive"):
    """mean - lambda * (mean - start) of the honest, lambda halved until enough of the honest accept it.

    RankGuard has an adaptive attack; we could not read how it is made. This one is our own and knows everything: what
    the honest learned, and whether each of them would accept a ranker.
    """

    of_the_honest = True
    first: float = 4.0
    """the first lambda to try; from 1 on the ranker is no better than the last one, from 2 on it is reversed"""
    share: float = 0.5
    """of the honest clients who must accept"""

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """The same from all; the first lambda where nobody tests, the mean itself where none is accepted."""
        mean = scene.benign.mean(axis=0)
        for step in np.ldexp(self.first, -np.arange(HALVINGS)):
            crafted = mean - step * (mean - scene.start)
            if scene.accepts is None or scene.accepts(crafted) >= self.share:
                return np.tile(crafted, (scene.n_malicious, 1))
        return np.tile(mean, (scene.n_malicious, 1))
