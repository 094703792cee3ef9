from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.trimmed_mean import Median
from foltr.federated.fpdgd import FPDGD
from foltr.federated.guard import inspect
from foltr.federated.joining import Joining
from foltr.federated.joining import join as foltr_join
from foltr.federated.known_noise import KnownNoise
from foltr.federated.method import Model
from foltr.federated.verdict import GuardState, RunningSums
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.attacks.fang_krum import FangKrum
from simulation.attacks.fang_trimmed import FangTrimmed
from simulation.attacks.lie import LittleIsEnough
from simulation.attacks.opposed import Opposed
from simulation.attacks.settings import AttackSettings
from simulation.batched.fpdgd import play
from simulation.batched.guard import DRIFT, SLANT, TURNED, join_watched, remembered, watch_of
from simulation.batched.rules import MOST_ROWS, rule_of
from simulation.click_models import make_users
from simulation.data.queries import QuerySet
from simulation.federation import Population, repeated, run_round
from simulation.sightings import Sightings
from simulation.streams import make_streams


def random_round(rng: np.random.Generator, n_clients: int, n_sent: int, n_malicious: int) -> np.ndarray:
    """Updates of one direction, the last ones near each other, somewhere; now and then one that is 0."""
    updates = rng.normal(size=(n_clients, n_sent)) + rng.normal(size=n_sent)
    if n_malicious:
        shift, apart = rng.choice([-1.5, 0.0, 3.0]), rng.choice([0.0, 1e-3, 0.1, 1.0])
        updates[-n_malicious:] = updates[:-n_malicious].mean(axis=0) + shift
        updates[-n_malicious:] += apart * rng.normal(size=(n_malicious, n_sent))
    if rng.random() < 0.3:
        updates[rng.integers(n_clients)] = 0.0
    return updates


