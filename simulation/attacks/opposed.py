"""Clients that send the opposite of what they learned: the poisoned leaver of unlearning studies (thesis Sec. 6.2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from simulation.attacks import AttackedRound, AttackSettings


class Opposed(AttackSettings, frozen=True, tag="opposed"):
    """-z times the ranker learned."""

    z: float = 2.0

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """Thesis Eq. 6.3."""
        return scene.start + oppose(scene.own - scene.start, scene.start, z=self.z)


def oppose(updates: npt.ArrayLike, start: FloatVector, *, z: float) -> FloatMatrix:
    """The updates of clients that send -z times the ranker they learned: the poisoned leaver of unlearning studies.

        M_mal = -z * M_local                             (thesis Eq. 6.3)
        M_mal - M = -z * (M_local - M) - (z + 1) * M     (Eq. 6.4)

    `updates` is M_local - M, one row `[n_params]` or `[n_clients, n_params]`; `start` is the global ranker M
    `[n_params]`. The thesis has z = 2; z = -1 is honest. ShapeError when the two do not fit; ValueRangeError for a z
    that is not finite.
    """
    rows = np.asarray(updates, dtype=np.float64)
    if start.ndim != 1 or rows.ndim not in (1, 2) or rows.shape[-1] != len(start):
        raise ShapeError(f"updates must be [n_params] or [n_clients, n_params] for start {list(start.shape)}")
    if not np.isfinite(z):
        raise ValueRangeError(f"z must be finite, not {z}")
    sent: FloatMatrix = -z * rows - (z + 1.0) * start
    return sent
