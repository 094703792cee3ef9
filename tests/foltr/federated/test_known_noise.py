"""The guard that knows the noise: no honest member is left out, and nobody moves the ranker by more than a bound."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest
from msgspec.structs import replace

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated import known_noise
from foltr.federated.aggregation import rows
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.guard import GuardState, RunningSums
from foltr.federated.known_noise import (
    KnownNoise,
    join_known,
    judge_known,
    largest_product,
    largest_square,
    products,
)

FORMER = KnownNoise(clip=0.1, deviation=0.4)
"""clip .1, z 4"""
PRESENT = KnownNoise(clip=0.8, deviation=0.8)
"""clip .8, z 1"""


def of(n_rounds: int, sent: np.ndarray) -> RunningSums:
    """Sums after so many rounds, all of which counted."""
    return RunningSums(np.full(len(sent), n_rounds), sent, sent)


def test_the_bound_of_a_square_holds_and_is_near() -> None:
    """Of two numbers without centre, ||x||^2 > q has probability e^(-q/2) exactly; the bound is above, not by far."""
    for nats in (5.0, 20.0, 60.0):
        assert 2 * nats < largest_square(2, 0.0, nats) < 2 * nats + 2 * log(nats) + 3


@pytest.mark.parametrize(("d", "centre"), [(1, 0.0), (10, 4.0), (56, 1.9)])
def test_the_bounds_hold_by_drawing(d: int, centre: float) -> None:
    """At a chance of one in a hundred, at most so many of 200,000 draws exceed them, with the worst centres."""
    rng, nats = np.random.default_rng(1), log(100.0)
    a = np.zeros(d)
    a[0] = sqrt(centre)
    x, y = a + rng.normal(size=(200_000, d)), a + rng.normal(size=(200_000, d))
    squares = np.mean(np.einsum("ij,ij->i", x, x) > largest_square(d, centre, nats))
    inner = np.mean(np.einsum("ij,ij->i", x, y) > largest_product(d, centre, centre, nats))
    assert 0 < squares <= exp(-nats)
    assert 0 < inner <= exp(-nats)


def test_the_bound_of_a_product_is_the_least_of_its_tilts() -> None:
    """Chernoff's bound over 100,000 tilts, for other centres."""
    s, d, first, second, nats = np.linspace(1e-5, 1 - 1e-5, 100_000), 10, 4.0, 1.0, log(100.0)
    all_ = (nats - d / 2 * np.log(1 - s**2) + (s * 2.0 + s**2 * 2.5) / (1 - s**2)) / s
    assert largest_product(d, first, second, nats) == pytest.approx(all_.min(), rel=1e-3)


@pytest.mark.parametrize(("noise", "d", "n_rounds"), [(FORMER, 56, 64), (PRESENT, 10, 40)])
def test_no_honest_member_is_left_out(noise: KnownNoise, d: int, n_rounds: int) -> None:
    """Fifty members who all push the whole clip one way, round after round: nobody is suspected."""
    rng = np.random.default_rng(2)
    state, taste = GuardState(), np.eye(d)[0] * noise.clip
    for _ in range(n_rounds):
        judged = judge_known(noise, state, taste + noise.deviation * rng.normal(size=(50, d)))
        assert judged.verdict.summary == "nothing beyond what honest noise does"
        assert judged.kept.all()
        state = judged.state
    assert (state.n_judged, state.alert) == (n_rounds, False)


def test_the_mean_of_honest_members_is_hardly_touched() -> None:
    """Of the mean of ten members, which carries the whole clip, less than a quarter of the clip a round is cut."""
    rng, state, lost = np.random.default_rng(3), GuardState(), []
    for _ in range(4):
        updates = np.eye(10)[0] * PRESENT.clip + PRESENT.deviation * rng.normal(size=(10, 10))
        delta, state, _ = join_known(PRESENT, Mean(), state, updates, np.ones(10))
        lost.append(np.linalg.norm(delta - updates.mean(axis=0)))
    assert np.mean(lost) < 0.25 * PRESENT.clip


def test_one_update_that_noise_cannot_make() -> None:
    """Twice the bound of a length is evidence 4, names its row, and counts for nothing."""
    nats = known_noise.nats_of(5, 0)
    bound = 0.8 * sqrt(largest_square(10, 1.0, nats))
    updates = np.zeros((5, 10))
    updates[3, 0] = 2 * bound
    judged = judge_known(PRESENT, GuardState(), updates)
    assert judged.verdict.left_out == (3,)
    assert judged.verdict.suspicions[0].evidence == pytest.approx(4.0)
    assert judged.verdict.summary == "1 of 5 left out; row 3: its update is longer than its noise can make it"
    assert not judged.counted[3].any()


