from __future__ import annotations

from itertools import permutations
from math import exp, log

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.ranking.plackett_luce import gumbel_noise, log_probability, rank_with_noise, sample


def test_log_probability_by_hand() -> None:
    """e^s = 1, 2, 3: P(2, 0) = 3/6 * 1/3."""
    assert log_probability(np.log([1.0, 2.0, 3.0]), [2, 0]) == pytest.approx(log(3 / 6 * 1 / 3), rel=1e-14)


@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_probabilities_of_all_rankings_sum_to_one(k: int) -> None:
    """Over all ordered choices of k from 4 documents the probabilities sum to 1."""
    scores = np.random.default_rng(0).normal(0, 3, 4)
    assert sum(exp(log_probability(scores, p)) for p in permutations(range(4), k)) == pytest.approx(1.0, abs=1e-12)


def test_samples_follow_the_model() -> None:
    """20,000 samples of 2 from 4: every frequency within five standard deviations of its probability."""
    rng = np.random.default_rng(1)
    scores, n = np.array([0.0, 1.0, -1.0, 0.5]), 20_000
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(n):
        drawn = tuple(sample(scores, 2, rng).tolist())
        counts[drawn] = counts.get(drawn, 0) + 1
    for pair in permutations(range(4), 2):
        p = exp(log_probability(scores, pair))
        assert abs(counts.get(pair, 0) - n * p) < 5 * (n * p * (1 - p)) ** 0.5


def test_extreme_scores_are_safe() -> None:
    """Scores of 1e308 and -1e308 sort, and have finite or -1e100-sized log probabilities, never NaN."""
    scores = np.array([1e308, -1e308, 0.0, 1e308])
    assert set(sample(scores, 2, np.random.default_rng(0)).tolist()) == {0, 3}
    assert log_probability(scores, [0, 3]) == pytest.approx(log(1 / 2))
    assert not np.isnan(log_probability(scores, [1, 2, 0, 3]))


def test_adding_a_constant_changes_no_probability() -> None:
    """Only differences of scores matter."""
    scores = np.random.default_rng(2).normal(0, 2, 9)
    assert log_probability(scores + 500, [4, 2, 7]) == pytest.approx(log_probability(scores, [4, 2, 7]), abs=1e-11)


def test_zero_noise_sorts_and_keeps_the_order_of_equals() -> None:
    """Without noise the ranking is by score, ties by row."""
    assert rank_with_noise([1.0, 3.0, 3.0, 2.0], np.zeros(4), k=4).tolist() == [1, 2, 3, 0]


def test_the_same_noise_gives_the_same_ranking() -> None:
    """Noise is an argument, so a ranking can be repeated."""
    noise = gumbel_noise(30, np.random.default_rng(5))
    scores = np.linspace(0, 1, 30)
    assert rank_with_noise(scores, noise, k=10).tolist() == rank_with_noise(scores + 7, noise, k=10).tolist()


def test_small_candidate_lists() -> None:
    """k above n_docs gives all documents; no documents give none."""
    rng = np.random.default_rng(0)
    assert sorted(sample([0.0, 1.0], 10, rng).tolist()) == [0, 1]
    assert sample([], 10, rng).tolist() == []
    assert log_probability([], []) == 0.0


def test_bad_scores_are_refused() -> None:
    """NaN, infinity and matrices are errors that say so."""
    with pytest.raises(ValueRangeError, match="finite"):
        log_probability([0.0, float("nan")], [0])
    with pytest.raises(ShapeError, match="n_docs"):
        sample(np.zeros((2, 2)), 1, np.random.default_rng(0))
    with pytest.raises(ShapeError, match="noise"):
        rank_with_noise([0.0, 1.0], [0.0], k=1)
