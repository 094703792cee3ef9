"""Unlearning by gradient ascent."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.federated.method import Model
from foltr.online import pdgd
from foltr.ranking.interaction import Interaction
from simulation.batched.fpdgd_rounds import reported_thetas
from simulation.rounds import federation
from simulation.rounds.streams import make_streams
from simulation.unlearning.ascent import AscendingFPDGD, GradientAscent
from simulation.unlearning.past import KeptRound, fields_of, only_last, recorded, without_last
from tests.simulation.unlearning.lived_past import METHOD, POISONED, TRAIN, lived

PAGE = Interaction(np.eye(TRAIN.n_features)[:3], np.arange(3), np.array([False, True, False]))


def test_a_step_is_the_opposite_of_learning() -> None:
    """One page up and the same page down from there would meet where the gradient is the same: theta - eta g."""
    method = AscendingFPDGD(**fields_of(METHOD))
    theta = np.linspace(0.0, 1.0, TRAIN.n_features)
    rng = np.random.default_rng(0)
    up = METHOD.learn(METHOD.begin(Model(theta), rng), PAGE)
    down = method.learn(method.begin(Model(theta), rng), PAGE)
    np.testing.assert_allclose(up.theta - theta, theta - down.theta, rtol=1e-12)
    np.testing.assert_allclose(up.theta - theta, 0.1 * pdgd.gradient(METHOD.ranker, theta, PAGE))
    assert (up.theta != theta).any()


def test_ascent_stays_in_the_ball() -> None:
    """A step out of it ends on its surface, in the direction of the step."""
    centre = np.zeros(TRAIN.n_features)
    free, bound = (AscendingFPDGD(**fields_of(METHOD), centre=centre, radius=r) for r in (np.inf, 1e-3))
    far, near = (one.learn(one.begin(Model(centre), np.random.default_rng(0)), PAGE).theta for one in (free, bound))
    assert np.linalg.norm(near) == pytest.approx(1e-3)
    np.testing.assert_allclose(near / np.linalg.norm(near), far / np.linalg.norm(far))


def test_the_leavers_begin_at_the_mean_of_the_others() -> None:
    """Without room to ascend, PGA is fine-tuning from the mean of what the others sent last."""
    way = GradientAscent(radius=1e-9, more=1)
    past = lived(way)
    steps = list(way.forget(past))
    np.testing.assert_allclose(steps[0].model.theta, past.kept[-1].thetas[:3].mean(axis=0), atol=1e-6)
    room = next(iter(GradientAscent(more=1).forget(past))).model.theta
    assert 0 < np.linalg.norm(room - steps[0].model.theta) <= np.linalg.norm(steps[0].model.theta)


def test_the_published_variant_turns_the_leavers_steps() -> None:
    """A round by hand: three learn, the fourth ascends from the same ranker, and all four are averaged."""
    way = GradientAscent(at_once=True, more=1)
    past = lived(way)
    begin, streams, again = past.now.model, make_streams(3, 4), make_streams(3, 4)
    streams.users[:] = again.users[:] = past.now.streams.users
    learned, _ = reported_thetas(METHOD, begin, without_last(POISONED, 1), streams)
    leaver, theirs = only_last(POISONED, again, 1)
    record: list[KeptRound] = []
    federation.run_round(recorded(AscendingFPDGD(**fields_of(METHOD)), record), begin, leaver, theirs)
    turned = [kept.thetas[0] for kept in record]
    steps = list(way.forget(past))
    np.testing.assert_allclose(steps[1].model.theta, np.array([*learned, *turned]).mean(axis=0), rtol=1e-12)
