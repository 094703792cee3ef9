"""The shipped prior: the weights that every device begins with, theta0 of `app.learning.learner`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np

from foltr.arrays import FloatVector
from foltr.errors import ModelError
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
