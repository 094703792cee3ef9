"""Norm clipping, by hand."""

from __future__ import annotations

import numpy as np

from foltr.federated.aggregation.norm_clipping import NormClipping, norm_clipped_mean


def test_clipping_by_hand() -> None:
    """(3, 4) of length 5 is cut to length 1, (0, .5) stays: the mean is (.3, .65)."""
    rows = np.array([[3.0, 4.0], [0.0, 0.5]])
    np.testing.assert_allclose(NormClipping(bound=1.0).combine(rows), [0.6 / 2, (0.8 + 0.5) / 2])
    centre = np.array([1.0, 1.0])
    np.testing.assert_allclose(norm_clipped_mean(rows + centre, None, bound=1.0, centre=centre), [1 + 0.3, 1 + 0.65])


def test_without_a_bound_the_median_length_clips() -> None:
    """Of lengths 1, 2 and 300 all are cut to 2."""
    rows = np.array([[1.0], [2.0], [300.0]])
    np.testing.assert_allclose(NormClipping().combine(rows), [(1 + 2 + 2) / 3])
    assert NormClipping().combine(np.array([[0.0], [0.0], [300.0]])).tolist() == [0.0]
