"""A learner over four features, and pages that teach it."""

from __future__ import annotations

from datetime import datetime

import msgspec
import numpy as np

from app.learning.learner import Learner
from app.settings import LearningSettings
from app.store import Store

NAMES = ("title", "body", "recent_year", "folder_share")
THETA0 = np.array([3.0, 2.0, 0.5, -0.5])
NOW = datetime(2026, 5, 20, 12, 0).timestamp()
DAY = 86400.0


def learner(store: Store, *, theta0: np.ndarray = THETA0, names: tuple[str, ...] = NAMES, **changes: object) -> Learner:
    """A learner whose settings are the shipped ones with these changes; by default it does not explore."""
    chosen = msgspec.structs.replace(LearningSettings(exploration=0.0, learning_rate=0.1), **changes)
    manifest = "manifest " + " ".join(names)
    return Learner(store, theta0=theta0, feature_names=names, manifest_hash=manifest, settings=chosen)


def pages(n: int = 30, *, n_docs: int = 20) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.random((n_docs, 4)) for _ in range(n)]


def prefer_recent(device: Learner, n: int, *, now: float = NOW) -> None:
    """A user who opens the most recent of the ten results shown."""
    for features in pages(n):
        ranking = device.order(features, range(20), k=10, explore=False)[:10]
        device.learn(features, ranking, ranking == ranking[np.argmax(features[ranking, 2])], now=now)
