"""The shipped ranker: weights by feature name, and where they come from."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import msgspec
import numpy as np

from foltr.arrays import FloatVector
from foltr.errors import ModelError
from indexer.retrieval.features import NAMES


class Prior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of prior.json, which `python -m benchmarks.train_prior` writes."""

    v: int
    weights: dict[str, float]
    """feature -> weight; a feature that is not named has 0"""
    provenance: dict[str, str]


@lru_cache(maxsize=1)
def load_prior() -> Prior:
    """Read the shipped prior; ModelError when it names a feature that does not exist."""
    prior = msgspec.json.decode(resources.files("app").joinpath("prior.json").read_bytes(), type=Prior)
    unknown = sorted(set(prior.weights) - set(NAMES))
    if unknown:
        raise ModelError(f"prior.json weighs features that do not exist: {', '.join(unknown)}")
    return prior


def theta_prior() -> FloatVector:
    """theta0 [n_features] in the order of the manifest."""
    weights = load_prior().weights
    return np.array([weights.get(name, 0.0) for name in NAMES])
