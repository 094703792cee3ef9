"""Each row mixed with its nearest ones."""

from __future__ import annotations

import numpy as np

from foltr.federated.aggregation.nearest_neighbour_mixing import mixed_with_neighbours


def test_mixing_by_hand() -> None:
    """Of 0, 1, 2 and 10 each becomes the mean of its three nearest, itself among them."""
    rows = np.array([[0.0], [1.0], [2.0], [10.0]])
    expected = [[(0 + 1 + 2) / 3]] * 3 + [[(10 + 2 + 1) / 3]]
    np.testing.assert_allclose(mixed_with_neighbours(rows, 1), expected)


def test_mixing_without_malicious_clients_is_the_mean() -> None:
    """For m = 0 every row becomes the mean of all."""
    x = np.random.default_rng(4).normal(size=(6, 3))
    np.testing.assert_allclose(mixed_with_neighbours(x, 0), np.tile(x.mean(axis=0), (6, 1)))


def test_mixing_is_its_brute_force_twin() -> None:
    """Each mixed row is the mean of the n - m rows at the smallest distances."""
    x = np.random.default_rng(5).normal(size=(11, 4))
    for i, mixed in enumerate(mixed_with_neighbours(x, 3)):
        nearest = sorted(range(11), key=lambda j: float(np.sum((x[i] - x[j]) ** 2)))[:8]
        np.testing.assert_allclose(mixed, x[nearest].mean(axis=0))
