"""What a device without pages of its own may believe of a common ranker: as much as is more than its noise.

    D = theta - theta_shipped = what the members agree on + noise of standard deviation s in each weight

    believed = theta_shipped + sum over blocks b of  max(0, 1 - DOUBT d_b s^2 / ||D_b||^2) D_b

the estimator of James and Stein (positive part, towards the shipped ranker) in blocks of d_b weights that speak of one
thing; with DOUBT 1 it is theirs. A taste for a kind of file lifts one weight of five, so there the one that stands out
most decides: max(0, 1 - DOUBT_OF_KINDS s^2 / max_j D_j^2). A number that is added to the weights of all kinds ranks
nothing differently, and is taken away first. Without noise everything is believed.

A device that has pages tests the ranker on them instead (`app.federation.adoption`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foltr.arrays import FloatVector, IntVector
from indexer.retrieval.feature_values import TYPE_GROUPS

AGE = ("recent_week", "recent_year", "newer")
KINDS = tuple(TYPE_GROUPS)
DOUBT = 1.5
"""how many times the expected square of its noise a block must exceed"""
DOUBT_OF_KINDS = 3.0
"""how many times the expected square of its noise the most outstanding kind must exceed; both were chosen on simulated
people of four collections, as the least that costs a group without a taste no more than half a percent"""


def believed(shipped: FloatVector, theta: FloatVector, noise: float, names: Sequence[str]) -> FloatVector:
    """The linear ranker `[n_features]` that a newcomer ranks by, given the common one and its noise s (in its record).

    `names` are those of the features. Weights that are as shipped are no part of any block.
    """
    if noise == 0.0:
        return theta
    moved = theta - shipped
    found = shipped.copy()
    for block in _blocks(np.flatnonzero(moved), names):
        part = moved[block]
        doubt, square = DOUBT * len(block), float(part @ part)
        if [names[index] for index in block] == list(KINDS):
            part = part - part.mean()
            doubt, square = DOUBT_OF_KINDS, float(np.max(part**2))
        found[block] += part * max(0.0, 1.0 - doubt * noise**2 / max(square, np.finfo(np.float64).tiny))
    return found


def _blocks(changed: IntVector, names: Sequence[str]) -> list[list[int]]:
    """The weights that speak of a file's age, of its kind, and of all else."""
    blocks: tuple[list[int], list[int], list[int]] = ([], [], [])
    for index in changed.tolist():
        blocks[0 if names[index] in AGE else 1 if names[index] in KINDS else 2].append(index)
    return [block for block in blocks if block]