def random_account(rng: np.random.Generator, n_clients: int, n_sent: int) -> RunningSums:
    """Of members who took part in 0 to 40 rounds; the last fifth want something of their own, or not."""
    n_rounds = rng.integers(0, 41, n_clients)
    wants = np.zeros((n_clients, n_sent))
    wants[-(n_clients // 5) :] = rng.choice([0.0, 2.0]) * rng.normal(size=n_sent)
    sent = n_rounds[:, None] * wants + np.sqrt(n_rounds)[:, None] * rng.normal(size=(n_clients, n_sent))
    return RunningSums(n_rounds, sent, np.zeros((n_clients, n_sent)))


def assert_same_memory(found: GuardState, expected: GuardState) -> None:
    """Alarm and calm rounds to the bit, the account but for the order of adding."""
    assert replace(found, sums=None) == replace(expected, sums=None)
    assert (found.sums is None) == (expected.sums is None)
    if found.sums and expected.sums:
        assert found.sums.n_rounds.tolist() == expected.sums.n_rounds.tolist()
        scale = np.abs(expected.sums.sent).max()
        np.testing.assert_allclose(found.sums.sent, expected.sums.sent, rtol=1e-7, atol=1e-8 * scale)


@pytest.mark.parametrize("rule", [Mean(), Median()])
def test_evidence_memory_and_join_are_those_of_the_learning_core(rule: Aggregation) -> None:
    """300 rounds of 5 to 30 clients with 2 to 50 weights, calm or alert before, some of them attacked."""
    rng = np.random.default_rng(0)
    joining, alerts, left_out = Joining(rule=rule, guard=True), 0, 0
    for _ in range(300):
        n_clients, n_sent = int(rng.integers(5, 31)), int(rng.integers(2, 51))
        n_malicious = int(rng.integers(0, n_clients // 5 + 3))
        updates, theta = random_round(rng, n_clients, n_sent, n_malicious), rng.normal(size=n_sent)
        account = random_account(rng, n_clients, n_sent) if rng.random() < 0.5 else None
        state = GuardState(bool(rng.random() < 0.3), int(rng.integers(5)), sums=account)
        counts = rng.integers(1, 9, n_clients)
        thetas = theta + updates
        expected = foltr_join(joining, Model(theta, guard=state), thetas, counts.astype(np.float64))
        watch = watch_of(joining, state, n_clients, n_malicious, np.arange(n_sent))
        found = rule_of(joining, counts / counts.sum())
        assert watch is not None
        suspects = {suspicion.client for suspicion in expected.verdict.suspicions}
        out, evidence = list(expected.verdict.left_out), np.zeros((5, n_clients))
        kept = np.setdiff1d(np.arange(n_clients), out)
        evidence[:, kept] = list(inspect((thetas - theta)[kept], n_clients // 5).values())
        assert join_watched(watch, found, theta, thetas)
        np.testing.assert_allclose(theta, expected.model.theta, rtol=1e-9, atol=1e-12)
        assert_same_memory(remembered(watch, state, np.arange(n_sent)), expected.model.guard)
        assert np.flatnonzero(watch.evidence[DRIFT] >= 1).tolist() == out
        malicious = sum(client >= n_clients - n_malicious for client in suspects)
        assert watch.seen.tolist() == [1, expected.verdict.alert, malicious, len(suspects) - malicious]
        watch.evidence[SLANT] = np.maximum(watch.evidence[SLANT], watch.evidence[TURNED])
        np.testing.assert_allclose(watch.evidence[:TURNED], evidence, rtol=1e-6, atol=1e-7)
        alerts += expected.verdict.alert
        left_out += len(out)
    assert 50 < alerts < 280
    assert left_out > 50


@pytest.mark.parametrize(
    ("ranker", "attack"),
    [
        (Linear(9), LittleIsEnough(z=1.5)),
        (Linear(9), FangKrum()),
        (Linear(9), FangTrimmed()),
        (Neural(9, 4), LittleIsEnough(z=1.5)),
        (Neural(9, 4), Opposed(z=2.0)),
    ],
)
def test_guarded_rounds_are_those_of_the_four_verbs(ranker: Ranker, attack: AttackSettings) -> None:
    """Eight rounds of ten clients, three of them malicious, in one call and by the four verbs: theta and sightings."""
    rng = np.random.default_rng(0)
    grades = rng.choice(3, p=[0.6, 0.2, 0.2], size=300).astype(np.int8)
    data = QuerySet(rng.random((300, 9)), grades, np.arange(0, 301, 15), tuple(map(str, range(20))))
    method, ends = FPDGD(ranker, guard=True), []
    account = RunningSums.none(10, ranker.n_params)
    for rounds in (play, repeated(run_round)):
        users, streams, sightings = make_users("informational", top_grade=2), make_streams(5, 10), Sightings(10, 3)
        population = Population(data, users, 10, 6, attack=attack, n_malicious=3, sightings=sightings)
        model = replace(method.initial(streams.model), guard=GuardState(sums=account))
        model, _ = rounds(method, model, population, streams, 8)
        ends.append((model.theta, model.guard, sightings.since_last_row()))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-7, atol=1e-8 * np.abs(ends[1][0]).max())
    assert_same_memory(ends[0][1], ends[1][1])
    assert ends[0][2] == ends[1][2]


def test_a_number_that_is_not_usable_leaves_everything_as_it_was() -> None:
    """False; theta, memory and counts stay."""
    joining, theta, thetas = Joining(guard=True), np.zeros(2), np.ones((5, 2))
    thetas[3, 1] = np.inf
    watch = watch_of(joining, GuardState(alert=True, calm=2), 5, 1, np.arange(2))
    assert watch is not None
    assert not join_watched(watch, rule_of(joining, np.full(5, 0.2)), theta, thetas)
    assert (theta.tolist(), watch.memory.tolist(), watch.seen.tolist()) == ([0, 0], [1, 2], [0, 0, 0, 0])


def test_what_the_learning_core_must_judge_itself() -> None:
    """No guard, known noise, fewer updates than can be judged, and very many: no compiled guard."""
    calm, three = GuardState(), np.arange(3)
    assert watch_of(Joining(), calm, 10, 2, three) is None
    assert watch_of(Joining(guard=True, noise=KnownNoise(clip=1.0, deviation=1.0)), calm, 10, 2, three) is None
    assert watch_of(Joining(guard=True), calm, 4, 1, three) is None
    assert watch_of(Joining(guard=True, assumed_malicious=4), calm, 10, 2, three) is None
    assert watch_of(Joining(guard=True), calm, MOST_ROWS + 1, 2, three) is None
    assert watch_of(Joining(guard=True), GuardState(sums=RunningSums.none(9, 3)), 10, 2, three) is None
