"""Unlearning: take a device's influence out of a common ranker that was learned with it.

FedEraser (Liu et al. 2021; thesis Section 6.1.2) keeps every device's update of every delta_t-th round. To forget one,
the remaining devices replay those rounds from the first model with fewer local steps n' < n, and the server gives
each new update the length of the old one:

    Delta_i = ||Delta_i,t|| * Delta'_i,t / ||Delta'_i,t||          (Eq. 6.2)
    theta_{t+1} = theta_t + sum_i n_i / n * Delta_i                 (Eq. 6.1)

So the direction is that of a ranker that never saw the forgotten device; only the lengths were measured with it. That
is an approximation by definition. Rolling back to the last model before the device's first round and learning on from
there is exact: nothing computed later is used. Adding up the stored updates of the others again is instant and not
exact: the others computed theirs on models that the forgotten device had moved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from foltr import arithmetic
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.joining import Joined, Joining, join_what_is_left
from foltr.federated.method import Model


def kept_rounds(n_rounds: int, every: int) -> range:
    """The rounds whose updates are kept: 1, 1 + delta_t, 1 + 2 delta_t, ... up to `n_rounds` (thesis Section 6.1.2).

    ValueRangeError when `every` (delta_t) is below 1.
    """
    if every < 1:
        raise ValueRangeError(f"every must be at least 1, not {every}")
    return range(1, n_rounds + 1, every)


def calibrate_lengths(fresh: npt.ArrayLike, lengths: npt.ArrayLike) -> FloatMatrix:
    """Each fresh update `[n_clients, n_params]` at its old length `[n_clients]` (Eq. 6.2).

    An update that did not move has no direction and stays 0. ShapeError when the two do not fit; ValueRangeError for
    lengths that are negative or not finite, and for updates that are not finite.
    """
    updates, norms = np.asarray(fresh, dtype=np.float64), np.asarray(lengths, dtype=np.float64)
    if updates.ndim != 2 or norms.shape != updates.shape[:1]:
        raise ShapeError(f"one length for each update: {list(norms.shape)} lengths, updates {list(updates.shape)}")
    if not np.isfinite(updates).all() or not np.isfinite(norms).all() or (norms < 0).any():
        raise ValueRangeError("updates and lengths must be finite, and lengths not negative")
    now = arithmetic.lengths(updates)
    scale = np.divide(norms, now, out=np.zeros_like(norms), where=now > 0)
    moved: FloatMatrix = updates * scale[:, None]
    return moved


def reaggregate(
    start: Model, rounds: Sequence[tuple[FloatMatrix, FloatVector]], joining: Joining
) -> tuple[Joined, ...]:
    """Each round again, from `start`, by the stored updates of the remaining devices, joined as they were then.

    `rounds` are their updates `[n_clients, n_params]` and weights `[n_clients]` in order; a round in which nobody
    remains changes nothing.
    """
    found: list[Joined] = []
    for updates, counts in rounds:
        model = found[-1].model if found else start
        found.append(join_what_is_left(joining, model, model.theta + updates, counts))
    return tuple(found)
