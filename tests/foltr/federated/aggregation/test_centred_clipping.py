"""Centred clipping between its two extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.centred_clipping import CentredClipping
from foltr.federated.aggregation.geometric_median import GeometricMedian
from foltr.federated.aggregation.norm_clipping import NormClipping


def sample(seed: int, n_clients: int = 9, n_params: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_clients, n_params))


def test_a_wide_radius_is_the_mean_and_a_narrow_one_stays() -> None:
    """With tau above all distances centred clipping is the mean; no result is farther than iterations times tau."""
    x = sample(5)
    np.testing.assert_allclose(CentredClipping(radius=1e6).combine(x), x.mean(axis=0))
    assert np.linalg.norm(CentredClipping(radius=1e-3, n_iterations=3).combine(x)) <= 3 * 1e-3


@pytest.mark.parametrize(("radius", "n_iterations"), [(0.0, 3), (-1.0, 3), (math.nan, 3), (1.0, 0)])
def test_settings_that_make_no_sense_are_refused(radius: float, n_iterations: int) -> None:
    """A radius must be positive, and there must be an iteration."""
    with pytest.raises(ValueRangeError, match="centred clipping needs"):
        CentredClipping(radius=radius, n_iterations=n_iterations).combine(sample(0))
    with pytest.raises(ValueRangeError, match="must be positive"):
        GeometricMedian(tolerance=0.0).combine(sample(0))
    with pytest.raises(ValueRangeError, match="radius"):
        NormClipping(bound=-1.0).combine(sample(0))
