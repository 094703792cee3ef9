"""The trimmed mean and the median of each parameter."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean


def sample(seed: int, n_clients: int = 9, n_params: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_clients, n_params))


@pytest.mark.parametrize("m", [0, 1, 4])
def test_trimming_is_its_brute_force_twin(m: int) -> None:
    """Sorted, cut at both ends, averaged; nothing cut is the mean, all but one the median."""
    x = sample(m)
    expected = [sum(sorted(column)[m : len(x) - m]) / (len(x) - 2 * m) for column in x.T.tolist()]
    np.testing.assert_allclose(TrimmedMean(n_malicious=m).combine(x), expected)
    np.testing.assert_allclose(TrimmedMean(n_malicious=4).combine(x), Median().combine(x))


def test_an_even_median_is_the_mean_of_the_middle_two() -> None:
    """Of 1, 2, 4, 8 it is 3."""
    assert Median().combine([[8.0], [1.0], [4.0], [2.0]]).tolist() == [(2.0 + 4.0) / 2]
