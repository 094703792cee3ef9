"""The mean, by interactions."""

from __future__ import annotations

import numpy as np

from foltr.federated.aggregation.averaging import Mean


def test_the_mean_counts_interactions() -> None:
    """Clients of 5 and 15 interactions weigh 1/4 and 3/4."""
    rows = np.array([[0.2, 0.4, -0.1], [1.0, -0.2, 0.3]])
    np.testing.assert_allclose(Mean().combine(rows, [5, 15]), (5 * rows[0] + 15 * rows[1]) / 20)
