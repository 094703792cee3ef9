"""Clients that send the opposite of their update (the attack "Flip" of RankGuard, arXiv 2606.12246)."""

from __future__ import annotations

from foltr.arrays import FloatMatrix
from simulation.attacks.settings import AttackedRound, AttackSettings


class Flip(AttackSettings, frozen=True, tag="flip"):
    """start - scale * (what was learned - start)."""

    scale: float = 1.0

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """Each its own; unlike "opposed" the common ranker itself is left as it is."""
        return scene.start - self.scale * (scene.own - scene.start)
