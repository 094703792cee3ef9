from __future__ import annotations

import math

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.privacy.noise import (
    STEPS,
    discrete_gaussian,
    discrete_laplace,
    gamma_shares,
    keyed_generator,
    laplace_shares,
    to_steps,
)

SIZE = 100_000


def assert_frequencies(drawn: np.ndarray, probability: dict[int, float]) -> None:
    """Each frequency lies within 5 standard errors of its probability."""
    for value, p in probability.items():
        assert abs(np.mean(drawn == value) - p) < 5 * math.sqrt(p * (1 - p) / len(drawn)), value


@pytest.mark.parametrize("scale", [1, 3])
def test_discrete_laplace_has_its_law(scale: int) -> None:
    """P(x) = (1 - q) / (1 + q) q^|x| with q = e^(-1/scale), for both signs."""
    q = math.exp(-1 / scale)
    drawn = discrete_laplace(scale, SIZE, np.random.default_rng(1))
    assert_frequencies(drawn, {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-5, 6)})


@pytest.mark.parametrize("deviation", [1, 3])
def test_discrete_gaussian_has_its_law(deviation: int) -> None:
    """P(x) is e^(-x^2 / (2 deviation^2)) over the sum of all of them."""
    weight = {x: math.exp(-x * x / (2 * deviation**2)) for x in range(-60, 61)}
    drawn = discrete_gaussian(deviation, SIZE, np.random.default_rng(2))
    assert_frequencies(drawn, {x: weight[x] / sum(weight.values()) for x in range(-4, 5)})


def test_the_shares_add_up_to_laplace() -> None:
    """Five whole-numbered shares together have the law of the discrete Laplace noise."""
    q = math.exp(-1 / 2)
    rng = np.random.default_rng(3)
    total = sum(laplace_shares(2, 5, SIZE, rng) for _ in range(5))
    assert_frequencies(np.asarray(total), {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-5, 6)})


def test_the_gamma_shares_add_up_to_laplace() -> None:
    """Four float shares of scale 2 have P(|x| > t) = e^(-t/2) and variance 2 * 2^2."""
    rng = np.random.default_rng(4)
    total = np.asarray(sum(gamma_shares(2.0, 4, SIZE // 4, rng) for _ in range(4)))
    assert np.var(total) == pytest.approx(2 * 2**2, rel=0.03)
    for t in (0.5, 2.0, 5.0):
        assert np.mean(np.abs(total) > t) == pytest.approx(math.exp(-t / 2), abs=0.008)


def test_gamma_shares_draw_all_gammas_first() -> None:
    """A share is one vector of gammas less another, drawn in that order: numpy's, but for last digits."""
    for n_shares in (1, 7, 100):
        rng, ours = np.random.default_rng(5), np.random.default_rng(5)
        expected = rng.gamma(1 / n_shares, 3.0, 200) - rng.gamma(1 / n_shares, 3.0, 200)
        np.testing.assert_allclose(gamma_shares(3.0, n_shares, 200, ours), expected, rtol=1e-12, atol=1e-13)
        assert ours.random() == rng.random()


def test_noise_of_the_real_grid_has_its_size() -> None:
    """With 2^20 steps to the scale, Laplace noise has variance 2 scale^2 and Gaussian noise deviation 1."""
    rng = np.random.default_rng(6)
    assert np.var(discrete_laplace(STEPS, SIZE, rng) / STEPS) == pytest.approx(2.0, rel=0.05)
    assert np.std(discrete_gaussian(STEPS, SIZE, rng) / STEPS) == pytest.approx(1.0, rel=0.015)


def test_steps_are_cut_towards_zero() -> None:
    """Cutting to whole steps never lengthens a number."""
    np.testing.assert_array_equal(to_steps(np.array([0.99, -0.99, 2.5, -2.5]), 0.5), [1, -1, 5, -5])


def test_a_vector_too_long_for_the_grid_is_refused() -> None:
    """More than 2^50 steps would not be counted exactly, so it is an error."""
    with pytest.raises(ValueRangeError, match="too small"):
        to_steps(np.array([1.0]), 2.0**-60)


def test_keyed_noise_is_a_function_of_key_and_context() -> None:
    """The same key and context draw the same numbers; another key, another context or a longer one do not."""

    def draws(key: bytes, context: bytes) -> tuple[int, ...]:
        return tuple(keyed_generator(key, context).integers(2**63, size=4).tolist())

    one, other = bytes(32), bytes(31) + b"\1"
    assert draws(one, b"round 1") == draws(one, b"round 1")
    assert len({draws(one, b"round 1"), draws(other, b"round 1"), draws(one, b"round 2"), draws(one, b"round 1 ")}) == 4


def test_keyed_state_is_the_hash() -> None:
    """The 384 bits of Philox's key and counter are those of keyed BLAKE2b."""
    import hashlib

    digest = hashlib.blake2b(b"context", key=b"k" * 32, digest_size=48, person=b"foltr-noise").digest()
    state = keyed_generator(b"k" * 32, b"context").bit_generator.state["state"]
    assert state["key"].astype("<u8").tobytes() + state["counter"].astype("<u8").tobytes() == digest


@pytest.mark.parametrize("key", [b"", b"short", bytes(33)])
def test_a_key_that_could_be_guessed_is_refused(key: bytes) -> None:
    """Only 32 bytes are a key."""
    with pytest.raises(ValueRangeError, match="32 bytes"):
        keyed_generator(key, b"")
