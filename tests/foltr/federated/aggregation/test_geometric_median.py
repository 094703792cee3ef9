"""The geometric median: nothing near it is nearer to all rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foltr.federated.aggregation.geometric_median import GeometricMedian


def sample(seed: int, n_clients: int = 9, n_params: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_clients, n_params))


def objective(x: np.ndarray, v: np.ndarray) -> float:
    return float(np.sqrt(np.sum((x - v) ** 2, axis=1)).sum())


@pytest.mark.parametrize("seed", range(6))
def test_no_step_from_the_geometric_median_shortens_the_way(seed: int) -> None:
    """The sum of distances at the median is below that at the mean, at every row and at steps to all sides."""
    x = sample(seed)
    v = GeometricMedian().combine(x)
    others = [x.mean(axis=0), *x, *(v + 1e-4 * step for step in np.vstack([np.eye(4), -np.eye(4)]))]
    assert all(objective(x, v) < objective(x, other) for other in others)
    pull = ((x - v) / np.linalg.norm(x - v, axis=1)[:, None]).sum(axis=0)
    assert np.abs(pull).max() < 1e-9


def test_small_updates_have_a_median_of_their_own() -> None:
    """Of eight updates of length .06 and two far ones: what scales all rows scales it, no distance is a floor."""
    updates = sample(0, n_clients=8)
    rows = np.vstack([0.06 * updates / np.linalg.norm(updates, axis=1)[:, None], np.full((2, 4), 3.0)])
    v = GeometricMedian().combine(rows)
    np.testing.assert_allclose(v, GeometricMedian().combine(1000.0 * rows) / 1000.0, rtol=1e-9)
    assert objective(rows, v) < min(objective(rows, v + 1e-3 * step) for step in np.vstack([np.eye(4), -np.eye(4)]))


def test_the_fermat_point() -> None:
    """Of an equilateral triangle it is the centre; of one with an angle above 120 degrees that corner, exactly."""
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
    np.testing.assert_allclose(GeometricMedian().combine(triangle), [0.5, math.sqrt(3) / 6], atol=1e-12)
    flat = np.array([[-1.0, 0.0], [0.0, 0.1], [1.0, 0.0]])
    np.testing.assert_array_equal(GeometricMedian().combine(flat), flat[1])


def test_rows_on_one_line() -> None:
    """Of an odd number on a line it is the middle one; of an even number it is between the middle two."""
    direction = np.array([1.0, 2.0])
    np.testing.assert_array_equal(GeometricMedian().combine(np.outer([0.0, 1.0, 9.0], direction)), direction)
    v = GeometricMedian().combine(np.outer([0.0, 1.0, 3.0, 9.0], direction))
    assert 1.0 - 1e-9 <= v[0] <= 3.0 + 1e-9
    assert v[1] == pytest.approx(2 * v[0])


def test_weight_of_more_than_half_decides() -> None:
    """A row with more than half of the weight, or the same row so often, is the geometric median itself."""
    x = sample(2, n_clients=5)
    np.testing.assert_array_equal(GeometricMedian().combine(x, [1, 1, 5, 1, 1]), x[2])
    np.testing.assert_array_equal(GeometricMedian().combine(np.vstack([x, x[[3]], x[[3]], x[[3]], x[[3]]])), x[3])


def test_a_weight_of_two_is_two_rows() -> None:
    """Weights and repeated rows mean the same."""
    x = sample(3, n_clients=6)
    doubled = GeometricMedian().combine(np.vstack([x, x[[0]]]))
    np.testing.assert_allclose(GeometricMedian().combine(x, [2, 1, 1, 1, 1, 1]), doubled, atol=1e-10)
