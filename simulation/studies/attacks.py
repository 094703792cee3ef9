"""Clients that do harm, as pure functions on what honest ones would have sent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError


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
