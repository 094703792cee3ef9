from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.privacy.laplace_accounting import LaplaceRounds, basic_sum, laplace_epsilon, loss_masses


def curve(sensitivity: float, epsilon: float) -> float:
    """delta of one round in closed form."""
    return max(0.0, 1 - math.exp((epsilon - sensitivity) / 2))


def hockey_stick(masses: np.ndarray, losses: np.ndarray, epsilon: float) -> float:
    """sum of p(l) (1 - e^(epsilon - l)) over the losses above epsilon."""
    return float(np.sum(np.where(losses > epsilon, masses * -np.expm1(epsilon - losses), 0.0)))


def test_a_hundred_rounds_of_scale_ten() -> None:
    """Laplace noise of scale 10, 100 rounds, delta 1e-5: epsilon 4.2203; the basic sum is 100 / 10."""
    spent = [LaplaceRounds(1 / 10, 100)]
    assert laplace_epsilon(spent, 1e-5) == pytest.approx(4.2203, abs=1e-4)
    assert laplace_epsilon(spent) == pytest.approx(100 / 10)


@pytest.mark.parametrize(("sensitivity", "delta"), [(1.0, 1e-5), (0.2, 1e-3), (5.0, 0.1)])
def test_one_round_is_its_closed_form(sensitivity: float, delta: float) -> None:
    """epsilon = s + 2 ln(1 - delta) after one round."""
    exact = sensitivity + 2 * math.log(1 - delta)
    assert laplace_epsilon([LaplaceRounds(sensitivity, 1)], delta) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("steps", [1, 2, 7, 50])
@pytest.mark.parametrize("sensitivity", [0.1, 1.0, 4.0])
def test_the_dots_lie_on_the_curve_and_the_chords_above(sensitivity: float, steps: int) -> None:
    """The masses are a distribution whose delta equals the closed form at every dot and exceeds it between them."""
    masses = loss_masses(sensitivity, steps)
    losses = sensitivity / steps * np.arange(-steps, steps + 1)
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    for loss, between in itertools.pairwise(losses):
        middle = (loss + between) / 2
        assert hockey_stick(masses, losses, loss) == pytest.approx(curve(sensitivity, loss), abs=1e-12)
        assert hockey_stick(masses, losses, middle) >= curve(sensitivity, middle) - 1e-12


def test_three_rounds_are_a_brute_force_convolution() -> None:
    """The bound for three rounds lies just above 1,000,000 simulated privacy losses, never below by chance."""
    rng = np.random.default_rng(0)
    x = rng.laplace(size=(1_000_000, 3))
    losses = (np.abs(x - 0.8) - np.abs(x)).sum(axis=1)
    epsilon = laplace_epsilon([LaplaceRounds(0.8, 3)], 0.05)
    simulated = np.mean(np.maximum(0.0, -np.expm1(epsilon - losses)))
    assert simulated == pytest.approx(0.05, abs=0.001)


def test_unequal_rounds_cost_between_their_extremes() -> None:
    """Rounds of .1 and .3 cost more than all at .1 and less than all at .3, and their order does not matter."""
    low, mixed, high = (
        laplace_epsilon([LaplaceRounds(a, 30), LaplaceRounds(b, 20)], 1e-5)
        for a, b in ((0.1, 0.1), (0.1, 0.3), (0.3, 0.3))
    )
    assert low < mixed < high
    other = laplace_epsilon([LaplaceRounds(0.3, 20), LaplaceRounds(0.1, 30)], 1e-5)
    assert other == pytest.approx(mixed, rel=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("total", [0.2, 1.0, 4.0])
def test_splitting_a_change_over_two_numbers_never_costs_more(total: float, share: float) -> None:
    """Two numbers moved by share and the rest of s have at every epsilon at most the delta of one moved by s."""
    steps = 1000
    first, second = round(share * steps), steps - round(share * steps)
    masses = np.convolve(loss_masses(total * first / steps, first), loss_masses(total * second / steps, second))
    losses = total / steps * np.arange(-steps, steps + 1)
    for epsilon in np.linspace(0.0, total, 41):
        assert hockey_stick(masses, losses, epsilon) <= curve(total, epsilon) + 1e-6


def test_never_above_the_basic_sum() -> None:
    """A delta too small for the grid, or too many rounds, gives the basic sum."""
    assert laplace_epsilon([LaplaceRounds(0.1, 10)], 1e-30) == pytest.approx(0.1 * 10)
    assert laplace_epsilon([LaplaceRounds(0.1, 10**7)], 1e-5) == pytest.approx(0.1 * 10**7)
    assert laplace_epsilon([LaplaceRounds(2.0, 1), LaplaceRounds(1e-9, 200_000)], 1e-5) <= 2.0 + 1e-9 * 200_000


def test_nothing_spent_and_nothing_guaranteed() -> None:
    """No rounds cost 0; an infinite sensitivity costs inf; a negative one is refused."""
    assert laplace_epsilon([], 1e-5) == 0.0
    assert laplace_epsilon([LaplaceRounds(1.0, 0), LaplaceRounds(math.inf, 0)], 1e-5) == 0.0
    assert laplace_epsilon([LaplaceRounds(math.inf, 1)], 1e-5) == math.inf
    with pytest.raises(ValueRangeError, match="makes no sense"):
        basic_sum([LaplaceRounds(-1.0, 1)])


@pytest.mark.parametrize(
    ("scale", "n_rounds", "delta"), [(10, 100, 1e-5), (1, 10, 1e-5), (100, 1000, 1e-6), (3, 30, 1e-8)]
)
def test_dp_accounting_agrees(scale: float, n_rounds: int, delta: float) -> None:
    """The privacy loss distribution of dp-accounting gives the same epsilon to 1e-4."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    theirs = pld.from_laplace_mechanism(scale, value_discretization_interval=1e-4).self_compose(n_rounds)
    ours = laplace_epsilon([LaplaceRounds(1 / scale, n_rounds)], delta)
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=1e-4)
