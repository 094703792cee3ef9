"""Centred clipping between its two extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.centred_clipping import centred_clipping
from foltr.federated.aggregation.geometric_median import geometric_median
from foltr.federated.aggregation.norm_clipping import norm_clipped_mean


def sample(seed: int, n_clients: int = 9, n_params: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_clients, n_params))


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
