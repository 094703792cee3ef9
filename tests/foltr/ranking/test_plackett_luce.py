from __future__ import annotations

from itertools import permutations
from math import exp, log

import numpy as np
import numpy.typing as npt
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.ranking.plackett_luce import draw, log_denominators, rank_with_noise


def log_probability(scores: npt.ArrayLike, ranking: npt.ArrayLike) -> float:
    """log P(R), the sum over the ranks of s_d - log of what was still to be placed (thesis Eq. 3.8)."""
    ranked, remaining = log_denominators(scores, ranking)
    return float(np.sum(ranked - remaining[:-1]))


def test_log_probability_by_hand() -> None:
    """e^s = 1, 2, 3: P(2, 0) = 3/6 * 1/3."""
    assert log_probability(np.log([1.0, 2.0, 3.0]), [2, 0]) == pytest.approx(log(3 / 6 * 1 / 3), rel=1e-14)


@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_probabilities_of_all_rankings_sum_to_one(k: int) -> None:
    """Over all ordered choices of k from 4 documents the probabilities sum to 1."""
    scores = np.random.default_rng(0).normal(0, 3, 4)
    assert sum(exp(log_probability(scores, p)) for p in permutations(range(4), k)) == pytest.approx(1.0, abs=1e-12)


def test_samples_follow_the_model() -> None:
    """4,000 times Gumbel noise, 2 from 4: every frequency within five standard deviations of its probability."""
    rng = np.random.default_rng(1)
    scores, n = np.array([0.0, 1.0, -1.0, 0.5]), 4_000
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(n):
        drawn = tuple(rank_with_noise(scores, rng.gumbel(size=4), k=2).tolist())
        counts[drawn] = counts.get(drawn, 0) + 1
    for pair in permutations(range(4), 2):
        p = exp(log_probability(scores, pair))
        assert abs(counts.get(pair, 0) - n * p) < 5 * (n * p * (1 - p)) ** 0.5


def test_extreme_scores_are_safe() -> None:
    """Scores of 1e308 and -1e308 sort, and have finite or -1e100-sized log probabilities, never NaN."""
    scores = np.array([1e308, -1e308, 0.0, 1e308])
    assert set(rank_with_noise(scores, np.random.default_rng(0).gumbel(size=4), k=2).tolist()) == {0, 3}
    assert log_probability(scores, [0, 3]) == pytest.approx(log(1 / 2))
    assert not np.isnan(log_probability(scores, [1, 2, 0, 3]))


def test_zero_noise_sorts_and_keeps_the_order_of_equals() -> None:
    """Without noise the ranking is by score, ties by row."""
    assert rank_with_noise([1.0, 3.0, 3.0, 2.0], np.zeros(4), k=4).tolist() == [1, 2, 3, 0]


def test_small_candidate_lists() -> None:
    """k above n_docs gives all documents; no documents give none."""
    assert rank_with_noise([0.0, 1.0], [2.0, 0.0], k=10).tolist() == [0, 1]
    assert rank_with_noise([], [], k=10).tolist() == []
    assert log_probability([], []) == 0.0


def test_bad_scores_are_refused() -> None:
    """NaN, infinity and matrices are errors that say so."""
    with pytest.raises(ValueRangeError, match="finite"):
        log_probability([0.0, float("nan")], [0])
    with pytest.raises(ShapeError, match="n_docs"):
        draw(np.zeros((2, 2)), 1, np.random.default_rng(0))
    with pytest.raises(ShapeError, match="noise"):
        rank_with_noise([0.0, 1.0], [0.0], k=1)


class Script:
    """A generator whose random numbers are written down."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def random(self) -> float:
        return self.numbers.pop(0)


def drawn(scores: object, k: int, *numbers: float) -> list[int]:
    """The ranking that these numbers lead to; every one of them is used."""
    script = Script(*numbers)
    ranking = draw(scores, k, script).tolist()  # type: ignore[arg-type]
    assert not script.numbers
    return ranking


def test_draw_by_hand() -> None:
    """Weights 1, 2, 3: u = 0.4 lies at 2.4 of 6, in row 1; then u = 0.24 lies at 0.96 of 1 + 3, in row 0."""
    scores = np.log([1.0, 2.0, 3.0])
    assert drawn(scores, 2, 0.4, 0.24) == [1, 0]
    assert drawn(scores, 3, 0.4, 0.26, 0.0) == [1, 2, 0]


@pytest.mark.parametrize("scores", [[0.0, 1.0, -1.0, 0.5], [30.0, 0.0, 0.3, -0.4], [700.0, 0.0, 1.0, -1.0]])
def test_draw_follows_the_model(scores: list[float]) -> None:
    """3,000 rankings of 3 from 4: chi-squared over all 24 joint outcomes below its 99.99th percentile."""
    rng, n = np.random.default_rng(3), 3_000
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(n):
        ranking = tuple(draw(scores, 3, rng).tolist())
        counts[ranking] = counts.get(ranking, 0) + 1
    expected = {p: n * exp(log_probability(scores, p)) for p in permutations(range(4), 3)}
    likely = {ranking: e for ranking, e in expected.items() if e >= 5}
    chi2 = sum((counts.get(ranking, 0) - e) ** 2 / e for ranking, e in likely.items())
    assert chi2 < 59.2  # 23 degrees of freedom; fewer where some outcomes are too rare to expect
    assert sum(c for ranking, c in counts.items() if ranking not in likely) <= 25


def test_draw_uses_one_number_for_each_rank() -> None:
    """min(k, n_docs) numbers, whatever the scores: the stream stands where as many calls of random() leave it."""
    for scores, k, numbers in (([5.0, 1.0, 0.0], 2, 2), ([1e4, 0.0, -1e4], 10, 3), ([], 10, 0), ([1.0], 0, 0)):
        used, counted = np.random.default_rng(4), np.random.default_rng(4)
        draw(scores, k, used)
        for _ in range(numbers):
            counted.random()
        assert used.random() == counted.random()


def test_draw_goes_on_when_the_dominant_rows_are_placed() -> None:
    """Scores 1e8, 1e4 and twice 0: the two last share what remains evenly, although their first weights are 0."""
    scores = [0.0, 1e8, 0.0, 1e4]
    assert drawn(scores, 4, 0.5, 0.999, 0.49, 0.999) == [1, 3, 0, 2]
    assert drawn([0.0, 2e3, 0.0, 1e3], 4, 0.5, 0.999, 0.51, 0.0) == [1, 3, 2, 0]


def test_draw_never_runs_past_the_last_row() -> None:
    """The largest number that random() can give chooses the last row with a weight."""
    largest = 1 - 2**-53
    assert drawn([0.0, 0.0, -1e5], 1, largest) == [1]
    assert drawn(np.zeros(1000), 1, largest) == [999]
