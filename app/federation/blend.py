"""The common ranker and the personal one together, and how much of each.

    score = (1 - alpha) f_group(x) + alpha s_personal(x)

f_group is the group's ranker, s_personal what `app.learner` gives without a group. alpha is one of ALPHAS: the one
whose order would have served best on this device's stored pages (`app.federation.adoption.utility`). So that the
personal ranker is not judged on pages that it has learned by heart, each page is scored by what it had learned before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.federation.adoption import FEWEST_PAGES, utility
from foltr.arrays import FloatMatrix, FloatVector
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Ranker

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """A common ranker and how much the personal one has to say beside it."""

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
        self, x: FloatVector, prior: FloatVector, learned: FloatVector
    ) -> tuple[FloatVector, FloatVector]:
        """Points by feature `[n_features]`: from the common and the shipped ranker together, and from what was learned.

        They add up to the score but for f_group(0), which is the same for all documents and 0 for a linear ranker.
        """
        common = self.ranker.attributions(self.theta, x, np.zeros_like(x))
        return (1.0 - self.alpha) * common + self.alpha * prior, self.alpha * learned


def chosen_alpha(pages: Sequence[Interaction], common: Sequence[FloatVector], personal: Sequence[FloatVector]) -> float:
    """The alpha that serves best on these pages, given both rankers' scores of each `[n_docs]`.

    The smallest of equals: what many have learned. With fewer than FEWEST_PAGES pages: 0 where this device has
    learned nothing, else one half.
    """
    if len(pages) < FEWEST_PAGES:
        return 0.5 if pages else 0.0

    def served(alpha: float) -> float:
        scored = zip(pages, common, personal, strict=True)
        return sum(utility(page, (1.0 - alpha) * c + alpha * p) for page, c, p in scored)

    return max(ALPHAS, key=lambda alpha: (served(alpha), -alpha))
