"""Clients that send what they learned the other way round, longer and with noise (model poisoning).

The program published with Tao et al. (SIGIR 2025) puts -2 gamma g + mu in the place of every page's gradient g, gamma
uniform in [1, 2] and each number of mu normal, with the mean and standard deviation of the numbers of g. Here it is
done once to a round's update, because attacks stand between report and aggregate.
"""

from __future__ import annotations

from foltr.arrays import FloatMatrix
from simulation.attacks.settings import AttackedRound, AttackSettings


class NoisyReversal(AttackSettings, frozen=True, tag="noisy-reversal"):
    """-2 gamma times the update, and noise like it."""

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """Every attacker has its own gamma and noise."""
        updates = scene.own - scene.start
        gamma = scene.rng.uniform(1.0, 2.0, size=(len(updates), 1))
        mean, spread = updates.mean(axis=1, keepdims=True), updates.std(axis=1, keepdims=True)
        return scene.start - 2.0 * gamma * updates + scene.rng.normal(mean, spread, size=updates.shape)
