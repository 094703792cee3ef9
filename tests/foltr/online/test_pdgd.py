from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foltr.errors import ShapeError, ValueRangeError
from foltr.online.pdgd import clicked_and_passed, document_weights, gradient, preference_pairs, reversed_pair_weight
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import draw
from foltr.ranking.rankers import Linear, Neural

getcontext().prec = 60


def decimal_probability(scores: np.ndarray, ranking: list[int]) -> Decimal:
    """P(R) as the plain product of Eq. 3.8 with 60 digits."""
    weight = [Decimal(float(s)).exp() for s in scores]
    left = sum(weight)
    product = Decimal(1)
    for row in ranking:
        product *= weight[row] / left
        left = sum(w for r, w in enumerate(weight) if r not in ranking[: ranking.index(row) + 1])
    return product


def decimal_rho(scores: np.ndarray, ranking: list[int], a: int, b: int) -> float:
    flipped = list(ranking)
    flipped[a], flipped[b] = flipped[b], flipped[a]
    shown, other = decimal_probability(scores, ranking), decimal_probability(scores, flipped)
    return float(other / (shown + other))


def all_pairs(k: int) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.nonzero(~np.eye(k, dtype=bool))
    return a, b


@pytest.mark.parametrize("spread", [0.1, 1.0, 6.0, 60.0])
@pytest.mark.parametrize("n_docs", [2, 5, 13])
def test_rho_is_its_brute_force_twin(spread: float, n_docs: int) -> None:
    """For every pair of a page, likely or not, rho is the quotient of the two full products to 1e-12."""
    rng = np.random.default_rng(n_docs)
    for on_policy in (True, False):
        scores = rng.normal(0, spread, n_docs)
        k = min(10, n_docs)
        ranking = draw(scores, k, rng) if on_policy else rng.permutation(n_docs)[:k]
        a, b = all_pairs(k)
        rho = reversed_pair_weight(scores, ranking, first=a, second=b)
        twin = [decimal_rho(scores, ranking.tolist(), i, j) for i, j in zip(a, b, strict=True)]
        np.testing.assert_allclose(rho, twin, rtol=0, atol=1e-12)


def test_rho_is_exact_for_scores_in_the_thousands() -> None:
    """Score sd 1,000: products underflow in floating point, rho still matches 60-digit arithmetic."""
    rng = np.random.default_rng(0)
    scores, ranking = rng.normal(0, 1e3, 12), rng.permutation(12)[:10]
    a, b = all_pairs(10)
    twin = [decimal_rho(scores, ranking.tolist(), i, j) for i, j in zip(a, b, strict=True)]
    np.testing.assert_allclose(reversed_pair_weight(scores, ranking, first=a, second=b), twin, rtol=0, atol=1e-11)


@pytest.mark.parametrize("spread", [60.0, 1e3, 1e8, 1e306])
def test_no_ranking_and_no_score_gives_nan(spread: float) -> None:
    """Off-policy rankings with extreme scores give weights in [0, 1], never NaN and never a warning."""
    rng = np.random.default_rng(3)
    a, b = all_pairs(10)
    with np.errstate(all="raise", under="ignore", over="ignore"):
        for _ in range(30):
            scores = np.clip(rng.normal(0, 1, 40) * spread, -1.7e308, 1.7e308)
            rho = reversed_pair_weight(scores, rng.permutation(40)[:10], first=a, second=b)
            assert ((rho >= 0) & (rho <= 1)).all()
            page = Interaction(np.eye(40), rng.permutation(40)[:10], rng.random(10) < 0.3)
            assert np.isfinite(document_weights(preference_pairs(scores, page, temperature=0.01), 40)).all()


def test_two_documents_by_hand() -> None:
    """Two documents with e^s = 1 and 3, the worse first and the second clicked.

    P(R) = 1/4 and P(R*) = 3/4, so rho = 3/4; P(2 > 1) P(1 > 2) = 3/4 * 1/4; the gradient is their product times
    x_2 - x_1.
    """
    page = Interaction([[1.0, 0.0], [0.0, 2.0]], [0, 1], [False, True])
    theta = np.array([np.log(1.0), np.log(3.0) / 2])
    weight = 0.75 * (0.75 * 0.25)
    np.testing.assert_allclose(gradient(Linear(2), theta, page), weight * np.array([-1.0, 2.0]), rtol=1e-14)


