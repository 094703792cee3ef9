"""FOLtR-ES as four verbs.

Evolution strategies: perturbations from seeds, and the slope estimated from rewards.

Rewards of pages by their clicks: outcomes, and what each is worth.

Privatisation of metrics: exact probabilities, the mean they leave, their epsilon, and what is refused.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from math import comb, cos, inf, log, pi, sin, sqrt
from typing import get_args

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.foltr_es import (
    FoltrES,
    FoltrESLocal,
    FoltrESMessage,
    Reward,
    answer,
    answers_distribution,
    ascent_gradient,
    check_truth_probability,
    click_count_weights,
    equal_weights,
    outcome,
    perturbation,
    perturbations,
    reward_values,
    reward_weights,
)
from foltr.federated.method import Model
from foltr.federated.registry import make_method
from foltr.ranking.interaction import Interaction
from foltr.ranking.metrics import dcg_at_k, max_rr, ndcg_at_k
from foltr.ranking.rankers import Linear, Neural

FEATURES = np.eye(3)


def page(ranking: np.ndarray, *clicked: int) -> Interaction:
    """A page on which these ranks (from 0) were clicked."""
    return Interaction(FEATURES, ranking, np.isin(np.arange(len(ranking)), clicked))


def after(method: FoltrES, *clicked: tuple[int, ...], seed: int = 0) -> FoltrESLocal:
    """A device that has shown a page for each tuple of clicked ranks."""
    rng = np.random.default_rng(seed)
    local = method.begin(method.initial(rng), rng)
    for ranks in clicked:
        local = method.learn(local, page(method.rank(local, FEATURES, rng, k=3), *ranks))
    return local


def test_a_round_of_one_device_by_hand() -> None:
    """Pages 1 and 3 go by theta + sigma v, page 2 by theta - sigma v; MaxRR 1 and 1/3 against 1/2.

    PyTorch's first step of Adam is eta g / (|g| + eps).
    """
    method, rng = FoltrES(Linear(3), sigma=0.1, truth_probability=1.0), np.random.default_rng(5)
    model = method.initial(rng)
    local = method.begin(model, np.random.default_rng(5))
    seed = int(np.random.default_rng(5).random() * 2**32)
    v = perturbation(seed, 3)
    forwards, backwards = np.argsort(-v), np.argsort(v)
    for clicked, order in ((0, forwards), (1, backwards), (2, forwards)):
        ranking = method.rank(local, FEATURES, rng, k=3)
        assert ranking.tolist() == order.tolist()
        local = method.learn(local, page(ranking, clicked))
    message = method.report(local, rng)
    assert message == FoltrESMessage(seed, float(np.float32((1 + 1 / 3) / 2)), 0.5)
    gradient = (message.positive - 0.5) * v / (2 * 0.1)
    stepped = method.aggregate(model, [message])
    assert stepped.round == 1
    assert stepped.theta == pytest.approx(0.001 * gradient / (np.abs(gradient) + 1e-8))


def test_two_rounds_are_two_steps_of_adam() -> None:
    """The server's moments go with the model: m and v of Kingma and Ba, with bias correction."""
    method = FoltrES(Linear(4), antithetic=False, sigma=0.5, learning_rate=0.1, truth_probability=1.0)
    rng = np.random.default_rng(0)
    first, second = [FoltrESMessage(1, 1.0), FoltrESMessage(2, 0.5)], [FoltrESMessage(3, 0.25)]
    v = perturbations([1, 2, 3], 4)
    g, h = (v[0] + 0.5 * v[1]) / (2 * 0.5), 0.25 * v[2] / 0.5
    found = method.aggregate(method.aggregate(method.initial(rng), first), second)
    m = (0.9 * 0.1 * g + 0.1 * h) / (1 - 0.9**2)
    spread = np.sqrt((0.999 * 0.001 * g**2 + 0.001 * h**2) / (1 - 0.999**2))
    assert found.theta == pytest.approx(0.1 * g / (np.abs(g) + 1e-8) + 0.1 * m / (spread + 1e-8))


