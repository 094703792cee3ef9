"""Krum, Multi-Krum, Bulyan and nearest-neighbour mixing: rules that choose rows by their distances."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.bulyan import bulyan
from foltr.federated.aggregation.krum import krum, krum_scores, multi_krum
from foltr.federated.aggregation.nearest_neighbour_mixing import mixed_with_neighbours

SEVEN = np.array(
    [(0.31, -0.12), (0.28, -0.07), (0.35, -0.19), (0.22, -0.02), (0.41, -0.26), (0.27, -0.15), (-3.0, 2.5)]
)


def plain_scores(x: np.ndarray, m: int, power: int) -> list[float]:
    """Krum's scores from the definition, in plain loops."""
    scores = []
    for i, a in enumerate(x):
        lengths = sorted(float(np.sqrt(np.sum((a - b) ** 2))) ** power for j, b in enumerate(x) if j != i)
        scores.append(sum(lengths[: len(x) - m - 2]))
    return scores


def test_known_scores() -> None:
    """Seven clients, one malicious: the sums of the four smallest squared distances."""
    known = [0.0305, 0.0353, 0.0423, 0.0894, 0.1228, 0.0364, 69.618]
    np.testing.assert_allclose(krum_scores(SEVEN, 1), known, rtol=1e-10)


@pytest.mark.parametrize("m", [0, 1, 3])
@pytest.mark.parametrize(("distance", "power"), [("squared", 2), ("euclidean", 1)])
def test_scores_are_their_brute_force_twin(m: int, distance: str, power: int) -> None:
    """Both kinds of score equal the definition, and Krum is the row with the smallest."""
    x = np.random.default_rng(m).normal(size=(12, 6))
    twin = plain_scores(x, m, power)
    np.testing.assert_allclose(krum_scores(x, m, distance=distance), twin, rtol=1e-9)  # type: ignore[arg-type]
    np.testing.assert_array_equal(krum(x, m, distance=distance), x[int(np.argmin(twin))])  # type: ignore[arg-type]
    best = np.argsort(twin)[:4]
    np.testing.assert_allclose(multi_krum(x, m, n_kept=4, distance=distance), x[best].mean(axis=0))  # type: ignore[arg-type]


def test_squared_and_euclidean_scores_can_disagree() -> None:
    """Neighbours at 0 and 3 beat neighbours at 2 and 2 by lengths (3 < 4), and lose by squares (9 > 8)."""
    x = np.array([[0.0], [0.0], [3.0], [5.0], [7.0]])
    by_length = [0 + 3, 0 + 3, 2 + 3, 2 + 2, 2 + 4]
    by_square = [0 + 9, 0 + 9, 4 + 9, 4 + 4, 4 + 16]
    np.testing.assert_allclose(krum_scores(x, 1, distance="euclidean"), by_length)
    np.testing.assert_allclose(krum_scores(x, 1), by_square)
    assert (krum(x, 1, distance="euclidean").tolist(), krum(x, 1).tolist()) == ([0.0], [5.0])


@pytest.mark.parametrize("n_kept", [0, 8, -1])
def test_multi_krum_keeps_some_of_what_there_is(n_kept: int) -> None:
    """n_kept must be from 1 to the number of rows."""
    with pytest.raises(ValueRangeError, match="can keep 1 to 7"):
        multi_krum(SEVEN, 1, n_kept=n_kept)


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
        np.testing.assert_allclose(bulyan(x, m), plain_bulyan(x, m), rtol=1e-9)


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
