from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from foltr.errors import ValueRangeError
from foltr.privacy.clipping import ROUNDING_MARGIN, clip_l1, clip_l2, l1_norm, l2_norm

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
