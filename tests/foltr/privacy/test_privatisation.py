"""Privatisation of metrics: exact probabilities, the mean they leave, their epsilon, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from math import comb

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.privacy.privatisation import (
    answer,
    answers_distribution,
    check_truth_probability,
    click_count_weights,
    equal_weights,
)


def lengths(truth: int, p: float, weights: np.ndarray) -> np.ndarray:
    """How much of [0, 1) stands for each answer, by halving between neighbours of a fine grid that differ."""
    grid = np.arange(4096) / 4096
    told = [answer(truth, u, truth_probability=p, weights=weights) for u in grid]
    found, begin = np.zeros(len(weights)), 0.0
    for (left, right), (a, b) in zip(pairwise(grid), pairwise(told), strict=True):
        if a != b:
            low, high = left, right
            while high - low > 1e-12:
                middle = (low + high) / 2
                low, high = (
                    (middle, high)
                    if answer(truth, middle, truth_probability=p, weights=weights) == a
                    else (low, middle)
                )
            found[a] += high - begin
            begin = high
    found[told[-1]] += 1 - begin
    return found


@pytest.mark.parametrize("truth", range(5))
@pytest.mark.parametrize("p", [0.25, 0.6, 0.9])
def test_randomised_response_has_its_exact_probabilities(truth: int, p: float) -> None:
    """p for the truth, (1 - p) / 4 for each of four others: the shares of [0, 1) that stand for them."""
    expected = [p if i == truth else (1 - p) / 4 for i in range(5)]
    assert lengths(truth, p, equal_weights(5)).tolist() == pytest.approx(expected, abs=1e-9)


def test_answers_by_hand() -> None:
    """Of [.5, 1) the values 0, 1 and 3 get a third each when 2 is true."""
    told = [
        answer(2, u, truth_probability=0.5, weights=equal_weights(4)) for u in (0, 0.49, 0.5, 0.66, 0.67, 0.84, 0.999)
    ]
    assert told == [2, 2, 0, 0, 1, 3, 3]


@pytest.mark.parametrize("truth", [0, 5, 7])
def test_click_counts_have_their_exact_probabilities(truth: int) -> None:
    """A false pattern of m clicks has 1 / (3 binomial(3, m)) of what is left when the truth is taken out."""
    share = [0.0] + [1 / (3 * comb(3, pattern.bit_count())) for pattern in range(1, 8)]
    others = 1.0 - share[truth]
    expected = [0.4 if i == truth else 0.6 * share[i] / others for i in range(8)]
    assert lengths(truth, 0.4, click_count_weights(3)).tolist() == pytest.approx(expected, abs=1e-9)


def test_the_largest_number_never_tells_the_truth_by_mistake() -> None:
    """The end of the interval belongs to a false answer, whichever the truth is."""
    last = float(np.nextafter(1.0, 0.0))
    for n in (2, 3, 11, 1024):
        for truth in (0, n - 1):
            assert answer(truth, last, truth_probability=0.9, weights=equal_weights(n)) not in (truth, n)


@pytest.mark.parametrize("p", [0.25, 0.5, 0.99])
def test_the_distribution_of_answers_keeps_to_epsilon(p: float) -> None:
    """The largest ratio of two probabilities of an answer is e^epsilon of Eq. 10."""
    told = answers_distribution(np.eye(6), truth_probability=p)
    assert told.sum(axis=1) == pytest.approx(np.ones(6))
    ratio = (told[:, None, :] / told[None, :, :]).max()
    assert ratio == pytest.approx(p * 5 / (1 - p))


@pytest.mark.parametrize("truth", range(4))
def test_the_mean_of_answers_is_a_straight_line_of_the_truth(truth: int) -> None:
    """E[answer] = truth (p n - 1) / (n - 1) + (1 - p) / (n - 1) * sum of all values (FOLtR-ES, Eq. 7)."""
    values, p = np.array([0.0, 1.0, 1 / 2, 1 / 3]), 0.3
    told = answers_distribution(np.eye(4)[truth], truth_probability=p)
    expected = values[truth] * (p * 4 - 1) / 3 + (1 - p) / 3 * (0 + 1 + 1 / 2 + 1 / 3)
    assert float(told @ values) == pytest.approx(expected)


@pytest.mark.parametrize("p", [0.0, 0.25, 1.1, float("nan")])
def test_refused_probabilities(p: float) -> None:
    """At 1/n and below answers say nothing of the truth, or the opposite."""
    with pytest.raises(ValueRangeError):
        check_truth_probability(p, 4)


def test_a_metric_with_one_value_has_nothing_to_hide() -> None:
    """It cannot be privatised either."""
    with pytest.raises(ShapeError):
        check_truth_probability(1.0, 1)
