from __future__ import annotations

import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from foltr.errors import ShapeError, ValueRangeError
from foltr.privacy.mechanisms import (
    ROUNDING_MARGIN,
    FpdgdPaper,
    Gaussian,
    Laplace,
    Mechanism,
    NoPrivacy,
    clip_l1,
    clip_l2,
    l1_norm,
    l2_norm,
)
from foltr.privacy.noise import STEPS

RNG = np.random.default_rng
START = np.array([1.0, -2.0, 0.5])
END = np.array([4.0, 2.0, 0.5])  # the update (3, 4, 0): L2 norm 5, L1 norm 7
CLIPPED = np.array([1.0 + 3 / 2, -2.0 + 4 / 2, 0.5])  # half of the update

ALL: list[Mechanism] = [
    NoPrivacy(),
    FpdgdPaper(sensitivity=3.0, epsilon=4.5, n_clients=10),
    Laplace(clip=1.0, epsilon=2.0),
    Laplace(clip=1.0, epsilon=2.0, distributed=True, n_clients=10),
    Gaussian(clip=1.0, noise_multiplier=0.5),
    Gaussian(clip=1.0, noise_multiplier=0.5, distributed=True, n_clients=10),
]


@pytest.mark.parametrize("mechanism", ALL)
def test_a_release_is_its_stream(mechanism: Mechanism) -> None:
    """The same stream gives the same release, of the same length, and the inputs stay as they were."""
    start, end = START.copy(), END.copy()
    first, second = mechanism.release(start, end, RNG(3)), mechanism.release(start, end, RNG(3))
    np.testing.assert_array_equal(first, second)
    assert first.shape == START.shape
    np.testing.assert_array_equal(start, START)
    np.testing.assert_array_equal(end, END)


@pytest.mark.parametrize("mechanism", ALL)
def test_settings_survive_json(mechanism: Mechanism) -> None:
    """Encoded and decoded again by the tag `mechanism`, settings are equal."""
    encoded = msgspec.json.encode(mechanism)
    assert b'"mechanism"' in encoded
    assert msgspec.json.decode(encoded, type=Mechanism) == mechanism


def test_no_privacy_changes_nothing() -> None:
    """Without a mechanism the local weights leave as they are."""
    np.testing.assert_array_equal(NoPrivacy().release(START, END, RNG(0)), END)


@pytest.mark.parametrize(("variant", "bound"), [("printed", 3.0 / 2), ("coded", 3.0)])
def test_fpdgd_projects_the_weights_and_adds_one_share(variant: str, bound: float) -> None:
    """theta min(1, bound / ||theta||) + gamma - gamma', with scale Delta / epsilon and shape 1 / n."""
    mechanism = msgspec.convert(
        {"mechanism": "fpdgd-paper", "sensitivity": 3.0, "epsilon": 4.5, "n_clients": 10, "variant": variant}, Mechanism
    )
    assert mechanism.local_bound == bound
    rng = RNG(5)
    noise = rng.gamma(1 / 10, 3.0 / 4.5, 3) - rng.gamma(1 / 10, 3.0 / 4.5, 3)
    expected = END * min(1.0, bound / math.sqrt(4**2 + 2**2 + 0.5**2)) + noise
    np.testing.assert_allclose(mechanism.release(START, END, RNG(5)), expected, rtol=1e-15)


def test_only_fpdgd_projects_during_training() -> None:
    """The other mechanisms clip once, at the end."""
    assert [m.local_bound is None for m in ALL] == [True, False, True, True, True, True]


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        (Laplace(clip=3.5, epsilon=1e6), CLIPPED),
        (Laplace(clip=100.0, epsilon=1e6), END),
        (Gaussian(clip=2.5, noise_multiplier=1e-7), CLIPPED),
        (Gaussian(clip=100.0, noise_multiplier=1e-8), END),
    ],
)
def test_with_hardly_any_noise_only_the_clipping_is_left(mechanism: Mechanism, expected: np.ndarray) -> None:
    """The update, not the weights, is clipped: L1 for Laplace, L2 for Gaussian noise."""
    np.testing.assert_allclose(mechanism.release(START, END, RNG(0)), expected, atol=2e-3)


