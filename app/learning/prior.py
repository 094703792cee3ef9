"""What is shipped of the ranker: the weights that every device begins with, and how fast those of the net learn.

The weights are theta0 of `app.learning.learner`. In the net, what a text match is worth rests on thousands of
judgements, so one person's clicks move it slowly; which kinds of file a person wants they alone can tell. The picks of
a query already do all they can through their own shipped weights: if those weights learned too, everything that was
ever opened would rise for every query. No lesson takes a longer step than LONGEST. The linear ranker learns otherwise
(app.learning.votes).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ModelError
from foltr.ranking.rankers import Ranker
from indexer.retrieval.features import NAMES


class Prior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Shipped weights and where they come from: prior.json, which `python -m benchmarks train_prior` writes."""

    v: int
    weights: dict[str, float]
    """feature -> weight; a feature that is not named has 0"""
    provenance: dict[str, str]


PRIOR = Path(__file__).parents[1] / "prior.json"


@lru_cache(maxsize=4)
def load_prior(path: Path, names: Sequence[str] = NAMES) -> Prior:
    """Read shipped weights; ModelError when they name a feature that does not exist."""
    prior = msgspec.json.decode(path.read_bytes(), type=Prior)
    unknown = sorted(set(prior.weights) - set(names))
    if unknown:
        raise ModelError(f"{path.name} weighs features that do not exist: {', '.join(unknown)}")
    return prior


def theta_prior() -> FloatVector:
    """theta0 [n_features] in the order of the manifest."""
    return shipped_weights(PRIOR, NAMES)


def shipped_weights(path: Path, names: Sequence[str]) -> FloatVector:
    """The weights in a file `[n_features]`, in the order of the names of their features."""
    weights = load_prior(path, names).weights
    return np.array([weights.get(name, 0.0) for name in names])


SHIPPED_ONLY = ("same_query", "similar_query")
"""features whose weights always stay as shipped"""
PERSONAL = (
    "title_length", "body_length", "name_length", "recent_week", "recent_year", "newer", "size", "depth", "is_text",
    "is_source", "is_html", "is_document", "is_mail", "folder_share", "type_share",
)  # fmt: skip
"""features of the document alone: they learn at the full rate"""
TEXT_RATE = 0.05
"""share of the learning rate for all others"""
LONGEST = 0.15
"""points; the longest step (Euclidean) that one lesson may take, so that no single page decides anything"""


class LearningRates(msgspec.Struct, frozen=True, eq=False):
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
