"""Krum and Multi-Krum choose rows by their distances."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.krum import Krum, MultiKrum, krum_scores, scores_in_blocks
from foltr.federated.aggregation.rows import Spread, scores_by_distance, squared_distances

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
    np.testing.assert_array_equal(Krum(n_malicious=m, distance=distance).combine(x), x[int(np.argmin(twin))])  # type: ignore[arg-type]
    best = np.argsort(twin)[:4]
    np.testing.assert_allclose(MultiKrum(n_malicious=m, n_kept=4, distance=distance).combine(x), x[best].mean(axis=0))  # type: ignore[arg-type]


def test_squared_and_euclidean_scores_can_disagree() -> None:
    """Neighbours at 0 and 3 beat neighbours at 2 and 2 by lengths (3 < 4), and lose by squares (9 > 8)."""
    x = np.array([[0.0], [0.0], [3.0], [5.0], [7.0]])
    by_length = [0 + 3, 0 + 3, 2 + 3, 2 + 2, 2 + 4]
    by_square = [0 + 9, 0 + 9, 4 + 9, 4 + 4, 4 + 16]
    np.testing.assert_allclose(krum_scores(x, 1, distance="euclidean"), by_length)
    np.testing.assert_allclose(krum_scores(x, 1), by_square)
    assert (Krum(n_malicious=1, distance="euclidean").combine(x).tolist(), Krum(n_malicious=1).combine(x).tolist()) == (
        [0.0],
        [5.0],
    )


@pytest.mark.parametrize("n_kept", [0, 8, -1])
def test_multi_krum_keeps_some_of_what_there_is(n_kept: int) -> None:
    """n_kept must be from 1 to the number of rows."""
    with pytest.raises(ValueRangeError, match="can keep 1 to 7"):
        MultiKrum(n_malicious=1, n_kept=n_kept).combine(SEVEN)


@pytest.mark.parametrize("n", [5, 256, 300])
def test_blocks_give_the_scores_of_the_whole_table(n: int) -> None:
    """For one block, exactly one, and one with a rest, among them equal rows: the same sums of nearest distances."""
    rows_ = np.random.default_rng(n).normal(size=(n, 7))
    rows_[1] = rows_[0]
    for k in (1, n - 3):
        expected = scores_by_distance(squared_distances(rows_), n_neighbours=k)
        np.testing.assert_allclose(scores_in_blocks(Spread.of(rows_), n_neighbours=k), expected, rtol=1e-9)


def test_below_its_guarantee_krum_runs_when_told_to() -> None:
    """Four of ten: refused, or by 10 - 4 - 2 = 4 neighbours; seven clients leave one neighbour, and six none."""
    x = np.random.default_rng(3).normal(size=(10, 5))
    with pytest.raises(ValueRangeError, match="at least 11 rows, not 10"):
        Krum(n_malicious=4).combine(x)
    np.testing.assert_allclose(krum_scores(x, 4, strict=False), plain_scores(x, 4, 2))
    by_hand = [sum(sorted(row)[1:5]) for row in ((x[:, None] - x) ** 2).sum(axis=2)]
    np.testing.assert_allclose(krum_scores(x, 4, strict=False), by_hand)
    assert Krum(n_malicious=4, strict=False).combine(x).tolist() == x[int(np.argmin(by_hand))].tolist()
    assert krum_scores(x[:7], 4, strict=False).shape == (7,)
    with pytest.raises(ValueRangeError, match="at least 7 rows, not 6"):
        Krum(n_malicious=4, strict=False).combine(x[:6])


def test_the_guarantee_is_void_below_it() -> None:
    """Four at one point far away lose to seven honest clients, and beat three, for they need but one neighbour."""
    honest = np.random.default_rng(0).normal(size=(7, 5))
    far = np.full((4, 5), 100.0)
    assert Krum(n_malicious=4).combine(np.concatenate([honest, far])).max() < 5
    assert Krum(n_malicious=4, strict=False).combine(np.concatenate([honest[:3], far])).tolist() == far[0].tolist()
