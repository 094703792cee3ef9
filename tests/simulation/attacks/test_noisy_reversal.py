"""Model poisoning by noisy opposites."""

from __future__ import annotations

import numpy as np

from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear
from simulation.attacks import AttackedRound
from simulation.attacks.backwards import NoisyReversal


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
