"""Devices and common rankers of a small world."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.learning.blend import Blend
from app.learning.learner import Learner
from app.learning.prior import LearningRates, theta_prior
from app.settings import LearningSettings
from app.store import Store
from foltr.arrays import FloatVector
from foltr.federated.wire import ModelRecord, encode_vector
from indexer.retrieval.features import MANIFEST_HASH, NAMES


def model(theta: FloatVector, *, lineage: int = 1, number: int = 1) -> ModelRecord:
    return ModelRecord(
        group_id="g", lineage=lineage, round=number, method="fpdgd", ranker="linear", manifest_hash=MANIFEST_HASH,
        theta=encode_vector(theta),
    )  # fmt: skip


def lover_of(feature: str) -> FloatVector:
    """A ranker that orders by one feature alone."""
    theta = np.zeros(len(NAMES))
    theta[NAMES.index(feature)] = 1.0
    return theta


def device_learner(store: Store, *, common: Callable[[], Blend | None] | None) -> Learner:
    return Learner(
        store, theta0=theta_prior(), feature_names=NAMES, manifest_hash=MANIFEST_HASH, settings=LearningSettings(),
        rates=LearningRates.shipped(NAMES), common=common,
    )  # fmt: skip