@pytest.mark.parametrize(
    ("mechanism", "variance"),
    [
        (Laplace(clip=3.0, epsilon=2.0), 2 * (3.0 / 2.0) ** 2),
        (Laplace(clip=3.0, epsilon=2.0, distributed=True, n_clients=20), 2 * (3.0 / 2.0) ** 2 / 20),
        (Gaussian(clip=3.0, noise_multiplier=0.7), (0.7 * 3.0) ** 2),
        (Gaussian(clip=3.0, noise_multiplier=0.7, distributed=True, n_clients=20), (0.7 * 3.0) ** 2 / 20),
    ],
)
def test_the_noise_has_its_variance(mechanism: Mechanism, variance: float) -> None:
    """2 (clip/epsilon)^2 and (z clip)^2, and 1/n of it for a share."""
    zeros = np.zeros(60_000)
    noise = mechanism.release(zeros, zeros, RNG(8))
    assert np.var(noise) == pytest.approx(variance, rel=0.15)
    assert abs(np.mean(noise)) < 5 * math.sqrt(variance / len(noise))


@pytest.mark.parametrize("mechanism", ALL[2:])
def test_what_leaves_lies_on_a_grid_that_does_not_depend_on_the_secret(mechanism: Mechanism) -> None:
    """The noised update is a whole number of steps whatever the weights were: no low bits to read."""
    assert isinstance(mechanism, Laplace | Gaussian)
    scale = 1.0 / 2.0 if isinstance(mechanism, Laplace) else 0.5 / math.sqrt(mechanism.n_clients)
    start, end = np.zeros(500), RNG(1).normal(size=500)
    steps = mechanism.release(start, end, RNG(2)) / (scale / STEPS)
    np.testing.assert_allclose(steps, np.round(steps), rtol=1e-15)


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "laplace", "clip": 0.0, "epsilon": 1.0},
        {"mechanism": "laplace", "clip": 1.0, "epsilon": math.inf},
        {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": -1.0},
        {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": 1.0, "n_clients": 0},
        {"mechanism": "fpdgd-paper", "sensitivity": math.nan, "epsilon": 1.0, "n_clients": 2},
    ],
)
def test_settings_outside_their_range_are_refused(settings: dict[str, object]) -> None:
    """A mechanism with a number that makes no sense cannot be made, from a file either."""
    with pytest.raises(ValueRangeError, match="privacy mechanism"):
        msgspec.convert(settings, Mechanism)


def test_unknown_settings_are_refused() -> None:
    """A misspelt field is an error that names it."""
    with pytest.raises(msgspec.ValidationError, match="sigma"):
        msgspec.convert({"mechanism": "gaussian", "clip": 1, "noise_multiplier": 1, "sigma": 1}, Mechanism)


@pytest.mark.parametrize("mechanism", ALL)
def test_start_and_end_must_fit(mechanism: Mechanism) -> None:
    """Vectors of different length are a ShapeError."""
    with pytest.raises(ShapeError, match=r"\[3\] and \[2\]"):
        mechanism.release(START, END[:2], RNG(0))


@pytest.mark.parametrize("mechanism", ALL[1:])
def test_weights_that_are_not_finite_do_not_leave(mechanism: Mechanism) -> None:
    """A device whose training went wrong gets an error instead of sending NaN."""
    with pytest.raises(ValueRangeError, match="not finite"):
        mechanism.release(START, np.array([1.0, math.nan, 0.0]), RNG(0))


def test_a_part_of_a_sums_noise_is_of_coins() -> None:
    """64 coins at least, more where a signal would have less than 25 steps of room; twice the deviation over the root
    of them is a step, and (clip / step)^2 = N n / (4 z^2) less a hundredth is the squared length of a signal."""
    assert [Gaussian(clip=0.8, noise_multiplier=2.17).shared_out(n).coins for n in (1, 3, 5, 6, 51, 52)] == [
        512,  # 4 z^2 25 / n = 470.9
        256,  # 157.0
        128,  # 94.2
        128,  # 78.5
        64,
        128,  # 1.25 n = 65
    ]
    part = Gaussian(clip=0.8, noise_multiplier=2.17).shared_out(3)
    assert part.grid_step == pytest.approx(2 * 2.17 * 0.8 / math.sqrt(3 * 256))
    assert part.most == int(0.99 * 256 * 3 / (4 * 2.17**2)) == 40


