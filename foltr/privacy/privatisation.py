"""Privatisation of a metric with finitely many values: the true one with probability p, else a false one.

    P(answer = truth) = p,     P(answer = i) = (1 - p) w_i / (sum of w but for the truth's)   for every other i

With all weights w equal this is randomised response (Warner, 1965; FOLtR-ES, Section 3.3 and
4.3); with n values its epsilon = ln(p (n - 1) / (1 - p)) (Eq. 10), pure, delta 0, and over several answers the
epsilons add up. The paper's p is called `truth_probability` here, for p is the propensity.

The program of the reproduction study draws false patterns of clicks by another law: how many clicks, 1 to k alike, then
which ranks. `click_count_weights` are its weights. A page without clicks is then never a false answer, so whoever is
told one knows: that law has no finite epsilon.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from foltr.arrays import FloatArray, FloatVector
from foltr.errors import ShapeError, ValueRangeError


@lru_cache(maxsize=32)
def equal_weights(n_values: int) -> FloatVector:
    """w of randomised response, added up: `[n_values]`, read-only."""
    return _read_only(np.arange(1.0, n_values + 1.0))


@lru_cache(maxsize=32)
def click_count_weights(k: int) -> FloatVector:
    """w of the published program for patterns of clicks on k ranks, added up: `[2^k]`, read-only.

    w = 1 / (k binomial(k, m)) for each pattern of m > 0 clicks, 0 for the pattern without clicks. (The program draws
    again when it has drawn the truth, which is the law above.)
    """
    share = np.array([0.0] + [1.0 / (k * math.comb(k, m)) for m in range(1, k + 1)])
    n_clicks = np.array([pattern.bit_count() for pattern in range(1 << k)])
    return _read_only(np.cumsum(share[n_clicks]))


def answer(truth: int, u: float, *, truth_probability: float, weights: FloatVector) -> int:
    """The answer that the number u in [0, 1) stands for: the truth below p, the false ones share the rest in order.

    `weights` `[n_values]` are those of the false answers, added up.
    """
    if u < truth_probability:
        return truth
    before = float(weights[truth - 1]) if truth > 0 else 0.0
    place = (u - truth_probability) / (1.0 - truth_probability) * (before + float(weights[-1]) - float(weights[truth]))
    if place >= before:
        place = place - before + float(weights[truth])
    last = len(weights) - 1 if truth < len(weights) - 1 else truth - 1
    return min(int(np.searchsorted(weights, place, side="right")), last)


def answers_distribution(truths: FloatArray, *, truth_probability: float) -> FloatArray:
    """P(answer = i) for randomised response when the truth is i with probability truths[.., i]: `[.., n_values]`."""
    check_truth_probability(truth_probability, truths.shape[-1])
    told: FloatArray = truth_probability * truths + (1.0 - truth_probability) * (1.0 - truths) / (truths.shape[-1] - 1)
    return told


def check_truth_probability(truth_probability: float, n_values: int) -> None:
    """ValueRangeError unless 1 / n_values < p <= 1: below, answers speak against the truth (FOLtR-ES, Fact 1)."""
    if n_values < 2:
        raise ShapeError(f"a metric needs two values to be privatised, not {n_values}")
    if not 1.0 / n_values < truth_probability <= 1.0:
        raise ValueRangeError(
            f"truth_probability must be above 1/{n_values} and at most 1, not {truth_probability}: "
            "the reward has that many values"
        )


def _read_only(values: FloatVector) -> FloatVector:
    values.flags.writeable = False
    return values
