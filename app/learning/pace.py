"""How fast the weight of each feature learns, and how it fades again.

What a text match is worth rests on thousands of judgements, so one person's clicks move it slowly. What kind of file
this person wants, nobody else knows. The picks of a query already do all they can through their own shipped weights:
if those weights learned too, everything that was ever opened would rise for every query.

No lesson takes a longer step than LONGEST, and after each lesson every learned weight goes back toward the shipped one
by a fixed step (truncated gradient, Langford, Li and Zhang 2009): what keeps being confirmed stays, what was chance
vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.ranking.rankers import Ranker

SHIPPED_ONLY = ("same_query", "similar_query")
"""features whose weights are as shipped, always"""
PERSONAL = (
    "title_length", "body_length", "name_length", "recent_week", "recent_year", "newer", "size", "depth", "is_text",
    "is_source", "is_html", "is_document", "is_mail", "folder_share", "type_share",
)  # fmt: skip
"""features of the document alone: they learn at the full rate"""
TEXT_RATE = 0.2
"""share of the learning rate for all others"""
SHRINK = 0.003
"""points that each learned weight of the linear ranker loses with each lesson"""
TEMPERATURE = 0.2
"""of the Plackett-Luce model by which a page that was not drawn by lot is learned from"""
LONGEST = 0.15
"""points; the longest step (Euclidean) that one lesson may take, so that no single page decides anything"""


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """The rate of each feature and the shrinking of what was learned."""

    rates: FloatVector
    """[n_features] shares of the learning rate in [0, 1]; 0: never learned, and not seen by what is learned"""
    shrink: float = 0.0
    longest: float = np.inf
    temperature: float = 1.0
    """divides the scores of a page that was shown as they order it"""

    @classmethod
    def even(cls, n_features: int) -> Pace:
        """Plain PDGD: every weight at the full rate, nothing fades."""
        return cls(np.ones(n_features))

    @classmethod
    def shipped(cls, names: Sequence[str]) -> Pace:
        """The pace of this program for features of these names."""
        rate = dict.fromkeys(SHIPPED_ONLY, 0.0) | dict.fromkeys(PERSONAL, 1.0)
        return cls(np.array([rate.get(name, TEXT_RATE) for name in names]), SHRINK, LONGEST, TEMPERATURE)

    def seen(self, features: FloatMatrix) -> FloatMatrix:
        """The features as the learned part sees them."""
        return features * (self.rates > 0)

    def step(self, ranker: Ranker, theta: FloatVector, slope: FloatVector, *, shipped: FloatVector) -> FloatVector:
        """theta + slope at each weight's rate, shortened to `longest`, then back toward `shipped`.

        The net spreads one preference over many weights, and each would fade before it counts: it does not shrink.
        """
        way = slope * ranker.by_feature(self.rates)
        changed = theta + way * min(1.0, self.longest / max(float(np.linalg.norm(way)), 1e-12))
        if ranker.name != "linear" or not self.shrink:
            return changed
        learned = changed - shipped
        faded: FloatVector = np.sign(learned) * np.maximum(np.abs(learned) - self.shrink, 0.0)
        return shipped + faded