def test_equal_scores_go_to_the_later_document() -> None:
    """As in the published program, which turns an ascending order round."""
    method, rng = FoltrES(Linear(1)), np.random.default_rng(0)
    local = method.begin(method.initial(rng), rng)
    assert method.rank(local, np.ones((5, 1)), rng, k=3).tolist() == [4, 3, 2]


def test_zeros_are_a_start_for_a_neural_ranker() -> None:
    """Both layers are perturbed, so scores differ though every parameter is 0."""
    ranker, rng = Neural(3, 10), np.random.default_rng(1)
    method = FoltrES(ranker)
    local = method.begin(method.initial(rng), rng)
    assert len(set(ranker.score(local.theta + local.step, FEATURES))) == 3


def test_rewards_have_the_digits_that_are_sent() -> None:
    """Each is a float of 32 bits; there is none for a direction that was not taken."""
    method = FoltrES(Linear(3))
    both = method.report(after(method, (0,), (), (2,)), np.random.default_rng(0))
    one = replace(method, antithetic=False)
    plain = one.report(after(one, (0,), (2,), (1,)), np.random.default_rng(0))
    assert plain.negative is None
    for reward in (both.positive, both.negative, plain.positive):
        assert reward == float(np.float32(reward))


def test_the_truth_costs_no_random_number_and_privatisation_one_for_each_page() -> None:
    """What the device's stream gives is the same for every client, whatever was clicked."""
    for p, expected in ((1.0, 0), (0.9, 3)):
        method, rng, twin = FoltrES(Linear(3), truth_probability=p), np.random.default_rng(3), np.random.default_rng(3)
        method.report(after(method, (0,), (), (2,)), rng)
        twin.random(expected)
        assert rng.random() == twin.random()


def test_privatised_rewards_have_the_expectation_of_the_paper() -> None:
    """FOLtR-ES, Eq. 7: f (p n - 1) / (n - 1) + (1 - p) / (n - 1) sum of all values, for f = 1/2 and n = 4 at k = 3."""
    method = FoltrES(Linear(3), truth_probability=0.6, k=3, antithetic=False)
    local, rng, n = after(method, (1,)), np.random.default_rng(0), 20_000
    mean = np.mean([method.report(local, rng).positive for _ in range(n)])
    expected = 0.5 * (0.6 * 4 - 1) / 3 + 0.4 / 3 * (1 + 1 / 2 + 1 / 3)
    assert mean == pytest.approx(expected, abs=5 * 0.5 / sqrt(n))


def test_a_direction_without_a_page_teaches_nothing() -> None:
    """One page alone, or none, leaves the difference of rewards at 0."""
    method, rng = FoltrES(Linear(3), truth_probability=1.0), np.random.default_rng(0)
    alone, nothing = (method.report(after(method, *pages), rng) for pages in ([(1,)], []))
    assert (alone.positive, alone.negative) == (0.5, 0.5)
    assert (nothing.positive, nothing.negative) == (0.0, 0.0)
    assert method.aggregate(method.initial(rng), [alone, nothing]).theta.tolist() == [0.0, 0.0, 0.0]


def test_no_messages_leave_the_model() -> None:
    """The round's number goes on, theta and moments stay."""
    method = FoltrES(Linear(1))
    model = Model(np.array([1.0]), 4, (np.array([2.0]),) * 3)
    empty = method.aggregate(model, [])
    assert (empty.theta is model.theta, empty.moments is model.moments, empty.round) == (True, True, 5)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (FoltrESMessage(1, 0.5), ShapeError),
        (FoltrESMessage(2**32, 0.5, 0.5), ValueRangeError),
        (FoltrESMessage(-1, 0.5, 0.5), ValueRangeError),
        (FoltrESMessage(1, 1.5, 0.5), ValueRangeError),
        (FoltrESMessage(1, 0.5, -0.5), ValueRangeError),
        (FoltrESMessage(1, float("nan"), 0.5), ValueRangeError),
        (FoltrESMessage(1, 0.5, inf), ValueRangeError),
    ],
)
def test_messages_that_no_honest_device_sends(message: FoltrESMessage, error: type[Exception]) -> None:
    """One of them would pull the ranker of everyone as far as it likes."""
    method = FoltrES(Linear(2))
    with pytest.raises(error):
        method.aggregate(method.initial(np.random.default_rng(0)), [FoltrESMessage(1, 1.0, 0.0), message])


