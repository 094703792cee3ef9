"""Fang's attack on coordinate-wise rules: beyond the benign extremes, against the way of the mean."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from simulation.attacks.fang import FangTrimmed, beyond_the_extreme
from tests.simulation.attacks.attacked import a_round, drifting


def test_the_four_ranges_by_hand() -> None:
    """[3, 6], [-4 / 2, -4 / 4] read outward, [-6, -3], [4 / 2, 4]: at the edge for 0, half way for 1/2."""
    low, high = np.array([1.0, -5.0, -3.0, 4.0]), np.array([3.0, -2.0, 1.0, 9.0])
    side = np.array([1.0, 1.0, -1.0, -1.0])
    drawn = np.array([[0.0] * 4, [0.5] * 4])
    edge, far = [3.0, -2.0, -3.0, 4.0], [6.0, -1.0, -6.0, 2.0]
    half = [(a + b) / 2 for a, b in zip(edge, far, strict=True)]
    assert beyond_the_extreme(low, high, side, drawn).tolist() == [edge, half]


@pytest.mark.parametrize("start", [0.0, 0.3, -2.0])
@pytest.mark.parametrize("m", [1, 4])
def test_all_values_lie_beyond_the_benign(m: int, start: float) -> None:
    """On the side away from where the mean went, and no further than b = 2 lets them; each attacker its own."""
    scene = a_round(drifting(m), m, np.full(6, start))
    sent = FangTrimmed().send(scene)
    low, high = scene.benign.min(axis=0), scene.benign.max(axis=0)
    up = scene.reported.mean(axis=0) < start
    assert (sent[:, up] >= high[up]).all()
    assert (sent[:, ~up] <= low[~up]).all()
    assert (np.abs(sent) <= 2 * np.abs(np.where(up, high, low)) + 1e-12).all() or (
        np.where(up, high, low) * sent > 0
    ).all()
    assert sent.shape == (m, 6)
    assert m == 1 or not np.array_equal(sent[0], sent[1])


def test_partial_knowledge_guesses_from_its_own() -> None:
    """3 to 4 deviations from the own mean, or beyond the own extremes; the others may be anything."""
    scene = a_round(drifting(1), 4)
    other = a_round(np.concatenate([drifting(9)[:6], scene.own]), 4)
    mean, deviation = scene.own.mean(axis=0), scene.own.std(axis=0)
    far = (FangTrimmed(knowledge="partial").send(scene) - mean) / (-np.sign(mean) * deviation)
    assert far.min() >= 3
    assert far.max() <= 4
    for knowledge in ("partial", "own-extremes"):
        attack = FangTrimmed(knowledge=knowledge)  # type: ignore[arg-type]
        assert attack.send(a_round(scene.reported, 4)).tolist() == attack.send(other).tolist()
        other = a_round(other.reported, 4)
    sent = FangTrimmed(knowledge="own-extremes").send(a_round(scene.reported, 4))
    up = mean < 0
    assert (sent[:, up] >= scene.own.max(axis=0)[up]).all()
    assert (sent[:, ~up] <= scene.own.min(axis=0)[~up]).all()


def test_what_nobody_moved_stays() -> None:
    """A parameter without a direction is the mean, which is where all are."""
    reported = drifting(3)
    reported[:, 2] = 0.25
    start = np.zeros(6)
    start[2] = 0.25
    assert FangTrimmed().send(a_round(reported, 2, start))[:, 2].tolist() == [0.25, 0.25]


def test_nobody_benign_is_refused() -> None:
    """There is no extreme to go beyond."""
    with pytest.raises(ValueRangeError, match="no benign one"):
        FangTrimmed().check(4, 4)
    FangTrimmed().check(4, 3)
