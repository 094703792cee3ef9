"""What the guard remembers of members: the same sums as in the laboratory, encrypted, and gone with the member."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from sqlalchemy import Engine, select

from federation_server.database import reading, writing
from federation_server.group import enrolment, group
from federation_server.rounds import closing
from federation_server.rounds.closing import Closed
from federation_server.rounds.intake import read_received
from federation_server.rounds.rounds import Policy
from federation_server.tables import guarded
from foltr.federated.fpdgd import FPDGD, FPDGDMessage
from foltr.federated.guard import GuardState, RunningSums, within_reach
from foltr.federated.joining import Joining
from foltr.federated.method import Model
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear
from tests.federation_server.groups import NOW, OPEN, SCHEDULE, START, VAULT, device, make_group, send

SETTINGS: dict[str, Any] = {
    "privacy": {"mechanism": "gaussian", "clip": 0.1, "noise_multiplier": 4.0},
    "weighting": "equal",
}
GUARDED = Joining(largest_weight=50, guard=True)
N_MEMBERS = 6


@pytest.fixture
def rows() -> list[np.ndarray]:
    """Eight rounds in which the last member pushes one way with ordinary lengths, by the order of pseudonyms."""
    rng = np.random.default_rng(3)
    found = 0.4 * rng.normal(size=(8, N_MEMBERS, 3))
    found[:, -1] = [0.0, 2.5, 0.0]
    return list(found)


def in_order() -> list[int]:
    """The members' numbers by their pseudonyms: the order in which a server adds up."""
    return sorted(range(N_MEMBERS), key=device)


def served(engine: Engine, updates: np.ndarray, *, joining: Joining = GUARDED) -> Closed:
    """One round in which the members send these differences `[n_members, 3]` from the newest model."""
    with reading(engine) as connection:
        theta = group.newest(connection).model.theta
    for number, row in zip(in_order(), updates, strict=True):
        send(engine, number, theta + row)
    with writing(engine) as connection:
        policy = Policy(structs.replace(SCHEDULE, quorum=len(updates)), joining)
        closed = closing.close_due(connection, VAULT, policy, now=NOW)
    assert closed is not None
    return closed


def test_server_and_laboratory_leave_out_the_same(engine: Engine, rows: list[np.ndarray]) -> None:
    """Round by round the same theta bit for bit, and the same alarm; the push is found and stays out."""
    make_group(engine, settings=SETTINGS, n_members=N_MEMBERS)
    privacy = Gaussian(clip=0.1, noise_multiplier=4.0)
    lab, model = FPDGD(Linear(3), privacy=privacy, guard=True, largest_weight=50), Model(START)
    verdicts = []
    for updates in rows:
        sent = model.theta + updates
        closed = served(engine, updates)
        model = lab.aggregate(model, [FPDGDMessage(theta, 1) for theta in sent])
        with reading(engine) as connection:
            assert group.newest(connection).model.theta.tolist() == model.theta.tolist()
        verdicts.append(closed.verdict)
        assert (closed.verdict == "alert") == model.guard.alert == (closed.rule == "guard")
    first = verdicts.index("alert")
    assert first >= 1
    assert verdicts == ["calm"] * first + ["alert"] * (len(rows) - first)


def test_what_was_left_out_does_not_count_when_added_up_again(engine: Engine, rows: list[np.ndarray]) -> None:
    """The stored round says so: weight 0 for the member that was left out, 1 for the others."""
    make_group(engine, settings=SETTINGS, n_members=N_MEMBERS)
    rows[0][-1] = [0.0, 3.7, 0.0]
    assert served(engine, rows[0]).summary.startswith("1 of 6 left out; row 5: ")
    with reading(engine) as connection:
        method = group.method_of(group.terms(connection))
        found = read_received(connection, VAULT, method, 1, 1)
    assert found.n_interactions.tolist() == [1, 1, 1, 1, 1, 0]


