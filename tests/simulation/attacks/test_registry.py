"""Every attack by name: both paths of a round know it, and without malicious clients it changes nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.ranking.rankers import Linear, Neural
from simulation.attacks import AttackedRound, AttackSettings
from simulation.attacks.fang import FangKrum, FangTrimmed
from simulation.attacks.lie import LittleIsEnough
from simulation.attacks.registry import ATTACKS
from simulation.batched import fpdgd_rounds
from simulation.data.datasets import load_fold
from simulation.rounds import federation
from simulation.rounds.click_models import last_ones, make_users
from simulation.rounds.federation import Population, Round
from simulation.rounds.streams import make_streams

ALL: tuple[AttackSettings, ...] = (
    *(kind() for kind in ATTACKS.values()),
    LittleIsEnough(z="share", ddof=1),
    LittleIsEnough(z=1.5),
    FangKrum(knowledge="partial"),
    FangKrum(distance="squared"),
    FangTrimmed(knowledge="partial"),
    FangTrimmed(knowledge="own-extremes"),
)
SAMPLE = load_fold("sample", 1, root=None).train
SAMPLE_64 = replace(SAMPLE, features=SAMPLE.features.astype(np.float64))
"""so that both paths score alike to the last digits"""


def population(attack: AttackSettings | None, n_malicious: int, n_clients: int = 10) -> Population:
    users = make_users("navigational", top_grade=2)
    if attack is not None and attack.clicks:
        poison = make_users(attack.clicks, top_grade=2)
        users = last_ones(users, poison, n_malicious, n_clients=n_clients)
    return Population(SAMPLE_64, users, n_clients, 5, attack=attack, n_malicious=n_malicious)


def theta_after(run: Round, method: FPDGD, whom: Population, n_rounds: int = 4) -> Model:
    streams = make_streams(5, whom.n_clients)
    model = method.initial(streams.model)
    for _ in range(n_rounds):
        model, _ = run(method, model, whom, streams)
    return model


@cache
def honest(run: Round, method: FPDGD) -> FloatVector:
    """What the rounds come to without attackers, run once for all attacks."""
    return theta_after(run, method, population(None, 0)).theta


@pytest.mark.parametrize("attack", ALL, ids=repr)
def test_the_compiled_rounds_are_attacked_as_the_four_verbs_are(attack: AttackSettings) -> None:
    """The same streams end at the same theta, for the rule that each attack is made for."""
    rule: Aggregation = TrimmedMean(n_malicious=3)
    if isinstance(attack, FangKrum):
        rule = Krum(n_malicious=3, strict=False, distance=attack.distance)
    method = FPDGD(Linear(SAMPLE.n_features), aggregation=rule, zero_start=True)
    whom = population(attack, 3)
    twin = theta_after(federation.run_round, method, whom).theta
    np.testing.assert_allclose(theta_after(fpdgd_rounds.run_round, method, whom).theta, twin, rtol=1e-9, atol=1e-12)
    assert not np.array_equal(twin, honest(federation.run_round, method))


@pytest.mark.parametrize("attack", [kind() for kind in ATTACKS.values()], ids=repr)
def test_without_malicious_clients_there_is_no_attack(attack: AttackSettings) -> None:
    """m = 0 is honest, bit by bit, on both paths."""
    method = FPDGD(Linear(SAMPLE.n_features))
    for run in (federation.run_round, fpdgd_rounds.run_round):
        assert theta_after(run, method, population(attack, 0)).theta.tolist() == honest(run, method).tolist()


@pytest.mark.parametrize(
    ("attack", "rule"), [(LittleIsEnough(z=1.5), Median()), (FangKrum(), MultiKrum(n_malicious=2))], ids=repr
)
def test_a_neural_ranker_is_attacked_alike(attack: AttackSettings, rule: Aggregation) -> None:
    """What is sent is a vector, whoever ranks by it."""
    method = FPDGD(Neural(SAMPLE.n_features, n_hidden=4), aggregation=rule)
    whom = population(attack, 2)
    twin = theta_after(federation.run_round, method, whom, 2).theta
    np.testing.assert_allclose(theta_after(fpdgd_rounds.run_round, method, whom, 2).theta, twin, rtol=1e-7, atol=1e-10)


def test_what_the_honest_send_is_not_touched() -> None:
    """Every attack leaves the first clients' weights and sends as many rows as there are malicious clients."""
    reported = np.random.default_rng(0).normal(size=(10, SAMPLE.n_features))
    method, streams = FPDGD(Linear(SAMPLE.n_features)), make_streams(0, 10)
    for attack in ALL:
        whom = population(attack, 3)
        sent = federation.attacked_thetas(method, Model(np.zeros(SAMPLE.n_features)), reported, whom, streams)
        assert sent.shape == reported.shape
        assert np.array_equal(sent[:7], reported[:7])
        assert np.array_equal(sent, reported) == bool(attack.clicks)


class Short(AttackSettings, frozen=True, tag="short"):
    """Sends three weights, as a stranger's attack may by mistake."""

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """[n_malicious, 3]"""
        return np.zeros((scene.n_malicious, 3))


def test_what_does_not_fit_is_named() -> None:
    """Before it meets the others' weights, with what was wanted and what came."""
    method = FPDGD(Linear(SAMPLE.n_features))
    for run in (federation.run_round, fpdgd_rounds.run_round):
        with pytest.raises(ShapeError, match=r"an attack sends \[2, 46\] weights, \[2, 3\] came"):
            theta_after(run, method, population(Short(), 2))
