"""Little Is Enough: its z, and what it sends."""

from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from simulation.attacks.lie import LittleIsEnough, beside_the_mean, hidden_shift
from tests.simulation.attacks.attacked import a_round, drifting


@pytest.mark.parametrize("n", [10, 11, 50])
def test_z_hides_among_the_honest_that_a_majority_needs(n: int) -> None:
    """Of a normal variable a share s / (n - m) lies beyond z, or s / n, with s = floor(n / 2 + 1) - m."""
    for m in range(1, n // 2):
        s = n // 2 + 1 - m
        for by, among in (("baruch", n - m), ("share", n)):
            z = hidden_shift(n, m, by=by)  # type: ignore[arg-type]
            assert 1 - (1 + erf(z / sqrt(2))) / 2 == pytest.approx(s / among)


def test_z_of_ten_clients() -> None:
    """-.140, 0, .180, .431 for one to four malicious; 0, .253, .524, .842 by the other variant."""
    assert [round(hidden_shift(10, m, by="baruch"), 3) for m in (1, 2, 3, 4)] == [-0.140, 0.0, 0.180, 0.431]
    assert [round(hidden_shift(10, m, by="share"), 3) for m in (1, 2, 3, 4)] == [0.0, 0.253, 0.524, 0.842]


def test_two_of_ten_send_their_mean_exactly() -> None:
    """z = 0."""
    scene = a_round(drifting(1), 2)
    assert LittleIsEnough().send(scene).tolist() == [scene.own.mean(axis=0).tolist()] * 2


def test_by_hand() -> None:
    """Means (2, -1); variances 2/3 and 8/3, or 1 and 4; three copies of mean - 1.5 sd."""
    scene = a_round(np.array([[9.0, 9.0], [1.0, -3.0], [2.0, -1.0], [3.0, 1.0]]), 3)
    expected = [2 - 1.5 * sqrt(2 / 3), -1 - 1.5 * sqrt(8 / 3)]
    np.testing.assert_allclose(LittleIsEnough(z=1.5).send(scene), [expected] * 3)
    np.testing.assert_allclose(LittleIsEnough(z=1.5, ddof=1).send(scene), [[2 - 1.5 * 1, -1 - 1.5 * 2]] * 3)


@pytest.mark.parametrize("ddof", [0, 1])
def test_one_alone_is_honest(ddof: int) -> None:
    """A single row has no deviation, whatever z."""
    row = np.array([[0.3, -2.0]])
    assert beside_the_mean(row, z=5.0, ddof=ddof).tolist() == row[0].tolist()


def test_a_majority_has_no_z() -> None:
    """Six of ten need nobody; two clients make no z at all; a number is a number."""
    for n, m in ((10, 6), (2, 1)):
        with pytest.raises(ValueRangeError, match="minority"):
            LittleIsEnough().check(n, m)
        LittleIsEnough(z=1.5).check(n, m)
    LittleIsEnough().check(2, 0)
