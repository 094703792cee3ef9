"""Bulyan: rows chosen by Krum, then each parameter's middle."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.federated.aggregation.bulyan import Bulyan


def plain_bulyan(x: np.ndarray, m: int) -> np.ndarray:
    """Bulyan from its definition in plain loops."""
    left, chosen = list(range(len(x))), []
    while len(chosen) < len(x) - 2 * m:
        k = max(1, len(left) - m - 2)
        scores = [sum(sorted(float(np.sum((x[i] - x[j]) ** 2)) for j in left if j != i)[:k]) for i in left]
        chosen.append(left.pop(int(np.argmin(np.round(scores, 9)))))
    result = []
    for column in x[chosen].T:
        middle = np.median(column)
        result.append(np.mean(sorted(column, key=lambda v: abs(v - middle))[: len(x) - 4 * m]))
    return np.array(result)


@pytest.mark.parametrize(("n_clients", "m"), [(3, 0), (7, 1), (12, 1), (15, 3)])
def test_bulyan_is_its_brute_force_twin(n_clients: int, m: int) -> None:
    """Chosen rows and kept values equal the definition's."""
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=(n_clients, 5))
        np.testing.assert_allclose(Bulyan(n_malicious=m).combine(x), plain_bulyan(x, m), rtol=1e-9)
