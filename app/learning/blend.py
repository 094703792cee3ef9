"""The common ranker and the personal one together, and how much of each.

    score = (1 - alpha) f_group(x) + alpha s_personal(x)

f_group is the group's ranker, s_personal that of `app.learning.learner`; `app.federation.adoption` chooses alpha.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from foltr.arrays import FloatMatrix, FloatVector
from foltr.ranking.rankers import Ranker


class Blend(Struct, frozen=True, eq=False):
    """A common ranker and how much the personal one counts beside it."""

    ranker: Ranker
    theta: FloatVector
    """[n_params]"""
    alpha: float
    """0: the common ranker alone; 1: the personal one alone"""

    def scores(self, features: FloatMatrix, personal: FloatVector) -> FloatVector:
        """The blended score of each document `[n_docs]`, given the personal ones."""
        if self.alpha == 1.0:
            return personal
        common = self.ranker.score(self.theta, features)
        return common if self.alpha == 0.0 else (1.0 - self.alpha) * common + self.alpha * personal

    def contributions(
        self, features: FloatMatrix, prior: FloatMatrix, learned: FloatMatrix
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Points by feature `[n_docs, n_features]`: of the common and the shipped ranker, and what was learned.

        They add up to the score but for f_group(0), which is the same for all documents and 0 for a linear ranker.
        """
        common = self.ranker.attributions(self.theta, features, np.zeros(features.shape[1]))
        return (1.0 - self.alpha) * common + self.alpha * prior, self.alpha * learned
