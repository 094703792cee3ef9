"""What is opposed, flip, inner product manipulation and the adaptive attack, by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear
from simulation.attacks import AttackedRound
from simulation.attacks.backwards import Adaptive, Flip, InnerProductManipulation, NoisyReversal, Opposed

START = np.array([1.0, 1.0])


def scene(accepts: Callable[[FloatVector], float] | None = None) -> AttackedRound:
    """Two honest clients at (3, 1) and (1, 3), so their mean update is (1, 1); two malicious ones that learned."""
    reported = np.array([[3.0, 1.0], [1.0, 3.0], [2.0, 1.0], [1.0, 0.0]])
    return AttackedRound(reported, START, 2, FPDGD(Linear(2)), np.random.default_rng(0), accepts)


def test_what_is_opposed_is_minus_z_times_the_learned_ranker() -> None:
    """(2, 1) and (1, 0) become (-4, -2) and (-2, 0) (thesis Eq. 6.3); z = -1 is honest."""
    assert Opposed(z=2.0).send(scene()).tolist() == [[-4.0, -2.0], [-2.0, 0.0]]
    assert Opposed(z=-1.0).send(scene()).tolist() == scene().own.tolist()


def test_a_z_that_is_no_number_is_refused() -> None:
    """Before anything runs."""
    with pytest.raises(ValueRangeError, match="finite"):
        Opposed(z=float("nan")).check(4, 2)


def test_flip_reverses_each_one_s_own_update() -> None:
    """(1, 0) and (0, -1) from the start become (-2, 0) and (0, 2)."""
    assert Flip(scale=2.0).send(scene()).tolist() == [[-1.0, 1.0], [1.0, 3.0]]


def test_ipm_reverses_the_honest_mean() -> None:
    """Half of (1, 1), backwards, from both."""
    assert InnerProductManipulation(scale=0.5).send(scene()).tolist() == [[0.5, 0.5]] * 2


@pytest.mark.parametrize(("at_least", "sent"), [(0.0, 0.0), (1.2, 1.5), (1.9, 1.9375), (3.0, 2.0)])
def test_the_adaptive_attack_goes_as_far_as_is_accepted(at_least: float, sent: float) -> None:
    """Tried are 2 - 2, 2 - 1, 2 - .5, ... until it is at least that; the honest mean 2 where none is."""
    first = Adaptive(first=2.0).send(scene(lambda theta: float(theta[0] >= at_least)))
    assert first.tolist() == [[sent, sent]] * 2


def test_where_nobody_tests_the_adaptive_attack_takes_its_first_step() -> None:
    """2 - 4."""
    assert Adaptive().send(scene()).tolist() == [[-2.0, -2.0]] * 2


def sent(own: np.ndarray, *, start: float = 1.0) -> np.ndarray:
    n_params = own.shape[1]
    reported = np.concatenate([np.zeros((1, n_params)), start + own])
    method = FPDGD(Linear(n_params))
    scene = AttackedRound(reported, np.full(n_params, start), len(own), method, np.random.default_rng(0))
    return NoisyReversal().send(scene) - start


def test_every_attacker_sends_two_to_four_times_the_opposite_and_noise() -> None:
    """Of (1, -1, 1, -1, ...) the multiples are -2 to -4 on average, one for each attacker, and the noise has SD 1."""
    own = np.tile([1.0, -1.0], (3, 20_000))
    found = sent(own)
    factors = (found * own).mean(axis=1)
    assert ((factors > -4.05) & (factors < -1.95)).all()
    assert np.ptp(factors) > 0.1
    noise = found - factors[:, None] * own
    assert np.abs(noise.std(axis=1) - 1.0).max() < 0.02


def test_updates_of_one_number_have_its_mean_as_noise() -> None:
    """Where all numbers of an update are c, mu is c: -2 gamma c + c, between -c and -3 c."""
    found = sent(np.full((4, 6), 0.5))
    assert (np.ptp(found, axis=1) < 1e-12).all()
    assert ((found <= -0.5) & (found >= -1.5)).all()


def test_who_learned_nothing_sends_nothing() -> None:
    """No update, no noise."""
    assert not sent(np.zeros((2, 5))).any()
