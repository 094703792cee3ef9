"""Fang's attack on Krum: Krum chooses what it sends, and would not choose more."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.krum import Distance, Krum, MultiKrum
from simulation.attacks.fang import LEAST_STRENGTH, FangKrum, FangTrimmed, beyond_the_extreme, strongest, upper_bound
from tests.simulation.attacks.attacked import a_round, drifting

CUBE = np.array([[1.0], [2.0], [4.0], [8.0]])
"""benign weights on a line, from 0"""


def test_the_upper_bound_by_hand() -> None:
    """From 0, two neighbours, one copy: (min of 1 + 3, 1 + 2, 2 + 3, 4 + 6) / 2 + 8, d = 1; two copies: / 1."""
    assert upper_bound(CUBE, np.zeros(1), n_copies=1, n_neighbours=2) == pytest.approx(3 / 2 + 8)
    assert upper_bound(CUBE, np.zeros(1), n_copies=2, n_neighbours=2) == pytest.approx(3 / 1 + 8)
    wide = np.repeat(CUBE, 4, axis=1)
    bound = upper_bound(wide, np.zeros(4), n_copies=1, n_neighbours=2)
    assert bound == pytest.approx((2 * 3 / 2 + 2 * 8) / 2), "all lengths are twice as long, and sqrt(d) is 2"


def test_the_search_by_hand() -> None:
    """One of five, against 1, 2, 4, 8: two neighbours, so 2 scores 3 and -lambda scores 2 lambda + 3: never below 3.

    With two copies -lambda scores 0 + lambda + 1 while 1 scores 1 + min(3, 1 + lambda): chosen from lambda < 2, for
    then it has less than 3 and less than 2 + lambda. 11 / 8 is the first of 11, 11 / 2, 11 / 4, ... below that.
    """
    away = np.array([-1.0])
    alone = strongest(CUBE, np.zeros(1), away, n_copies=1, n_neighbours=2, distance="euclidean")
    assert alone < LEAST_STRENGTH
    both = strongest(CUBE, np.zeros(1), away, n_copies=2, n_neighbours=2, distance="euclidean")
    assert both == 11 / 8


@pytest.mark.parametrize("distance", ["squared", "euclidean"])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(2))
def test_krum_chooses_it_and_not_twice_as_much(seed: int, m: int, distance: Distance) -> None:
    """With full knowledge the server's Krum takes the crafted row; at twice the strength a benign one, or the bound."""
    scene = a_round(drifting(seed), m, start=np.full(6, 0.1))
    attack = FangKrum(distance=distance)
    sent = attack.send(scene)
    crafted = sent[0]
    assert (sent == crafted).all()
    assert (
        Krum(n_malicious=m, distance=distance, strict=False).combine(np.concatenate([scene.benign, sent])).tolist()
        == crafted.tolist()
    )
    away = -np.sign(scene.reported.mean(axis=0) - scene.start)
    strength = attack.strength(scene, away)
    np.testing.assert_allclose(crafted, scene.start + strength * away)
    bound = upper_bound(scene.benign, scene.start, n_copies=m, n_neighbours=8 - m)
    assert np.log2(bound / strength) == pytest.approx(round(np.log2(bound / strength)), abs=1e-9)
    more = np.concatenate([scene.benign, np.tile(scene.start + 2 * strength * away, (m, 1))])
    chosen = Krum(n_malicious=m, distance=distance, strict=False).combine(more)
    assert strength == bound or not np.array_equal(chosen, more[-1])


@pytest.mark.parametrize("seed", range(3))
def test_no_strength_beyond_the_bound_is_ever_chosen(seed: int) -> None:
    """Theorem 1, by trying: rows with lambda above lambda_0 lose where no sign is 0."""
    scene = a_round(drifting(seed), 3)
    away = -np.sign(scene.reported.mean(axis=0))
    bound = upper_bound(scene.benign, scene.start, n_copies=3, n_neighbours=5)
    for factor in (1.01, 1.5, 3.0, 30.0):
        rows = np.concatenate([scene.benign, np.tile(factor * bound * away, (3, 1))])
        assert not np.array_equal(Krum(n_malicious=3, distance="euclidean").combine(rows), rows[-1])


def test_partial_knowledge_knows_nothing_of_the_others() -> None:
    """The benign updates may be anything: the same is sent; and all that is asked is the attackers' own mean."""
    scene = a_round(drifting(2), 3)
    other = a_round(np.concatenate([drifting(7)[:7], scene.own]), 3)
    attack = FangKrum(knowledge="partial")
    assert attack.send(scene).tolist() == attack.send(other).tolist()
    assert np.sign(attack.send(scene)[0]).tolist() == (-np.sign(scene.own.mean(axis=0))).tolist()


@pytest.mark.parametrize(("m", "n_copies"), [(1, 2), (2, 2), (3, 2)])
def test_with_one_neighbour_two_copies_are_enough(m: int, n_copies: int) -> None:
    """One copy ties with its nearest and is not chosen; two are at no distance, so the bound itself is sent."""
    scene = a_round(drifting(4), m)
    away = -np.sign(scene.own.mean(axis=0))
    bound = upper_bound(scene.own, scene.start, n_copies=n_copies, n_neighbours=1)
    assert FangKrum(knowledge="partial").strength(scene, away) == bound
    if m == 1:
        assert bound == pytest.approx(np.linalg.norm(scene.own[0]) / 6**0.5)


@pytest.mark.parametrize("attack", [FangKrum(), FangTrimmed()])
def test_what_nobody_moved_stays(attack: FangKrum | FangTrimmed) -> None:
    """sign(0) = 0: the parameter of a feature that no page had is sent as it was, which is where all are."""
    reported = drifting(3)
    reported[:, 2] = 0.25
    start = np.zeros(6)
    start[2] = 0.25
    assert attack.send(a_round(reported, 2, start))[:, 2].tolist() == [0.25, 0.25]


def test_multi_krum_keeps_it_among_others() -> None:
    """The same row against Multi-Krum: its copies are kept."""
    scene = a_round(drifting(5), 2)
    sent = FangKrum().send(scene)
    rows = np.concatenate([scene.benign, sent])
    with_copies = MultiKrum(n_malicious=2, n_kept=2, distance="euclidean").combine(rows)
    np.testing.assert_allclose(with_copies, sent[0])


def test_too_few_clients_are_refused() -> None:
    """Krum needs a neighbour: m + 3 clients."""
    with pytest.raises(ValueRangeError, match="4 malicious need 7 clients, not 6"):
        FangKrum().check(6, 4)
    FangKrum().check(7, 4)
    FangKrum().check(2, 0)


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


def test_nobody_benign_is_refused() -> None:
    """There is no extreme to go beyond."""
    with pytest.raises(ValueRangeError, match="no benign one"):
        FangTrimmed().check(4, 4)
    FangTrimmed().check(4, 3)
