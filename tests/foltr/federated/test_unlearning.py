"""Unlearning by calibrated replay and by adding up again."""

import msgspec
import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.krum import Krum
from foltr.federated.joining import Joining
from foltr.federated.method import Model
from foltr.federated.optimizers import Momentum
from foltr.federated.unlearning import calibrate_lengths, kept_rounds, reaggregate


def test_kept_rounds_are_those_of_the_paper() -> None:
    """1, 1 + delta_t, 1 + 2 delta_t, ...: with T = 10,000 and delta_t = 10 there are 1,000 of them."""
    assert list(kept_rounds(10, 3)) == [1, 4, 7, 10]
    assert len(kept_rounds(10_000, 10)) == 1000
    assert list(kept_rounds(0, 3)) == []
    with pytest.raises(ValueRangeError, match="0"):
        kept_rounds(10, 0)


def test_the_new_direction_at_the_old_length() -> None:
    """(3, 4) at length 10 is (6, 8); a device that did not move stays where it is (Eq. 6.2)."""
    moved = calibrate_lengths([[3.0, 4.0], [0.0, 0.0]], [10.0, 5.0])
    np.testing.assert_allclose(moved, [[10 * 3 / 5, 10 * 4 / 5], [0.0, 0.0]])


def test_the_length_of_the_fresh_update_does_not_matter() -> None:
    """Scaling the fresh updates changes nothing; scaling the old lengths scales the result."""
    rng = np.random.default_rng(0)
    fresh, lengths = rng.standard_normal((5, 7)), rng.random(5)
    once = calibrate_lengths(fresh, lengths)
    np.testing.assert_allclose(calibrate_lengths(100 * fresh, lengths), once)
    np.testing.assert_allclose(calibrate_lengths(fresh, 3 * lengths), 3 * once)
    np.testing.assert_allclose(np.linalg.norm(once, axis=1), lengths)


def test_misfits_are_refused() -> None:
    """A missing length, a negative one and a number that is not finite."""
    with pytest.raises(ShapeError):
        calibrate_lengths(np.ones((2, 3)), [1.0])
    for fresh, lengths in [([[1.0]], [-1.0]), ([[np.nan]], [1.0]), ([[1.0]], [np.inf])]:
        with pytest.raises(ValueRangeError):
            calibrate_lengths(fresh, lengths)


def test_adding_up_again_without_anyone_gone_is_the_same_model() -> None:
    """Replaying all updates by the mean gives what federated averaging gave; rounds without anyone change nothing."""
    rng = np.random.default_rng(1)
    rounds = [(rng.standard_normal((4, 3)), np.ones(4)) for _ in range(6)]
    theta = np.zeros(3)
    for updates, _ in rounds:
        theta = theta + updates.mean(axis=0)
    again = reaggregate(Model(np.zeros(3)), [*rounds, (np.empty((0, 3)), np.empty(0))], Joining())
    np.testing.assert_allclose(again[-1].model.theta, theta)
    assert [joined.model.round for joined in again] == [1, 2, 3, 4, 5, 6, 7]


def test_adding_up_again_joins_as_the_rounds_were_joined() -> None:
    """The counts weigh and the optimiser remembers; a rule that wants more than are left gives way to the mean."""
    joining = Joining(largest_weight=3, optimizer=Momentum(momentum=0.5))
    rounds = [(np.array([[1.0], [5.0]]), np.array([1.0, 3.0])), (np.array([[2.0]]), np.array([1.0]))]
    first = (1 * 1.0 + 3 * 5.0) / 4
    assert reaggregate(Model(np.zeros(1)), rounds, joining)[-1].model.theta[0] == first + (0.5 * first + 2.0)
    krum = msgspec.structs.replace(joining, rule=Krum(n_malicious=1))
    assert reaggregate(Model(np.zeros(1)), rounds, krum)[-1].model.theta[0] == first + (0.5 * first + 2.0)
