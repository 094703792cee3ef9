from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.rows import in_order, shares, squared_distances, usable


def plain_distances(x: np.ndarray) -> np.ndarray:
    """The brute-force twin, number by number."""
    return np.array([[float(np.sum((a - b) ** 2)) for b in x] for a in x])


def test_distances_are_their_brute_force_twin() -> None:
    """The matrix product gives the squared distances to 10 digits."""
    x = np.random.default_rng(0).normal(size=(20, 30))
    np.testing.assert_allclose(squared_distances(x), plain_distances(x), rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_near_rows_keep_their_digits_beside_far_ones(offset: float) -> None:
    """Rows a millionth apart, far from 0 and beside outliers, and a far pair of near rows, lose no digits."""
    rng = np.random.default_rng(1)
    x = offset + 1e-3 * rng.normal(size=(12, 8))
    x[1] = x[0] + 1e-6
    x[10:] += 1e9
    np.testing.assert_allclose(squared_distances(x), plain_distances(x), rtol=1e-9)


def test_equal_rows_are_at_distance_zero() -> None:
    """Copies are exactly 0 apart wherever they are, and the matrix is symmetric."""
    x = np.random.default_rng(2).normal(size=(9, 5)) * 1e6
    x[[2, 7]] = x[4]
    d = squared_distances(x)
    assert d[2, 7] == d[4, 7] == d[2, 2] == 0.0
    np.testing.assert_array_equal(d, d.T)


def test_ties_are_broken_by_the_numbers_not_by_the_place() -> None:
    """Rows of equal score come in the order of their numbers, however they arrived."""
    rows = np.array([[2.0, 0.0], [1.0, 5.0], [1.0, 3.0], [0.0, 0.0]])
    scores = np.array([1.0, 1.0, 1.0, 7.0])
    assert in_order(scores, rows).tolist() == [2, 1, 0, 3]
    assert in_order(scores[::-1].copy(), rows[::-1].copy()).tolist() == [1, 2, 3, 0]


def test_usable_rows() -> None:
    """Rows with NaN, infinity or a number above 1e100 are not usable."""
    rows = np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0], [1e101, 0.0], [-1e100, 0.0]])
    assert usable(rows).tolist() == [True, False, False, False, True]


def test_weights_become_shares() -> None:
    """Weights are divided by their sum; none count alike."""
    np.testing.assert_allclose(shares([5.0, 15.0], 2), [5 / 20, 15 / 20])
    np.testing.assert_allclose(shares(None, 4), [1 / 4] * 4)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_weights_that_make_no_sense_are_refused(weights: list[float]) -> None:
    """Negative, not finite or all 0."""
    with pytest.raises(ValueRangeError, match="weights"):
        shares(weights, 2)


def test_weights_must_fit() -> None:
    """One weight for each row."""
    with pytest.raises(ShapeError, match=r"weights must be \[3\]"):
        shares([1.0, 2.0], 3)
