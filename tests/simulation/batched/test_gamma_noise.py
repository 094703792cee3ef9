from __future__ import annotations

import numpy as np
import pytest

from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, NoPrivacy
from foltr.privacy.noise import gamma_shares
from simulation.batched.fpdgd_rounds import noise_of
from simulation.batched.random_numbers import Noise, add_noise, standard_exponential, standard_gamma
from simulation.rounds.streams import make_streams, user_generator


@pytest.mark.parametrize("n", [1, 2, 10, 49, 1000])
def test_numbers_are_those_of_numpy(n: int) -> None:
    """50,000 exponential and 50,000 gamma numbers of one stream, and the stream as far."""
    streams = make_streams(5, 1)
    numbers, state = user_generator(streams, 0), streams.users[0]
    expected = np.concatenate([numbers.standard_exponential(50_000), numbers.standard_gamma(1 / n, 50_000)])
    found = [standard_exponential(state) for _ in range(50_000)] + [standard_gamma(n, state) for _ in range(50_000)]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=0.0)
    assert state.tolist() == numbers.bit_generator.state["state"]["state"].tolist()


def test_noise_goes_to_the_places_of_the_message() -> None:
    """Three weights learned in the order 2 0 1: each gets the share that the message draws for it."""
    streams = make_streams(6, 1)
    expected = gamma_shares(0.4, 5, 3, user_generator(streams, 0))
    theta = np.zeros(3)
    add_noise(Noise(5, 0.4, np.array([2, 0, 1])), theta, streams.users[0])
    np.testing.assert_allclose(theta[[2, 0, 1]], expected, rtol=1e-12)


def test_mechanisms_that_are_compiled() -> None:
    """None has no shares, the published one has as many as clients, the Gaussian is foltr's own."""
    places = np.arange(2)
    none, paper = noise_of(NoPrivacy(), places), noise_of(FpdgdPaper(sensitivity=3.0, epsilon=4.0, n_clients=7), places)
    assert none is not None
    assert paper is not None
    assert none.n_shares == 0
    assert (paper.n_shares, paper.scale) == (7, 0.75)
    assert noise_of(Gaussian(clip=1.0, noise_multiplier=1.0), places) is None
