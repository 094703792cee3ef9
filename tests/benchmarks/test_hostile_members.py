"""Attacks on a group under its noise: each sends what its source says, and the one that knows the bounds keeps them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.hostile_members import (
    Attack,
    AttackedGroup,
    AttackOutcome,
    Scene,
    fang,
    inner,
    knowing,
    little,
    longest,
    run,
    steady,
)
from foltr.federated.fpdgd import FPDGD
from foltr.federated.known_noise import KnownNoise
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear
from simulation.rounds.click_models import make_users

NOISE = KnownNoise(clip=0.1, deviation=0.4)
THREE = np.array([[1.0, 2.0, -3.0], [4.0, 5.0, -6.0], [7.0, 8.0, -9.0]])
TARGET = np.array([0.0, 1.0, 0.0])


def scene(honest: np.ndarray = THREE, n_malicious: int = 2) -> Scene:
    return Scene(NOISE, 5.0, honest, TARGET, 1, n_malicious, np.random.default_rng(0))


def test_attacks_by_hand() -> None:
    """Mean (4, 5, -6), std 3: LIE with z 1 sends (1, 2, -9), inner product with tau 2 (-8, -10, 12), both twice."""
    assert little(1.0, own_noise=False)(scene()).tolist() == [[1.0, 2.0, -9.0]] * 2
    assert inner(2.0)(scene()).tolist() == [[-8.0, -10.0, 12.0]] * 2
    assert longest(scene()) == pytest.approx(np.array([[0.0, 0.999 * 5.0, 0.0]] * 2))


def test_fang_stands_beyond_the_others_against_their_sign() -> None:
    """Below the smallest, 1 and 2, down to its half; above the largest of the negative ones, -3, up to its half."""
    sent = fang(scene(n_malicious=200))
    low, high = np.array([0.5, 1.0, -3.0]), np.array([1.0, 2.0, -1.5])
    assert (sent >= low).all()
    assert (sent <= high).all()
    assert np.ptp(sent, axis=0) == pytest.approx(high - low, rel=0.1)


def test_a_steady_push_has_an_honest_length() -> None:
    """sqrt(C^2 + d sigma^2) long, seven tenths of it along the target, by different ways."""
    sent = steady(0.7)(scene())
    assert np.linalg.norm(sent, axis=1) == pytest.approx([(0.01 + 3 * 0.16) ** 0.5] * 2)
    assert sent @ TARGET == pytest.approx([0.7 * (0.01 + 3 * 0.16) ** 0.5] * 2)
    assert not np.allclose(sent[0], sent[1])


def outcome(attack: Attack | None, n_rounds: int = 20) -> AttackOutcome:
    method = FPDGD(Linear(10), weighting="equal", guard=True, privacy=Gaussian(clip=0.1, noise_multiplier=4.0))
    group = AttackedGroup(method, NOISE, 10, 2, n_rounds, 0)
    users = make_users("perfect", top_grade=1)
    return run(group, attack, np.zeros(10), np.eye(10)[0], [], users, 1)


def test_who_knows_the_bounds_is_never_found_and_moves_no_more_than_its_share() -> None:
    """Two of ten: no alarm, and along the target a fifth of the ball's radius, give or take the others' noise."""
    found = outcome(knowing)
    assert (found.alarms, found.found, found.wronged) == (0, 0, 0)
    radius = np.hypot(0.1 * 20, 0.4 * (20 * 10) ** 0.5)
    noise = 0.4 * (20 * 8) ** 0.5 / 10
    assert abs(found.theta[0] - 0.2 * 0.999 * radius) < 5 * noise


def test_who_does_not_is_found_alone() -> None:
    """The longest update and a steady push: both attackers are left out, none of the others."""
    for attack in (longest, steady(0.9)):
        found = outcome(attack)
        assert (found.found, found.wronged) == (2, 0)
        assert 0 < found.alarms <= 20
    assert (outcome(None).alarms, outcome(None).wronged) == (0, 0)
