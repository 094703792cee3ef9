"""What a device without pages of its own may believe of a common ranker: as much as is more than its noise.

    D = theta - theta_shipped = what the members agree on + noise of standard deviation s in each weight

    believed = theta_shipped + sum over blocks b of  max(0, 1 - DOUBT d_b s^2 / ||D_b||^2) D_b

the estimator of James and Stein (positive part, towards the shipped ranker) in blocks of d_b weights that speak of one
thing; with DOUBT 1 it is theirs. A number that is added to the weights of all kinds of files ranks nothing differently:
it is taken away first, and the block of kinds has one dimension less. Without noise everything is believed.

A device that has pages tests the ranker on them instead (`app.federation.adoption`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foltr.arrays import FloatVector
from indexer.retrieval.feature_values import TYPE_GROUPS

AGE = ("recent_week", "recent_year", "newer")
KINDS = tuple(TYPE_GROUPS)
DOUBT = 1.5
"""how many times its expected length noise must be exceeded by: chosen by `python -m benchmarks.group`"""


def believed(shipped: FloatVector, theta: FloatVector, noise: float, names: Sequence[str]) -> FloatVector:
    """The linear ranker `[n_features]` that a newcomer ranks by, given the common one and its noise s (in its record).

    `names` are those of the features. Weights that are as shipped are no part of any block.
    """
    if noise == 0.0:
        return theta
    moved = theta - shipped
    found = shipped.copy()
    for block, is_centred in _blocks(np.flatnonzero(moved), names):
        part = moved[block] - moved[block].mean() if is_centred else moved[block]
        found[block] += _more_than_noise(part, noise, len(block) - is_centred)
    return found


def _blocks(changed: FloatVector, names: Sequence[str]) -> list[tuple[list[int], bool]]:
    """The weights that speak of a file's age, of its kind, and of all else; whether a block's mean means nothing."""
    blocks: tuple[list[int], list[int], list[int]] = ([], [], [])
    for index in changed.tolist():
        name = names[index]
        blocks[0 if name in AGE else 1 if name in KINDS else 2].append(index)
    age, kinds, rest = blocks
    all_kinds = len(kinds) == len(KINDS)
    return [(block, all_kinds and block is kinds) for block in (age, kinds, rest) if block]


def _more_than_noise(part: FloatVector, noise: float, n_dimensions: int) -> FloatVector:
    square = float(part @ part)
    if square == 0.0:
        return part
    return part * max(0.0, 1.0 - DOUBT * n_dimensions * noise**2 / square)