def test_settings_are_made_and_refused_by_name() -> None:
    """The registry knows foltr-es; what is out of range is an error that names it."""
    assert make_method("foltr-es", Linear(2), {"reward": "ndcg"}) == FoltrES(Linear(2), reward="ndcg")
    for wrong in (
        {"sigma": 0.0},
        {"learning_rate": inf},
        {"truth_probability": 1 / 11},
        {"reward": "map"},
        {"false_answers": "click-count"},
        {"reward": "dcg", "k": 17},
    ):
        with pytest.raises(ValueRangeError):
            make_method("foltr-es", Linear(2), wrong)


def splitmix(state: int) -> int:
    """The number that SplitMix64 gives for a state, in whole numbers of Python."""
    z = (state + 1) * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def test_the_first_splitmix_number_is_the_published_one() -> None:
    """From state 0 the generator's reference implementation gives 0xE220A8397B1DCDAF."""
    assert splitmix(0) == 0xE220A8397B1DCDAF


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_a_perturbation_is_box_muller_on_the_stretch_of_its_seed(seed: int) -> None:
    """Every number is the one that the docstring defines, in plain arithmetic; an odd length drops the last sine."""
    expected = []
    for i in (0, 2):
        y, z = (splitmix(seed * 2**32 + i + j) // 2**11 for j in (0, 1))
        radius, angle = sqrt(-2 * log((y + 1) / 2**53)), 2 * pi * z / 2**53
        expected += [radius * cos(angle), radius * sin(angle)]
    assert perturbation(seed, 3).tolist() == pytest.approx(expected[:3], rel=1e-14)


def test_perturbations_are_standard_normal_and_independent() -> None:
    """Mean 0, covariance I and fourth moment 3, within five standard errors, over 40,000 seeds in a row."""
    v, n = perturbations(np.arange(40_000), 10), 40_000
    assert np.abs(v.mean(axis=0)).max() < 5 / sqrt(n)
    assert np.abs(np.cov(v.T) - np.eye(10)).max() < 5 * sqrt(2 / n)
    assert (v**4).mean() == pytest.approx(3, abs=5 * sqrt(96 / v.size))


def test_a_longer_ranker_begins_with_the_same_numbers() -> None:
    """Parameter i depends on the seed and i alone, and a seed's row on no other seed."""
    assert perturbation(7, 9)[:4].tolist() == perturbation(7, 4).tolist()
    assert perturbations([3, 7], 9)[1].tolist() == perturbation(7, 9).tolist()


@pytest.mark.parametrize("seeds", [[-1], [2**32], [0.5]])
def test_refused_seeds(seeds: list[float]) -> None:
    """Only whole numbers of 32 bits are seeds."""
    with pytest.raises(ValueRangeError):
        perturbations(seeds, 2)


def test_two_clients_by_hand() -> None:
    """Rewards 1 and 0 against 0 and .5: ((1 - 0) v_a + (0 - .5) v_b) / (2 sigma 2 clients)."""
    a, b = perturbations([11, 12], 5)
    both = ascent_gradient([11, 12], [1.0, 0.0], opposite=[0.0, 0.5], sigma=0.1, n_params=5)
    assert both == pytest.approx((1.0 * a - 0.5 * b) / (2 * 0.1 * 2))
    one = ascent_gradient([11, 12], [1.0, 0.25], sigma=0.1, n_params=5)
    assert one == pytest.approx((1.0 * a + 0.25 * b) / (0.1 * 2))


@pytest.mark.parametrize("antithetic", [True, False])
def test_the_slope_of_a_linear_reward(antithetic: bool) -> None:
    """For f(theta) = c . theta the estimate comes to c, and antithetic variates do without its constant."""
    c, sigma, n = np.array([1.0, -2.0, 0.5]), 0.1, 50_000
    seeds = np.arange(n)
    steps = sigma * perturbations(seeds, 3) @ c
    opposite = 10 - steps if antithetic else None
    found = ascent_gradient(seeds, steps + (10 if antithetic else 0), opposite=opposite, sigma=sigma, n_params=3)
    assert found == pytest.approx(c, abs=5 * sqrt(2 * c @ c / n))


def test_a_constant_added_to_both_directions_changes_nothing() -> None:
    """Antithetic weights are half the differences."""
    plus, minus = np.array([0.5, 0.25]), np.array([0.125, 0.5])
    weights = reward_weights(plus, minus, sigma=0.5)
    assert weights.tolist() == [0.375 / 2 / 0.5 / 2, -0.25 / 2 / 0.5 / 2]
    assert reward_weights(plus + 4, minus + 4, sigma=0.5).tolist() == weights.tolist()


def test_no_clients_make_no_gradient() -> None:
    """Without messages the sum is empty."""
    assert ascent_gradient(np.zeros(0, dtype=np.int64), [], sigma=1.0, n_params=2).tolist() == [0.0, 0.0]


def test_blocks_add_up_to_the_whole() -> None:
    """A gradient made in several blocks of memory is that of one matrix product."""
    seeds, n_params = np.arange(7), 300_000
    rewards = np.linspace(0, 1, 7)
    whole = rewards @ perturbations(seeds, n_params) / (0.5 * 7)
    in_blocks = ascent_gradient(seeds, rewards, sigma=0.5, n_params=n_params)
    np.testing.assert_allclose(in_blocks, whole, rtol=1e-6, atol=1e-12)


def test_refused_rewards() -> None:
    """What does not fit or is not finite is named before it reaches a ranker."""
    with pytest.raises(ShapeError):
        ascent_gradient([1], [0.5, 0.5], sigma=0.1, n_params=2)
    with pytest.raises(ShapeError):
        reward_weights([0.5], [0.5, 0.5], sigma=0.1)
    with pytest.raises(ShapeError):
        reward_weights([[0.5]], sigma=0.1)
    with pytest.raises(ValueRangeError):
        reward_weights([float("nan")], sigma=0.1)
    with pytest.raises(ValueRangeError):
        reward_weights([0.5], sigma=0.0)


def worth(reward: Reward, clicks: list[int], k: int) -> float:
    """The value of the outcome of some clicks."""
    return float(reward_values(reward, k)[outcome(reward, np.array(clicks, dtype=bool), k=k)])


@pytest.mark.parametrize("k", [1, 3, 6])
def test_every_page_as_by_the_plain_metrics(k: int) -> None:
    """The tables agree with foltr.ranking.metrics for all patterns of clicks."""
    for page in product([0, 1], repeat=k):
        clicks = list(page)
        assert worth("max-rr", clicks, k) == max_rr(clicks, k)
        assert worth("dcg", clicks, k) == pytest.approx(dcg_at_k(clicks, k))
        assert worth("ndcg", clicks, k) == pytest.approx(ndcg_at_k(clicks, k))


@pytest.mark.parametrize("reward", get_args(Reward))
def test_clicks_below_the_cutoff_do_not_count(reward: Reward) -> None:
    """A page may be longer or shorter than k."""
    assert worth(reward, [0, 0, 1], 2) == 0.0
    assert worth(reward, [1], 2) == 1.0


@pytest.mark.parametrize("reward", get_args(Reward))
def test_no_click_is_outcome_0_and_worth_nothing(reward: Reward) -> None:
    """The values lie within their range, and the smallest is for no click."""
    assert outcome(reward, np.zeros(10, dtype=bool), k=10) == 0
    values = reward_values(reward, 10)
    assert values[0] == 0.0 == values.min()
    assert len(values) == (11 if reward == "max-rr" else 2**10)


def test_rewards_that_are_refused() -> None:
    """Unknown names, and pages too long for a table of patterns."""
    with pytest.raises(ValueRangeError):
        reward_values("mrr", 10)  # type: ignore[arg-type]
    with pytest.raises(ValueRangeError):
        reward_values("dcg", 17)
    with pytest.raises(ValueRangeError):
        reward_values("max-rr", 0)


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
