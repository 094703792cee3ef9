"""Server optimisers: worked vectors, PyTorch's Adam by hand, and what they refuse."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.optimizers import SGD, Adagrad, Adam, Momentum, Optimizer, Yogi

ALL = (SGD(), Momentum(), Adagrad(), Adam(), Adam(bias_correction=True), Yogi())
START = np.full(3, 0.1)
MEAN = (5 * np.array([0.2, 0.4, -0.1]) + 15 * np.array([1.0, -0.2, 0.3])) / 20
GRADIENT = MEAN - START


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        (Momentum(learning_rate=0.5, momentum=0.9), [0.45, 0.025, 0.15]),
        (Adagrad(learning_rate=0.1, tau=0.5), [0.1583333333, 0.0769230769, 0.1166666667]),
        (Yogi(learning_rate=0.1, beta1=0.9, beta2=0.99, tau=1e-3), [0.1985915493, 0.00625, 0.1909090909]),
        (Adam(learning_rate=0.1, beta1=0.9, beta2=0.99, tau=1e-3), [0.1985915493, 0.00625, 0.1909090909]),
    ],
)
def test_worked_vectors(optimizer: Optimizer, expected: list[float]) -> None:
    """One round from 0.1 with two weighted clients ends where independent implementations end, to all their digits."""
    theta, _ = optimizer.step(START, GRADIENT, ())
    np.testing.assert_allclose(theta, expected, atol=5e-11)


def test_corrected_adam_by_hand() -> None:
    """Two steps of PyTorch's Adam: eps stands beside the corrected root, and t counts from 1."""
    adam = Adam(learning_rate=0.01, beta1=0.9, beta2=0.999, tau=1e-8, bias_correction=True)
    first, second = 2.0, -1.0
    theta, moments = adam.step(np.zeros(1), np.array([first]), ())
    assert theta[0] == pytest.approx(0.01 * first / (abs(first) + 1e-8), rel=1e-13)
    theta2, (_, _, t) = adam.step(theta, np.array([second]), moments)
    m = (0.9 * 0.1 * first + 0.1 * second) / (1 - 0.9**2)
    v = (0.999 * 0.001 * first**2 + 0.001 * second**2) / (1 - 0.999**2)
    assert theta2[0] - theta[0] == pytest.approx(0.01 * m / (math.sqrt(v) + 1e-8), rel=1e-12)
    assert t.tolist() == [2.0]


def test_two_rounds_of_momentum_add_up() -> None:
    """A gradient g twice moves by eta * (g + (1 + momentum) * g)."""
    momentum = Momentum(learning_rate=0.5, momentum=0.9)
    theta, moments = momentum.step(START, GRADIENT, ())
    theta, _ = momentum.step(theta, GRADIENT, moments)
    np.testing.assert_allclose(theta - START, 0.5 * (1 + 1.9) * GRADIENT, rtol=1e-14)


def test_yogi_takes_back_what_adam_forgets() -> None:
    """After a large gradient a small one lowers Yogi's v by (1 - beta2) * gradient^2, and Adam's by a share of v."""
    large, small, v = np.array([10.0]), np.array([0.1]), 0.01 * 10.0**2
    yogi, adam = Yogi(), Adam()
    _, (_, by_yogi) = yogi.step(large, small, yogi.step(large, large, ())[1])
    _, (_, by_adam) = adam.step(large, small, adam.step(large, large, ())[1])
    assert by_yogi[0] == pytest.approx(v - 0.01 * 0.1**2)
    assert by_adam[0] == pytest.approx(0.99 * v + 0.01 * 0.1**2)


@pytest.mark.parametrize("optimizer", ALL)
def test_zero_gradient_moves_nothing(optimizer: Optimizer) -> None:
    """Without a gradient and a memory theta stays where it is."""
    theta, moments = optimizer.step(START, np.zeros(3), ())
    np.testing.assert_array_equal(theta, START)
    assert all(moment.shape == START.shape for moment in moments)


@pytest.mark.parametrize("optimizer", ALL)
def test_the_other_way_is_the_mirror(optimizer: Optimizer) -> None:
    """The opposite gradient moves exactly as far in the opposite direction."""
    there, _ = optimizer.step(np.zeros(3), GRADIENT, ())
    back, _ = optimizer.step(np.zeros(3), -GRADIENT, ())
    np.testing.assert_array_equal(there, -back)


@pytest.mark.parametrize("optimizer", ALL)
def test_arguments_stay_as_they_were(optimizer: Optimizer) -> None:
    """A step changes neither theta nor the moments that it was given."""
    theta, moments = optimizer.step(START, GRADIENT, ())
    before = [theta.copy(), *(moment.copy() for moment in moments)]
    optimizer.step(theta, GRADIENT, moments)
    for now, then in zip([theta, *moments], before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("optimizer", ALL)
def test_settings_come_back(optimizer: Optimizer) -> None:
    """The settings decode to the same optimiser, by the word in `optimizer`."""
    plain = msgspec.to_builtins(optimizer)
    assert msgspec.convert(plain, Optimizer) == optimizer
    with pytest.raises(msgspec.ValidationError, match="etta"):
        msgspec.convert({**plain, "etta": 1}, Optimizer)


def test_wrong_numbers_are_refused() -> None:
    """Rates, decays and tau outside their range name themselves."""
    with pytest.raises(ValueRangeError, match="learning_rate"):
        SGD(learning_rate=0.0)
    with pytest.raises(ValueRangeError, match="momentum"):
        Momentum(momentum=1.0)
    with pytest.raises(ValueRangeError, match="beta2"):
        Adam(beta2=1.0)
    with pytest.raises(ValueRangeError, match="tau"):
        Yogi(tau=0.0)


def test_wrong_arrays_are_refused() -> None:
    """A gradient that does not fit or is not finite, and another optimiser's memory, are errors."""
    with pytest.raises(ShapeError, match=r"\[3\], not \[2\]"):
        SGD().step(START, np.zeros(2), ())
    with pytest.raises(ValueRangeError, match="finite"):
        Yogi().step(START, np.array([0.0, np.nan, 0.0]), ())
    with pytest.raises(ShapeError, match="remembers 2 arrays"):
        Adam().step(START, GRADIENT, (START,))
