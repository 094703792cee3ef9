"""Randomised response: tell the truth with probability p, else one of the other k - 1 answers, all alike.

    epsilon = |ln(p (k - 1) / (1 - p))|

(Warner, 1965; Kharitonov, WSDM 2019, Section 4.3, for one reported metric with k values). Pure, delta 0; over several
answers the epsilons add up.
"""

from __future__ import annotations

import math

import numpy as np

from foltr.errors import ValueRangeError


def randomised_response(truth: int, *, p: float, n_outputs: int, rng: np.random.Generator) -> int:
    """The answer told, from 0 to n_outputs - 1; draws `rng.random()`, then for a lie `rng.integers(n_outputs - 1)`."""
    _check(p, n_outputs)
    if not 0 <= truth < n_outputs:
        raise ValueRangeError(f"the true answer must be one of 0 to {n_outputs - 1}, not {truth}")
    if rng.random() < p:
        return truth
    other = int(rng.integers(n_outputs - 1))
    return other + (other >= truth)


def randomised_response_epsilon(p: float, n_outputs: int, *, n_answers: int = 1) -> float:
    """The pure epsilon (natural logarithm) of `n_answers` answers; inf for p = 0 or 1, 0 for p = 1 / n_outputs."""
    _check(p, n_outputs)
    if n_answers < 0:
        raise ValueRangeError(f"n_answers must not be negative, and is {n_answers}")
    if p in (0.0, 1.0):
        return math.inf if n_answers else 0.0
    return n_answers * abs(math.log(p * (n_outputs - 1) / (1 - p)))


def _check(p: float, n_outputs: int) -> None:
    if not 0 <= p <= 1:
        raise ValueRangeError(f"the probability of the truth must be between 0 and 1, not {p}")
    if n_outputs < 2:
        raise ValueRangeError(f"randomised response needs at least 2 answers, not {n_outputs}")
