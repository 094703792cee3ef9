"""Rounds for attacks to stand in."""

from __future__ import annotations

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear
from simulation.attacks import AttackedRound


def a_round(reported: FloatMatrix, n_malicious: int, start: FloatVector | None = None, seed: int = 0) -> AttackedRound:
    """Everybody's honest weights `[n_clients, d]`, the last `n_malicious` of them malicious; by default from 0."""
    begun = np.zeros(reported.shape[1]) if start is None else start
    return AttackedRound(reported, begun, n_malicious, FPDGD(Linear(reported.shape[1])), np.random.default_rng(seed))


def drifting(seed: int, n_clients: int = 10, d: int = 6) -> FloatMatrix:
    """Clients who went a little one way together, and further alone."""
    rng = np.random.default_rng(seed)
    together: FloatMatrix = 0.2 * rng.normal(size=d) + rng.normal(size=(n_clients, d))
    return together