def test_sums_are_encrypted_and_outlive_a_lineage(engine: Engine, rows: list[np.ndarray]) -> None:
    """Nothing of a sum stands in the table in the clear; a new lineage goes on with what is known."""
    make_group(engine, settings=SETTINGS, n_members=N_MEMBERS)
    for updates in rows[:2]:
        served(engine, updates)
    with writing(engine) as connection:
        stored = connection.execute(select(guarded)).all()
        known = closing.guard_sums(connection, VAULT, [device(n) for n in in_order()], 3)
        before = group.newest(connection).model
        group.begin_lineage(connection, group.terms(connection), replace(before, round=0), reason="x", now=NOW)
    assert known.n_rounds.tolist() == [2] * N_MEMBERS
    np.testing.assert_allclose(known.sent, rows[0] + rows[1], atol=1e-12)
    assert not any(known.sent[row].tobytes() in bytes(one.sums) for row in range(N_MEMBERS) for one in stored)


@pytest.mark.parametrize("leaves", [enrolment.erase, lambda c, d: enrolment.end_membership(c, d, now=NOW)])
def test_the_sum_goes_with_the_member(engine: Engine, rows: list[np.ndarray], leaves: Any) -> None:
    """Erased or only gone: no row of that member is left, and those of the others stay."""
    make_group(engine, settings=SETTINGS, n_members=N_MEMBERS)
    served(engine, rows[0])
    with writing(engine) as connection:
        leaves(connection, device(2))
        left = set(connection.execute(select(guarded.c.device)).scalars())
    assert left == {device(number) for number in range(N_MEMBERS)} - {device(2)}


def test_silence_is_not_calm(engine: Engine, rows: list[np.ndarray]) -> None:
    """Without a guard the round says that it was not judged, and why, and what chance would make of its agreement."""
    make_group(engine, settings=SETTINGS, n_members=N_MEMBERS)
    closed = served(engine, rows[0], joining=Joining())
    assert (closed.verdict, closed.summary) == ("not judged", "not judged: the guard is off")
    assert closed.chance == pytest.approx(1 / 6**0.5)
    with reading(engine) as connection:
        assert connection.execute(select(guarded)).all() == []


def test_without_noise_the_account_is_that_of_the_laboratory(engine: Engine) -> None:
    """A member who is a little off in each of ten rounds is left out by both in the same, with theta to the bit."""
    make_group(engine, settings=OPEN, n_members=N_MEMBERS)
    rng, lab = np.random.default_rng(4), FPDGD(Linear(3), guard=True, largest_weight=50)
    model = Model(START, guard=GuardState(sums=RunningSums.none(N_MEMBERS, 3)))
    out = []
    for _ in range(10):
        updates = [1.0, 0.0, 0.0] + 0.01 * rng.normal(size=(N_MEMBERS, 3))
        updates[-1, 1] += 0.3
        sent = model.theta + updates
        closed = served(engine, updates)
        model = lab.aggregate(model, [FPDGDMessage(theta, 1) for theta in sent])
        with reading(engine) as connection:
            assert group.newest(connection).model.theta.tolist() == model.theta.tolist()
            known = closing.guard_sums(connection, VAULT, [device(n) for n in in_order()], 3)
            found = read_received(connection, VAULT, group.method_of(group.terms(connection)), 1, closed.round)
        assert model.guard.sums is not None
        assert known.sent.tolist() == model.guard.sums.sent.tolist()
        assert closed.verdict == ("alert" if model.guard.alert else "calm")
        out.append([number for number, count in enumerate(found.n_interactions.tolist()) if not count])
    assert out[0] == []
    assert out[-3:] == [[N_MEMBERS - 1]] * 3


def test_copies_are_marked_and_do_not_count(engine: Engine) -> None:
    """Two members send the same in the first round: it is the round of the other four, and so it is stored."""
    make_group(engine, settings=OPEN, n_members=N_MEMBERS)
    updates = np.random.default_rng(6).normal(size=(N_MEMBERS, 3))
    updates[-1] = updates[-2]
    closed = served(engine, updates)
    assert (closed.verdict, closed.rule) == ("alert", "guard")
    with reading(engine) as connection:
        found = read_received(connection, VAULT, group.method_of(group.terms(connection)), 1, closed.round)
        theta = group.newest(connection).model.theta
    assert found.n_interactions.tolist() == [1, 1, 1, 1, 0, 0]
    np.testing.assert_allclose(theta, START + within_reach(updates[:4]).mean(axis=0))
