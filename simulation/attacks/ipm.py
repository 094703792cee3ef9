"""Inner product manipulation: the mean update of the honest, backwards (Xie, Koyejo and Gupta, UAI 2019)."""

from __future__ import annotations

import numpy as np

from foltr.arrays import FloatMatrix
from simulation.attacks.settings import AttackedRound, AttackSettings


class InnerProductManipulation(AttackSettings, frozen=True, tag="ipm"):
    """start - scale * mean of the honest updates, the same from all."""

    scale: float = 0.5
    """below 1 rules that compare distances hardly see it; above, the mean of all goes backwards the sooner"""

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """The attackers know what the honest send."""
        backwards = scene.start - self.scale * (scene.benign.mean(axis=0) - scene.start)
        return np.tile(backwards, (scene.n_malicious, 1))
