"""The past of a federation, and what is kept of it."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from simulation.attacks.backwards import Opposed
from simulation.batched.fpdgd_rounds import reported_thetas, run_round
from simulation.rounds.streams import make_streams
from simulation.unlearning.federaser import FedEraser, Reaggregation
from simulation.unlearning.past import only_last, without_last
from tests.simulation.unlearning.lived_past import HONEST, METHOD, N_ROUNDS, POISONED, lived


def test_the_poisoned_ranker_by_hand() -> None:
    """Round after round: honest thetas by the kernel, the last exchanged for -2 times itself, the plain mean."""
    past = lived(Reaggregation())
    streams = make_streams(3, 4)
    model = METHOD.initial(streams.model)
    for kept in past.kept:
        assert np.array_equal(kept.model.theta, model.theta)
        thetas, _ = reported_thetas(METHOD, model, HONEST, streams)
        start = model.theta
        thetas[3] = start + (-2.0 * (thetas[3] - start) - 3.0 * start)  # thesis Eq. 6.4
        np.testing.assert_allclose(kept.thetas, thetas, rtol=1e-12)
        model = METHOD.joined(model, thetas, np.full(4, 5.0)).model
    np.testing.assert_allclose(past.now.model.theta, model.theta, rtol=1e-12)


def test_an_attacker_with_z_of_minus_one_is_honest() -> None:
    """9H-1M whose tenth is honest is 10H-0M, to the last bits of the sums."""
    way = FedEraser()
    found = lived(way, replace(HONEST, attack=Opposed(z=-1.0), n_malicious=1)).now.model.theta
    np.testing.assert_allclose(found, lived(way, HONEST).now.model.theta, rtol=1e-12)


def test_rounds_are_kept_from_the_first_of_the_leavers_on() -> None:
    """7 rounds, delta_t 3: 1, 4, 7; whoever joined in round 3: 3, 6."""
    assert list(FedEraser(every=3).kept(range(1, 8))) == [1, 4, 7]
    assert [kept.model.round + 1 for kept in lived(FedEraser(every=3), joined=3).kept] == [3, 6]


def test_before_they_joined_the_others_learned_alone() -> None:
    """Two rounds without the leaver are those of a federation of three; its user has not been asked anything."""
    past = lived(Reaggregation(), joined=3)
    streams, three = make_streams(3, 4), without_last(POISONED, 1)
    model = METHOD.initial(streams.model)
    for _ in range(2):
        model, _ = run_round(METHOD, model, three, streams)
    assert np.array_equal(past.before.model.theta, model.theta)
    assert np.array_equal(past.before.streams.users, streams.users)
    assert np.array_equal(streams.users[3], make_streams(3, 4).users[3])
    assert len(past.together) == N_ROUNDS - 2


def test_the_last_alone_are_the_same_clients() -> None:
    """What they report and where their streams end is what they would among all, if they were honest."""
    streams, apart = make_streams(5, 4), make_streams(5, 4)
    held = replace(HONEST, holds=np.array([[0, 3], [3, 6], [6, 9], [9, 20]]))
    model = METHOD.initial(np.random.default_rng(0))
    thetas, _ = reported_thetas(METHOD, model, held, streams)
    last, theirs = only_last(replace(held, attack=Opposed(), n_malicious=2), apart, 2)
    alone, _ = reported_thetas(METHOD, model, last, theirs)
    assert np.array_equal(alone, thetas[2:])
    assert np.array_equal(apart.users[2:], streams.users[2:])


def test_malicious_ones_beyond_the_leavers_stay() -> None:
    """Of three malicious clients two leave: one attacks on."""
    three = replace(HONEST, attack=Opposed(), n_malicious=3)
    assert without_last(three, 2).n_malicious == 1
    assert without_last(three, 3, n_local=2).n_malicious == 0
    assert without_last(three, 3, n_local=2).local.tolist() == [2]
