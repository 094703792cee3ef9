"""Closing a round: what the next ranker is, and that it is made exactly once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from msgspec.structs import replace
from sqlalchemy import Engine, select

from federation_server.database import reading, writing
from federation_server.group import enrolment, group
from federation_server.rounds import closing, rounds
from federation_server.rounds.closing import Closed, close_due
from federation_server.rounds.intake import agreement
from federation_server.tables import models
from federation_server.tables import rounds as rounds_table
from foltr.federated.aggregation.krum import Krum
from foltr.federated.joining import Joining
from foltr.federated.optimizers import SGD, Adagrad, Adam, Momentum, Optimizer
from tests.federation_server.groups import (
    NOW,
    OPEN,
    POLICY,
    SCHEDULE,
    START,
    VAULT,
    device,
    make_group,
    send,
    theta,
)


def close(engine: Engine, *, now: int = NOW, **changes: object) -> Closed | None:
    with writing(engine) as connection:
        return close_due(connection, VAULT, replace(POLICY, **changes), now=now)  # type: ignore[arg-type]


def test_the_next_ranker_is_the_weighted_mean(engine: Engine) -> None:
    """theta = (1 * a + 3 * b + 50 * c) / 54: counts weigh, capped at 50 (Eq. 3.16)."""
    make_group(engine, settings=OPEN, n_members=3)
    a, b, c = START + np.array([1, 0, 0]), START + np.array([0, 1, 0]), START + np.array([0, 0, 1])
    for number, (sent, count) in enumerate([(a, 1), (b, 3), (c, 1000)]):
        send(engine, number, sent, count=count)
    closed = close(engine)
    assert closed is not None
    assert (closed.round, closed.n_updates, closed.rule) == (1, 3, "mean")
    np.testing.assert_allclose(theta(engine), (1 * a + 3 * b + 50 * c) / 54, rtol=1e-15)


def test_private_updates_weigh_alike(engine: Engine) -> None:
    """With a mechanism the count is neither sent nor used: theta = (a + b + c) / 3."""
    make_group(engine, n_members=3)
    sent = [START + np.array([1, 0, 0]), START + np.array([0, 1, 0]), START + np.array([0, 0, 1])]
    for number in range(3):
        send(engine, number, sent[number], count=10 * number + 1)
    close(engine)
    np.testing.assert_allclose(theta(engine), sum(sent) / 3, rtol=1e-15)


def test_quorum_deadline_and_floor(engine: Engine) -> None:
    """Below the quorum a round waits for its deadline; below the floor it goes on after it, and keeps what it has."""
    make_group(engine, floor=2, n_members=3)
    assert close(engine) is None
    send(engine, 0, START + 0.1)
    assert close(engine, now=NOW + SCHEDULE.seconds) is None
    with reading(engine) as connection:
        here = rounds.present(connection)
    assert here is not None
    assert (here.number, here.n_updates, here.deadline) == (1, 1, NOW + 2 * SCHEDULE.seconds)
    send(engine, 1, START + 0.2)
    assert close(engine, now=here.deadline - 1) is None
    closed = close(engine, now=here.deadline)
    assert closed is not None
    assert closed.n_updates == 2


def test_a_closed_round_has_no_key(engine: Engine) -> None:
    """The private key is gone from the row, the next round has another key and begins from the new model."""
    make_group(engine, n_members=3)
    for number in range(3):
        send(engine, number, START + 0.1 * number)
    close(engine)
    with reading(engine) as connection:
        first, second = connection.execute(select(rounds_table).order_by(rounds_table.c.round)).all()
        newest = group.newest(connection)
    assert (first.state, first.private_key) == ("closed", None)
    assert (second.state, second.round, second.model_hash) == ("open", 2, newest.hash)
    assert first.public_key != second.public_key


def test_servers_that_race_close_once(engine: Engine) -> None:
    """Eight threads that close at the same time make one model and open one round."""
    make_group(engine, n_members=3)
    for number in range(3):
        send(engine, number, START + 0.1 * number)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: close(engine), range(8)))
    assert sum(result is not None for result in results) == 1
    with reading(engine) as connection:
        assert connection.execute(select(models.c.round).order_by(models.c.round)).scalars().all() == [0, 1]
        states = connection.execute(select(rounds_table.c.state).order_by(rounds_table.c.round)).scalars().all()
    assert states == ["closed", "open"]


def test_a_failure_while_closing_leaves_the_round_as_it_was(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """When anything fails after the aggregation nothing is published; the next attempt succeeds."""
    make_group(engine, n_members=3)
    for number in range(3):
        send(engine, number, START + 0.1)

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(closing, "note_participation", fail)
        with pytest.raises(OSError, match="disk full"):
            close(engine)
    np.testing.assert_array_equal(theta(engine), START)
    assert close(engine) is not None
    np.testing.assert_allclose(theta(engine), START + 0.1)


def test_the_optimiser_remembers_between_rounds(engine: Engine) -> None:
    """Momentum .5: two rounds of the same difference d move theta by d and then by 1.5 d."""
    make_group(engine, settings=OPEN, n_members=1)
    quick = replace(SCHEDULE, quorum=1)
    for _ in range(2):
        send(engine, 0, theta(engine) + np.array([1.0, 0.0, 0.0]))
        close(engine, schedule=quick, joining=Joining(optimizer=Momentum(momentum=0.5)))
    np.testing.assert_allclose(theta(engine), START + np.array([1.0 + 1.5, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("former", "present"), [(Adam(), SGD()), (Momentum(), Adagrad()), (Adam(), Adam(bias_correction=True))]
)
def test_another_optimiser_begins_without_what_the_former_remembers(
    engine: Engine, former: Optimizer, present: Optimizer
) -> None:
    """An operator who changes aggregation.optimizer gets the first step of the new one in the next round."""
    make_group(engine, settings=OPEN, n_members=1)
    quick, moved = replace(SCHEDULE, quorum=1), np.array([-0.1, 0.1, 0.0])
    for optimizer in (former, present):
        before = theta(engine)
        send(engine, 0, before + moved)
        close(engine, schedule=quick, joining=Joining(optimizer=optimizer))
    np.testing.assert_allclose(theta(engine), present.step(before, moved, ())[0], rtol=1e-12)


def test_a_round_too_small_for_its_rule_is_averaged(engine: Engine) -> None:
    """Krum against one attacker wants five updates; three are averaged, and the round says so."""
    make_group(engine, settings=OPEN, n_members=3)
    for number, moved in enumerate([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [6.0, 3.0, 0.0]]):
        send(engine, number, START + moved)
    closed = close(engine, joining=Joining(rule=Krum(n_malicious=1), guard=True))
    assert closed is not None
    assert closed.rule == "mean"
    np.testing.assert_allclose(theta(engine) - START, [3.0, 1.0, 0.0], atol=1e-15)


def test_the_guard_takes_over(engine: Engine) -> None:
    """Nine honest updates and one far longer against them: the next ranker stays near the honest mean."""
    make_group(engine, settings=OPEN, n_members=10)
    rng = np.random.default_rng(1)
    honest = START + np.array([0.3, 0.1, -0.2]) + 0.02 * rng.standard_normal((9, 3))
    for number in range(9):
        send(engine, number, honest[number])
    send(engine, 9, START - np.array([30.0, 10.0, -20.0]))
    closed = close(engine, schedule=replace(SCHEDULE, quorum=10))
    assert closed is not None
    assert closed.verdict == "alert"
    assert closed.rule == "guard"
    assert np.linalg.norm(theta(engine) - honest.mean(axis=0)) < 0.05


def test_participation_is_noted(engine: Engine) -> None:
    """A member's first and last round are those in which its update was counted."""
    make_group(engine, settings=OPEN, n_members=2)
    quick = replace(SCHEDULE, quorum=1)
    for number in (0, 1, 0):
        send(engine, number, theta(engine) + 0.1)
        close(engine, schedule=quick)
    with reading(engine) as connection:
        first, second = (enrolment.member(connection, device(number)) for number in (0, 1))
    assert first is not None
    assert second is not None
    assert (first.first_round, first.last_round) == (1, 3)
    assert (second.first_round, second.last_round) == (2, 2)


def test_agreement_has_two_ends() -> None:
    """Updates that point the same way agree by 1, opposite ones by 0; length does not count, and 0 is no direction."""
    assert agreement(np.array([[1.0, 0.0], [5.0, 0.0]])) == pytest.approx(1.0)
    assert agreement(np.array([[1.0, 0.0], [-5.0, 0.0]])) == pytest.approx(0.0)
    assert agreement(np.array([[1.0, 0.0], [0.0, 0.0]])) == pytest.approx(0.5)