def test_a_steady_push_is_found_by_its_sum() -> None:
    """Honest lengths, nine tenths of them one way: found when a t exceeds C t + sigma sqrt(t) reach, and stays out."""
    rng, state, found = np.random.default_rng(4), GuardState(), []
    length = sqrt(FORMER.clip**2 + 56 * FORMER.deviation**2)
    for _ in range(12):
        updates = FORMER.deviation * rng.normal(size=(20, 56))
        aside = rng.normal(size=55)
        updates[7] = length * np.concatenate([[0.9], sqrt(1 - 0.81) * aside / np.linalg.norm(aside)])
        judged = judge_known(FORMER, state, updates)
        state = judged.state
        found.append(judged.verdict.left_out)
    first = found.index((7,))
    assert 3 <= first <= 7
    assert found == [()] * first + [(7,)] * (12 - first)
    assert judged.verdict.suspicions[0].reason == "its updates add up to more than their noise can"


def test_two_who_send_the_same_are_found_by_their_product() -> None:
    """One vector of an ordinary length from two members, round after round: both go, nobody else."""
    rng, state = np.random.default_rng(5), GuardState()
    same = np.eye(56)[1] * 2.0
    for _ in range(10):
        updates = FORMER.deviation * rng.normal(size=(10, 56))
        updates[[2, 5]] = same
        judged = judge_known(FORMER, state, updates)
        state = judged.state
        if judged.verdict.alert:
            break
    assert judged.verdict.left_out == (2, 5)
    assert judged.verdict.suspicions[0].reason == "its updates agree with another member's beyond chance"


def test_a_huge_update_makes_nobody_else_look_suspicious() -> None:
    """A vector a thousand times too long has large products with honest ones; it alone is left out."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        updates = PRESENT.deviation * rng.normal(size=(20, 10))
        updates[19] = 1e4 * rng.normal(size=10)
        assert judge_known(PRESENT, GuardState(), updates).verdict.left_out == (19,)


def test_nobody_counts_for_more_than_the_longest_honest_sum() -> None:
    """A push below every bound: after t rounds the counted sum is sqrt((C t)^2 + sigma^2 t d)."""
    state, d = GuardState(), 10
    updates = np.zeros((3, d))
    updates[0, 0] = 4.0
    for t in range(1, 5):
        judged = judge_known(PRESENT, state, updates)
        state = judged.state
        assert judged.verdict.left_out == ()
        assert state.sums is not None
        assert state.sums.counted[0, 0] == pytest.approx(0.8 * sqrt(t * t + t * d))
        assert state.sums.sent[0, 0] == 4.0 * t


def test_left_out_updates_do_not_count_later() -> None:
    """What was left out is remembered as sent and not as counted; the joined update is the others' mean."""
    updates = np.zeros((4, 3))
    updates[0], updates[1] = [100.0, 0, 0], [0.1, 0.2, 0.3]
    delta, state, verdict = join_known(PRESENT, Mean(), GuardState(), updates, np.ones(4))
    assert verdict.left_out == (0,)
    np.testing.assert_allclose(delta, [0.1 / 3, 0.2 / 3, 0.3 / 3])
    assert state.sums is not None
    np.testing.assert_array_equal(state.sums.sent[0], [100.0, 0, 0])
    np.testing.assert_array_equal(state.sums.counted[0], [0, 0, 0])
    nobody, _, _ = join_known(PRESENT, Mean(), GuardState(), updates[:1], np.ones(1))
    assert nobody.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_give_what_the_whole_table_gives(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest inner product of each member, in blocks of any size, is that of the whole table."""
    rng, n, d = np.random.default_rng(6), 64, 10
    sums = replace(of(1, 3 * rng.normal(size=(n, d))), n_rounds=rng.integers(1, 5, n))
    monkeypatch.setattr(rows, "BLOCK", block)
    nats = known_noise.nats_of(n * (n - 1), 3)
    expected = []
    for i in range(n):
        ratios = []
        for j in range(n):
            ti, tj = int(sums.n_rounds[i]), int(sums.n_rounds[j])
            fixed = float(np.linalg.norm(sums.sent[j])) * (0.8 * ti + 0.8 * sqrt(2 * ti * nats))
            allowed = max(fixed, 0.64 * sqrt(ti * tj) * largest_product(d, float(ti), float(tj), nats))
            ratios.append(float(sums.sent[i] @ sums.sent[j]) / allowed if i != j else 0.0)
        expected.append(max(ratios))
    np.testing.assert_allclose(products(PRESENT, sums, 3), expected, rtol=1e-9)


def test_what_does_not_fit_is_refused() -> None:
    """Noise without a size, rows that are not the members that are remembered, numbers that are not finite."""
    for clip, deviation in ((0.0, 1.0), (1.0, -1.0), (1.0, float("inf"))):
        with pytest.raises(ValueRangeError, match="must be positive"):
            KnownNoise(clip=clip, deviation=deviation)
    with pytest.raises(ShapeError, match="remembers"):
        judge_known(PRESENT, GuardState(sums=of(1, np.zeros((3, 2)))), np.zeros((4, 2)))
    with pytest.raises(ValueRangeError, match="finite"):
        judge_known(PRESENT, GuardState(), np.array([[np.nan, 0.0]]))
