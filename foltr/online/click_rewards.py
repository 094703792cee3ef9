"""Rewards of a result page by what was clicked on it, each one of finitely many values (FOLtR-ES, Sections 3.3 and 5).

    max-rr   1 / rank of the highest click, 0 without one                  outcomes 0 (no click), 1 .. k (its rank)
    dcg      sum over the clicked ranks i of 1 / log2(i + 1)               outcomes: 2^k patterns of clicks
    ndcg     dcg divided by that of the same number of clicks on top       outcomes as for dcg

A pattern is a number in which bit r stands for a click on rank r + 1. max-rr is the paper's. dcg is what the program
of the reproduction study (thesis Section 3.1, RQ1.1.4) optimises where the thesis writes nDCG.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from foltr.arithmetic import dots
from foltr.arrays import BoolVector, FloatVector, Int64Vector
from foltr.errors import ValueRangeError
from foltr.ranking.metrics import discounts

Reward = Literal["max-rr", "dcg", "ndcg"]

LONGEST_PATTERN = 16
"""results on a page whose patterns of clicks have a table of values"""


def outcome(reward: Reward, clicks: BoolVector, *, k: int) -> int:
    """Which of the reward's outcomes the clicks `[k']` are; those below rank k do not count."""
    seen = np.flatnonzero(clicks[:k])
    if reward == "max-rr":
        return int(seen[0]) + 1 if seen.size else 0
    return sum(1 << int(rank) for rank in seen)


@lru_cache(maxsize=32)
def reward_values(reward: Reward, k: int) -> FloatVector:
    """The value of every outcome on pages of k results `[n_outcomes]`, read-only.

    ValueRangeError for an unknown reward, for k below 1, and for k above 16 where outcomes are patterns.
    """
    if reward not in ("max-rr", "dcg", "ndcg"):
        raise ValueRangeError(f"the reward is max-rr, dcg or ndcg, not {reward!r}")
    longest = 1 << 16 if reward == "max-rr" else LONGEST_PATTERN
    if not 1 <= k <= longest:
        raise ValueRangeError(f"{reward} is for pages of 1 to {longest} results, not {k}")
    if reward == "max-rr":
        values = np.concatenate([[0.0], 1.0 / np.arange(1, k + 1)])
    else:
        patterns = click_patterns(k)
        values = dots(patterns.astype(np.float64), discounts(k))
        if reward == "ndcg":
            best = np.concatenate([[1.0], np.cumsum(discounts(k))])
            values = values / best[patterns.sum(axis=1)]
    values.flags.writeable = False
    return values


def click_patterns(k: int) -> Int64Vector:
    """Whether rank r + 1 is clicked in each pattern `[2^k, k]`."""
    return (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
