"""Mean, trimmed mean, median, geometric median and the clipping rules: rules that look for a centre."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.averaging import mean
from foltr.federated.aggregation.centred_clipping import centred_clipping
from foltr.federated.aggregation.geometric_median import geometric_median
from foltr.federated.aggregation.norm_clipping import norm_clipped_mean
from foltr.federated.aggregation.trimmed_mean import median, trimmed_mean


def sample(seed: int, n_clients: int = 9, n_params: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_clients, n_params))


def test_the_mean_counts_interactions() -> None:
    """Clients of 5 and 15 interactions weigh 1/4 and 3/4."""
    rows = np.array([[0.2, 0.4, -0.1], [1.0, -0.2, 0.3]])
    np.testing.assert_allclose(mean(rows, [5, 15]), (5 * rows[0] + 15 * rows[1]) / 20)


@pytest.mark.parametrize("m", [0, 1, 4])
def test_trimming_is_its_brute_force_twin(m: int) -> None:
    """Sorted, cut at both ends, averaged; nothing cut is the mean, all but one the median."""
    x = sample(m)
    expected = [sum(sorted(column)[m : len(x) - m]) / (len(x) - 2 * m) for column in x.T.tolist()]
    np.testing.assert_allclose(trimmed_mean(x, m), expected)
    np.testing.assert_allclose(trimmed_mean(x, 4), median(x))


def test_an_even_median_is_the_mean_of_the_middle_two() -> None:
    """Of 1, 2, 4, 8 it is 3."""
    assert median([[8.0], [1.0], [4.0], [2.0]]).tolist() == [(2.0 + 4.0) / 2]


def objective(x: np.ndarray, v: np.ndarray) -> float:
    return float(np.sqrt(np.sum((x - v) ** 2, axis=1)).sum())


@pytest.mark.parametrize("seed", range(6))
def test_no_step_from_the_geometric_median_shortens_the_way(seed: int) -> None:
    """The sum of distances at the median is below that at the mean, at every row and at steps to all sides."""
    x = sample(seed)
    v = geometric_median(x)
    others = [x.mean(axis=0), *x, *(v + 1e-4 * step for step in np.vstack([np.eye(4), -np.eye(4)]))]
    assert all(objective(x, v) < objective(x, other) for other in others)
    pull = ((x - v) / np.linalg.norm(x - v, axis=1)[:, None]).sum(axis=0)
    assert np.abs(pull).max() < 1e-9


def test_the_fermat_point() -> None:
    """Of an equilateral triangle it is the centre; of one with an angle above 120 degrees that corner, exactly."""
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
    np.testing.assert_allclose(geometric_median(triangle), [0.5, math.sqrt(3) / 6], atol=1e-12)
    flat = np.array([[-1.0, 0.0], [0.0, 0.1], [1.0, 0.0]])
    np.testing.assert_array_equal(geometric_median(flat), flat[1])


def test_rows_on_one_line() -> None:
    """Of an odd number on a line it is the middle one; of an even number it is between the middle two."""
    direction = np.array([1.0, 2.0])
    np.testing.assert_array_equal(geometric_median(np.outer([0.0, 1.0, 9.0], direction)), direction)
    v = geometric_median(np.outer([0.0, 1.0, 3.0, 9.0], direction))
    assert 1.0 - 1e-9 <= v[0] <= 3.0 + 1e-9
    assert v[1] == pytest.approx(2 * v[0])


def test_weight_of_more_than_half_decides() -> None:
    """A row with more than half of the weight, or the same row so often, is the geometric median itself."""
    x = sample(2, n_clients=5)
    np.testing.assert_array_equal(geometric_median(x, [1, 1, 5, 1, 1]), x[2])
    np.testing.assert_array_equal(geometric_median(np.vstack([x, x[[3]], x[[3]], x[[3]], x[[3]]])), x[3])


def test_a_weight_of_two_is_two_rows() -> None:
    """Weights and repeated rows mean the same."""
    x = sample(3, n_clients=6)
    doubled = geometric_median(np.vstack([x, x[[0]]]))
    np.testing.assert_allclose(geometric_median(x, [2, 1, 1, 1, 1, 1]), doubled, atol=1e-10)


def test_clipping_by_hand() -> None:
    """(3, 4) of length 5 is cut to length 1, (0, .5) stays: the mean is (.3, .65)."""
    rows = np.array([[3.0, 4.0], [0.0, 0.5]])
    np.testing.assert_allclose(norm_clipped_mean(rows, bound=1.0), [0.6 / 2, (0.8 + 0.5) / 2])
    centre = np.array([1.0, 1.0])
    np.testing.assert_allclose(norm_clipped_mean(rows + centre, bound=1.0, centre=centre), [1 + 0.3, 1 + 0.65])


def test_without_a_bound_the_median_length_clips() -> None:
    """Of lengths 1, 2 and 300 all are cut to 2."""
    rows = np.array([[1.0], [2.0], [300.0]])
    np.testing.assert_allclose(norm_clipped_mean(rows), [(1 + 2 + 2) / 3])
    assert norm_clipped_mean(np.array([[0.0], [0.0], [300.0]])).tolist() == [0.0]


def test_a_wide_radius_is_the_mean_and_a_narrow_one_stays() -> None:
    """With tau above all distances centred clipping is the mean; no result is farther than iterations times tau."""
    x = sample(5)
    np.testing.assert_allclose(centred_clipping(x, radius=1e6), x.mean(axis=0))
    assert np.linalg.norm(centred_clipping(x, radius=1e-3, n_iterations=3)) <= 3 * 1e-3


@pytest.mark.parametrize(("radius", "n_iterations"), [(0.0, 3), (-1.0, 3), (math.nan, 3), (1.0, 0)])
def test_settings_that_make_no_sense_are_refused(radius: float, n_iterations: int) -> None:
    """A radius must be positive, and there must be an iteration."""
    with pytest.raises(ValueRangeError, match="centred clipping needs"):
        centred_clipping(sample(0), radius=radius, n_iterations=n_iterations)
    with pytest.raises(ValueRangeError, match="must be positive"):
        geometric_median(sample(0), tolerance=0.0)
    with pytest.raises(ValueRangeError, match="radius"):
        norm_clipped_mean(sample(0), bound=-1.0)
