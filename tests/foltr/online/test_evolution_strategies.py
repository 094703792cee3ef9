"""Evolution strategies: perturbations from seeds, and the slope estimated from rewards."""

from __future__ import annotations

from math import cos, log, pi, sin, sqrt

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.online.evolution_strategies import ascent_gradient, perturbation, perturbations, reward_weights


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
    assert ascent_gradient(seeds, rewards, sigma=0.5, n_params=n_params) == pytest.approx(whole, abs=1e-12)


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