def test_three_documents_by_hand() -> None:
    """e^s = 1, 2, 3 shown as 0, 1, 2, click on the last: rho of (0, 2) changes the denominators of ranks 2 and 3.

    P(R) = 1/6 * 2/5 * 3/3, P(R*) = 3/6 * 2/3 * 1/1: rho = (1/3) / (1/15 + 1/3) = 5/6.
    """
    scores = np.log([1.0, 2.0, 3.0])
    rho = reversed_pair_weight(scores, [0, 1, 2], first=np.array([2]), second=np.array([0]))
    np.testing.assert_allclose(rho, 5 / 6, rtol=1e-14)


def brute_force_gradient(theta: np.ndarray, page: Interaction, temperature: float) -> np.ndarray:
    """Algorithm 1 line by line with explicit products over both rankings."""
    s = page.features @ theta / temperature
    last = max((i for i, c in enumerate(page.clicks) if c), default=-2)
    total = np.zeros(len(theta))
    for i in range(len(page.clicks)):
        for j in range(len(page.clicks)):
            if page.clicks[i] and not page.clicks[j] and j <= last + 1:
                k, other = page.ranking[i], page.ranking[j]
                rho = decimal_rho(s, page.ranking.tolist(), i, j)
                e_k, e_l = np.exp(s[k]), np.exp(s[other])
                slope = (page.features[k] - page.features[other]) / temperature
                total += rho * e_k * e_l / (e_k + e_l) ** 2 * slope
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.sampled_from([0.3, 1.0, 2.0]))
def test_gradient_is_its_brute_force_twin(seed: int, n_docs: int, temperature: float) -> None:
    """The vectorised gradient is the double loop over pairs to 1e-12, at any temperature and page size."""
    rng = np.random.default_rng(seed)
    k = min(10, n_docs)
    page = Interaction(rng.random((n_docs, 6)), rng.permutation(n_docs)[:k], rng.random(k) < 0.3)
    theta = rng.normal(0, 2, 6)
    np.testing.assert_allclose(
        gradient(Linear(6), theta, page, temperature=temperature),
        brute_force_gradient(theta, page, temperature),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("clicks", [[False] * 4, [True] * 4])
def test_no_click_or_nothing_passed_teaches_nothing(clicks: list[bool]) -> None:
    """A page without a click, or with every result opened, has a zero gradient."""
    page = Interaction(np.random.default_rng(0).random((4, 3)), [3, 1, 0, 2], clicks)
    assert gradient(Linear(3), np.ones(3), page).tolist() == [0.0] * 3
    assert gradient(Neural(3, 4), np.ones(20), page).tolist() == [0.0] * 20


def test_unopened_results_count_down_to_the_one_below_the_last_click() -> None:
    """Clicks at ranks 1 and 3 of 6: ranks 2 and 4 were passed, 5 and 6 were not seen."""
    clicked, passed = clicked_and_passed(np.array([True, False, True, False, False, False]))
    assert list(zip(clicked.tolist(), passed.tolist(), strict=True)) == [(0, 1), (0, 3), (2, 1), (2, 3)]


def test_neural_gradient_is_the_slope_of_the_pair_probabilities() -> None:
    """With rho held fixed, the gradient is the numeric derivative of sum rho P(k > l) by theta."""
    rng = np.random.default_rng(4)
    ranker = Neural(5, 7)
    theta = ranker.initial(rng)
    page = Interaction(rng.random((9, 5)), rng.permutation(9)[:6], [False, True, False, True, False, False])
    scores = ranker.score(theta, page.features)
    clicked, passed = clicked_and_passed(page.clicks)
    rho = reversed_pair_weight(scores / 0.7, page.ranking, first=clicked, second=passed)
    better, worse = page.ranking[clicked], page.ranking[passed]

    def preferred(t: np.ndarray) -> float:
        s = ranker.score(t, page.features) / 0.7
        return float(np.sum(rho / (1 + np.exp(s[worse] - s[better]))))

    step = 1e-6
    numeric = [
        (preferred(theta + step * e) - preferred(theta - step * e)) / (2 * step) for e in np.eye(ranker.n_params)
    ]
    np.testing.assert_allclose(gradient(ranker, theta, page, temperature=0.7), numeric, atol=1e-8)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_is_not_positive_is_refused(temperature: float) -> None:
    """Sampling without randomness has no gradient of its own: the caller must choose one."""
    page = Interaction(np.eye(2), [0, 1], [False, True])
    with pytest.raises(ValueRangeError, match="temperature"):
        preference_pairs(np.zeros(2), page, temperature=temperature)


def test_scores_of_another_page_are_refused() -> None:
    """Scores must be one per candidate."""
    page = Interaction(np.eye(2), [0, 1], [False, True])
    with pytest.raises(ShapeError, match=r"\[2\]"):
        preference_pairs(np.zeros(3), page)
