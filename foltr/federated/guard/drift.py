"""Drift: whether what a member's updates add up to is far from what most others' do, where the noise is not known.

A few pages teach so little that a member who wants something else looks like anybody in a single round. In sums over T
rounds honest chance grows with the root of T and what somebody wants with T (Karimireddy, He and Jaggi, "Learning from
history for Byzantine robust optimization", ICML 2021). Of every round that member i had something to say in,

    S_i = sum of clip(u_i) - middle        clip: to the median length; middle: the coordinate-wise median of the clipped

and two members are apart by the statistic of two means,

    z_ij^2 = ||S_i / T_i - S_j / T_j||^2 / (1 / T_i + 1 / T_j)

which does not depend on T for members who want the same. Clipped, so that nobody is far off for having searched much;
less the middle, so that members may be compared who took part in different rounds. The distance of i from the majority
is that from its n // 2 nearest others, who are one with it: fewer than half, however near each other, have to count
some of the others.
"""

from __future__ import annotations

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError
from foltr.federated.aggregation.norm_clipping import clip_factors
from foltr.federated.aggregation.rows import distance_blocks, middle_of
from foltr.federated.guard.verdict import RunningSums


def added(sums: RunningSums, updates: FloatMatrix) -> RunningSums:
    """The sums `[n_clients, n_params]` with a round's `updates` of the same; an update of 0 says nothing.

    ShapeError where they are not as many.
    """
    if sums.sent.shape != updates.shape:
        raise ShapeError(f"the guard remembers {list(sums.sent.shape)}, the round has {list(updates.shape)}")
    moved = updates.any(axis=1)
    if not moved.any():
        return sums
    u = updates[moved]
    lengths = np.sqrt(np.einsum("ij,ij->i", u, u))
    u = u * clip_factors(lengths, float(middle_of(lengths)))[:, None]
    sent = sums.sent.copy()
    sent[moved] += u - middle_of(u)
    return RunningSums(sums.n_rounds + moved, sent, sums.counted)


def from_majority(sums: RunningSums) -> FloatVector:
    """Squared distance of each from the majority `[n_clients]`, added up over n // 2 others; T must be from 1."""
    scores = np.empty(len(sums.sent))
    share = 1.0 / sums.n_rounds
    for block, distances in distance_blocks(sums.sent * share[:, None]):
        distances /= share[block, None] + share
        own = np.arange(len(distances))
        distances[own, block.start + own] = np.inf
        scores[block] = np.sort(distances, axis=1)[:, : len(scores) // 2].sum(axis=1)
    return scores
