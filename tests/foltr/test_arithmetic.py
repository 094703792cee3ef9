"""Arithmetic with the same digits everywhere: against many digits, and against what it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from foltr.arithmetic import dots, exp, log, log1p, log_sum, log_sums, normals, power, table, waves, weighted_sum
from foltr.arrays import FloatVector

RNG = np.random.default_rng(0)
N = 3_000
EXACT = {
    "log": (log, mpmath.log, np.exp(RNG.uniform(-700, 700, N)), 1.0),
    "log near 1": (log, mpmath.log, 1 + RNG.uniform(-0.3, 0.4, N), 1.0),
    "log1p": (log1p, mpmath.log1p, RNG.uniform(-0.999, 2, N), 1.5),
    "log1p near 0": (log1p, mpmath.log1p, RNG.uniform(-1e-8, 1e-8, N), 1.5),
    "exp": (exp, mpmath.exp, RNG.uniform(-700, 709, N), 1.5),
    "exp near 0": (exp, mpmath.exp, RNG.uniform(-1, 1, N), 1.5),
}


@pytest.mark.parametrize(("ours", "theirs", "at", "ulps"), EXACT.values(), ids=EXACT)
def test_within_units_in_the_last_place(
    ours: Callable[..., Any], theirs: Callable[..., Any], at: FloatVector, ulps: float
) -> None:
    """So near the true value, which is worked out with 40 digits."""
    with mpmath.workdps(40):
        for x, found in zip(at.tolist(), ours(at).tolist(), strict=True):
            true = theirs(mpmath.mpf(x))
            assert abs(true - mpmath.mpf(found)) <= ulps * float(np.spacing(abs(float(true))))


def test_waves_are_cosine_and_sine_of_turns() -> None:
    """To 2e-16, and exactly where a quarter of a turn ends."""
    turns = RNG.random(N)
    with mpmath.workdps(40):
        for found, theirs in zip(waves(turns), (mpmath.cos, mpmath.sin), strict=True):
            for x, value in zip(turns.tolist(), found.tolist(), strict=True):
                assert abs(theirs(2 * mpmath.pi * mpmath.mpf(x)) - mpmath.mpf(value)) < 2e-16
    cosine, sine = waves(np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    assert cosine.tolist() == [1, 0, -1, 0, 1]
    assert sine.tolist() == [0, 1, 0, -1, 0]


def test_exponentials_end_where_they_are_said_to() -> None:
    """0 below -700 and of minus infinity, what 709 gives above it, and no number for what is none."""
    assert exp(np.array([-700.5, -np.inf])).tolist() == [0.0, 0.0]
    assert exp(1e9) == exp(709.0) == pytest.approx(math.exp(709.0))
    assert np.isnan(exp(np.nan))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, 1.75, 1_000])
def test_powers(exponent: float) -> None:
    """Whole ones are products, others are near the library's."""
    assert power(0.9, exponent) == pytest.approx(0.9**exponent, rel=1e-13)
    assert power(np.array([1.0, 2.0, 3.0]), 2).tolist() == [1.0, 4.0, 9.0]
    assert power(0.5, np.array([0, 1, 3])).tolist() == [1.0, 0.5, 0.125]


def test_sums_of_products() -> None:
    """2 * 3 + 5 * 7 = 41 by each way to ask for it."""
    x, y = np.array([2.0, 5.0]), np.array([3.0, 7.0])
    assert dots(x, y) == weighted_sum(x, y[:, None])[0] == table(x[None], y[None])[0, 0] == 2 * 3 + 5 * 7


def test_a_sum_does_not_depend_on_how_the_numbers_lie_in_memory() -> None:
    """Rows of a transposed array, and those of its copy."""
    x, y = RNG.normal(size=(137, 30)).T, RNG.normal(size=137)
    assert (dots(x, y) == dots(x.copy(), y)).all()


def test_logarithms_of_sums() -> None:
    """ln(1 + 2), and with nothing before it; nothing at all is minus infinity; far apart the larger alone counts."""
    nothing = -np.inf
    assert log_sum(np.array([nothing, 0.0, math.log(2)])) == pytest.approx(math.log(3))
    assert log_sums(np.array([nothing, 0.0, math.log(2)])) == pytest.approx([nothing, 0.0, math.log(3)])
    assert log_sum(np.array([nothing, nothing])) == nothing
    assert log_sum(np.array([-1e100, 5.0])) == 5.0


def test_normals_are_normal_and_follow_the_stream() -> None:
    """Mean 0 and deviation 1 of 100,000; the same numbers from the same stream."""
    drawn = normals(np.random.default_rng(1), 100, 1_000)
    assert (abs(drawn.mean()), drawn.std()) == (pytest.approx(0, abs=0.02), pytest.approx(1, abs=0.02))
    assert (drawn == normals(np.random.default_rng(1), 100, 1_000)).all()
