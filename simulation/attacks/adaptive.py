"""As far back as clients who test a ranker still take it over: an adaptive attack on RankGuard's defence, of our own.

RankGuard (arXiv 2606.12246) has an adaptive attack; how it is made could not be read. This one knows everything: what
the honest learned, and whether each of them would accept a ranker.
"""

from __future__ import annotations

import numpy as np

from foltr.arrays import FloatMatrix
from simulation.attacks.settings import AttackedRound, AttackSettings

HALVINGS = 8


class Adaptive(AttackSettings, frozen=True, tag="adaptive"):
    """mean - lambda * (mean - start) of the honest, lambda halved until enough of the honest accept it."""

    first: float = 4.0
    """the lambda that is tried first; from 1 on the ranker is no better than the last one, from 2 on it is reversed"""
    share: float = 0.5
    """of the honest clients who must accept"""

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """The same from all; the first lambda where nobody tests, the mean itself where none is accepted."""
        mean = scene.benign.mean(axis=0)
        for step in self.first * 0.5 ** np.arange(HALVINGS):
            crafted = mean - step * (mean - scene.start)
            if scene.accepts is None or scene.accepts(crafted) >= self.share:
                return np.tile(crafted, (scene.n_malicious, 1))
        return np.tile(mean, (scene.n_malicious, 1))
