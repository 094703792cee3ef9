"""FedEraser in the laboratory."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foltr.federated.method import Model
from simulation.batched.fpdgd_rounds import reported_thetas
from simulation.rounds.streams import make_streams
from simulation.unlearning.federaser import Calibration, FedEraser
from simulation.unlearning.past import without_last
from tests.simulation.unlearning.lived_past import METHOD, N_ROUNDS, POISONED, TRAIN, lived


def server(lengths: list[float]) -> Calibration:
    return Calibration(METHOD, np.array(lengths))


def sent(*updates: tuple[float, float]) -> np.ndarray:
    """Rankers whose first two weights moved from 1 by so much."""
    thetas = np.ones((len(updates), TRAIN.n_features))
    thetas[:, :2] += np.array(updates)
    return thetas


def test_a_step_by_hand() -> None:
    """(3, 4) at length 10 is (6, 8), (0, 2) at length 1 is (0, 1); their mean is (3, 4.5); stretched 11 / 7 times."""
    calibrating = server([10.0, 1.0])
    joined = calibrating.joined(Model(np.ones(TRAIN.n_features)), sent((3, 4), (0, 2)), np.array([5.0, 5.0]))
    assert joined.model.theta[:3].tolist() == [1 + 6 / 2, 1 + (8 + 1) / 2, 1]
    assert calibrating.stretch == [11 / 7]


def test_a_step_at_the_length_of_the_mean() -> None:
    """The mean of (3, 4) and (3, 0) is (3, 2); at length 1 it is that over sqrt(13)."""
    joined = server([1.0]).joined(Model(np.ones(TRAIN.n_features)), sent((3, 4), (3, 0)), np.array([5.0, 5.0]))
    assert joined.model.theta[:2] == pytest.approx([1 + 3 / math.sqrt(13), 1 + 2 / math.sqrt(13)])


def test_who_did_not_move_stays() -> None:
    """An update without a direction is none, whatever its length was."""
    joined = server([2.0, 4.0]).joined(Model(np.ones(TRAIN.n_features)), sent((0, 0), (0, 1)), np.array([5.0, 5.0]))
    assert joined.model.theta[:2].tolist() == [1, 1 + 4 / 2]


def test_the_replay_by_hand() -> None:
    """Rounds 1, 4 and 7 again with two pages each, by the kernel and numpy alone."""
    way = FedEraser(every=3, local=2)
    past = lived(way)
    theta, streams, three = past.before.model.theta, make_streams(103, 4), without_last(POISONED, 1, n_local=2)
    for kept in past.kept:
        fresh = reported_thetas(METHOD, Model(theta), three, streams)[0] - theta
        old = np.linalg.norm(kept.thetas[:3] - kept.model.theta, axis=1)
        now = np.linalg.norm(fresh, axis=1)
        theta = theta + np.mean(fresh * np.where(now > 0, old / np.where(now > 0, now, 1), 0)[:, None], axis=0)
    steps = list(way.forget(past))
    assert len(steps) - 1 == way.rounds(range(1, N_ROUNDS + 1)) == 3
    np.testing.assert_allclose(steps[-1].model.theta, theta, rtol=1e-12)
    assert [shown.interactions for step in steps for shown in step.shown] == [3 * 2] * 3
    assert np.array_equal(list(way.forget(past))[-1].model.theta, steps[-1].model.theta)


def test_the_published_variant_learns_every_round() -> None:
    """Seven rounds of which 1, 4 and 7 are stretched: nothing is saved."""
    way = FedEraser(every=3, local=5, lengths="mean", between=True)
    steps = list(way.forget(lived(way)))
    assert [step.stretch is None for step in steps] == [True, False, True, True, False, True, True, False]
    moved = steps[1].model.theta - steps[0].model.theta
    then = lived(way).kept[0]
    assert np.linalg.norm(moved) == pytest.approx(np.linalg.norm((then.thetas[:3] - then.model.theta).mean(axis=0)))
