"""How fast the weights of the net learn on each feature.

What a text match is worth rests on thousands of judgements, so one person's clicks move it slowly. What kind of file
this person wants, nobody else knows. The picks of a query already do all they can through their own shipped weights:
if those weights learned too, everything that was ever opened would rise for every query. No lesson takes a longer step
than LONGEST. The linear ranker learns otherwise (app.learning.votes).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from foltr.arrays import FloatMatrix, FloatVector
from foltr.ranking.rankers import Ranker

SHIPPED_ONLY = ("same_query", "similar_query")
"""features whose weights are as shipped, always"""
PERSONAL = (
    "title_length", "body_length", "name_length", "recent_week", "recent_year", "newer", "size", "depth", "is_text",
    "is_source", "is_html", "is_document", "is_mail", "folder_share", "type_share",
)  # fmt: skip
"""features of the document alone: they learn at the full rate"""
TEXT_RATE = 0.05
"""share of the learning rate for all others"""
LONGEST = 0.15
"""points; the longest step (Euclidean) that one lesson may take, so that no single page decides anything"""


class LearningRates(Struct, frozen=True, eq=False):
    """The rate of each feature, and how long a step may be."""

    rates: FloatVector
    """[n_features] shares of the learning rate in [0, 1]; 0: never learned, and not seen by what is learned"""
    longest: float = np.inf

    @classmethod
    def even(cls, n_features: int) -> LearningRates:
        """Plain PDGD: every weight at the full rate."""
        return cls(np.ones(n_features))

    @classmethod
    def shipped(cls, names: Sequence[str]) -> LearningRates:
        """The rates of this program for features of these names."""
        rate = dict.fromkeys(SHIPPED_ONLY, 0.0) | dict.fromkeys(PERSONAL, 1.0)
        return cls(np.array([rate.get(name, TEXT_RATE) for name in names]), LONGEST)

    def seen(self, features: FloatMatrix) -> FloatMatrix:
        """The features as the learned part sees them."""
        return features * (self.rates > 0)

    def step(self, ranker: Ranker, slope: FloatVector) -> FloatVector:
        """The slope at each weight's rate, shortened to `longest`: `[n_params]`."""
        way = slope * ranker.by_feature(self.rates)
        shortened: FloatVector = way * min(1.0, self.longest / max(float(np.linalg.norm(way)), 1e-12))
        return shortened
