"""How fast the weight of each feature learns, and how it fades again.

What a text match is worth rests on thousands of judgements, so one person's clicks move it slowly. What kind of file
this person wants, nobody else knows. The picks of a query already do all they can through their own shipped weights:
if those weights learned too, everything that was ever opened would rise for every query.

No lesson takes a longer step than LONGEST, and with each lesson what was learned before fades a little: what keeps
being confirmed stays. A learned weight counts only once enough different queries agree on it
(`app.learning.evidence`), so that chance moves nothing.
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
KEEP = 0.998
"""what each lesson leaves of what was learned before it: half is left after 346"""
GATE = 2.0
"""standard errors that a learned weight must be away from the shipped one to count"""
DOUBT = 0.2
"""points of error that it has before anything is known: of few queries the standard error says little"""
LONGEST = 0.15
"""points; the longest step (Euclidean) that one lesson may take, so that no single page decides anything"""


class Pace(Struct, frozen=True, eq=False):
    """The rate of each feature, how long what was learned is kept, and when it counts."""

    rates: FloatVector
    """[n_features] shares of the learning rate in [0, 1]; 0: never learned, and not seen by what is learned"""
    keep: float = 1.0
    gate: float = 0.0
    doubt: float = 0.0
    longest: float = np.inf

    @classmethod
    def even(cls, n_features: int) -> Pace:
        """Plain PDGD: every weight at the full rate, nothing fades."""
        return cls(np.ones(n_features))

    @classmethod
    def shipped(cls, names: Sequence[str]) -> Pace:
        """The pace of this program for features of these names."""
        rate = dict.fromkeys(SHIPPED_ONLY, 0.0) | dict.fromkeys(PERSONAL, 1.0)
        return cls(np.array([rate.get(name, TEXT_RATE) for name in names]), KEEP, GATE, DOUBT, LONGEST)

    def seen(self, features: FloatMatrix) -> FloatMatrix:
        """The features as the learned part sees them."""
        return features * (self.rates > 0)

    def step(self, ranker: Ranker, slope: FloatVector) -> FloatVector:
        """The slope at each weight's rate, shortened to `longest`: `[n_params]`."""
        way = slope * ranker.by_feature(self.rates)
        shortened: FloatVector = way * min(1.0, self.longest / max(float(np.linalg.norm(way)), 1e-12))
        return shortened