def test_coins_are_for_shared_noise_alone() -> None:
    """An odd number, a negative one, and coins where one device adds all of the noise, are refused."""
    for coins, distributed in ((3, True), (-2, True), (64, False)):
        with pytest.raises(ValueRangeError, match="coins are an even number"):
            Gaussian(clip=1.0, noise_multiplier=1.0, coins=coins, distributed=distributed)


def test_a_signal_is_rounded_at_random_within_the_ball() -> None:
    """Whole numbers, never longer than may be; right on average where all roundings fit (to four standard errors of
    4000), up to seven hundredths shorter where the change fills the clip."""
    part, rng = Gaussian(clip=0.8, noise_multiplier=2.17).shared_out(3), RNG(1)
    for length, lost in ((0.5, 0.01), (1.0, 0.07)):
        change = np.array([0.6, -0.5, 0.4, 0.3, -0.2, 0.2, 0.15, 0.1, 0.05, -0.05])
        change *= length * part.clip / np.linalg.norm(change)
        rounded = np.array([part.signal_steps(change, rng) for _ in range(4000)])
        assert max(row @ row for row in rounded) <= part.most
        along = rounded.mean(axis=0) @ change / (change @ change) * part.grid_step
        assert 1 - lost <= along <= 1.01
    assert (part.signal_steps(np.zeros(10), rng) == 0).all()
    assert int(part.signal_steps(np.full(10, 9.0), rng) @ np.ones(10)) > 0


vectors = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6))


def test_a_three_four_five_triangle() -> None:
    """(3, 4) has L2 norm 5 and L1 norm 7, and is scaled to the bound of either."""
    x = np.array([3.0, 4.0])
    assert (l2_norm(x), l1_norm(x)) == (5.0, 7.0)
    np.testing.assert_allclose(clip_l2(x, 2.5), [1.5, 2.0], rtol=1e-15)
    np.testing.assert_allclose(clip_l1(x, 3.5), [1.5, 2.0], rtol=1e-15)


def test_what_lies_inside_is_returned_itself() -> None:
    """A vector within the bound is not touched, not even copied."""
    x = np.array([3.0, 4.0])
    assert clip_l2(x, 5.0) is x
    assert clip_l1(x, 7.0) is x


@given(vectors, st.floats(1e-3, 1e3))
def test_with_the_margin_the_bound_holds_exactly(x: np.ndarray, bound: float) -> None:
    """In exact arithmetic the norms of vectors clipped with the rounding margin are within the bound."""
    inside = bound * (1.0 - ROUNDING_MARGIN)
    assert sum(abs(Fraction(float(v))) for v in clip_l1(x, inside)) <= Fraction(bound)
    assert sum(Fraction(float(v)) ** 2 for v in clip_l2(x, inside)) <= Fraction(bound) ** 2


@pytest.mark.parametrize("size", [1e-200, 1e-150, 1.0, 1e150, 1e200])
def test_squares_neither_overflow_nor_vanish(size: float) -> None:
    """The L2 norm of any finite vector is right to 15 digits."""
    assert l2_norm(np.array([3.0, 4.0]) * size) == pytest.approx(5.0 * size, rel=1e-15)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    """NaN and infinity are an error, not a vector of NaN."""
    for clip in (clip_l1, clip_l2):
        with pytest.raises(ValueRangeError, match="not finite"):
            clip(np.array([1.0, bad]), 1.0)


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan])
def test_a_bound_must_be_positive(bound: float) -> None:
    """A bound that is not positive is refused."""
    with pytest.raises(ValueRangeError, match="must be positive"):
        clip_l2(np.array([1.0]), bound)
