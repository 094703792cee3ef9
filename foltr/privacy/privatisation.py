"""Privatisation of a metric with finitely many values: the true one with probability p, else a false one.

    P(answer = truth) = p,     P(answer = i) = (1 - p) w_i / (sum of w but for the truth's)   for every other i

With all weights w equal this is randomised response (Warner, 1965; FOLtR-ES, Section 3.3 and
4.3); with n values its epsilon = |ln(p (n - 1) / (1 - p))| (Eq. 10), pure, delta 0, and over several answers the
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


def unbiased_mean(answers_mean: float, *, values: FloatVector, truth_probability: float) -> float:
    """An estimate of the mean of the truth without bias, from the mean of the answers of randomised response.

    E[answer] = truth (p n - 1) / (n - 1) + (1 - p) / (n - 1) * sum of all values   (FOLtR-ES, Eq. 7), solved for truth.
    """
    n, p = len(values), truth_probability
    check_truth_probability(p, n)
    return (answers_mean - (1.0 - p) / (n - 1) * float(values.sum())) * (n - 1) / (p * n - 1)


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
