"""Leaving and being forgotten: what is erased, from where the group learns on, and how far the request is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from sqlalchemy import Engine, select

from federation_server import database, enrolment, forgetting, group, rounds
from federation_server.closing import close_due
from federation_server.database import connect, reading, upgrade, writing
from federation_server.forgetting import roll_back
from federation_server.settings import ForgettingSection
from federation_server.tables import models
from foltr.federated.wire import Receipt
from tests.federation_server.groups import NOW, OPEN, POLICY, SCHEDULE, START, VAULT, device, make_group, send

EAST, NORTH, UP = np.eye(3)


def close(engine: Engine, quorum: int) -> None:
    with writing(engine) as connection:
        policy = replace(POLICY, schedule=replace(SCHEDULE, quorum=quorum))
        assert close_due(connection, VAULT, policy, now=NOW) is not None


def run_round(engine: Engine, moves: dict[int, np.ndarray]) -> None:
    """Members send the present theta plus their move; the round closes."""
    present = theta(engine)
    for number, move in moves.items():
        send(engine, number, present + move)
    close(engine, len(moves))


def theta(engine: Engine) -> np.ndarray:
    with reading(engine) as connection:
        return group.newest(connection).model.theta


def forget(engine: Engine, number: int, method: str, every: int = 1) -> Receipt:
    settings = ForgettingSection(method=method, every=every)  # type: ignore[arg-type]
    with writing(engine) as connection:
        return forgetting.farewell(connection, VAULT, POLICY, settings, device(number), forget=True, now=NOW)


def receipt(engine: Engine, request: str) -> Receipt:
    with reading(engine) as connection:
        found = forgetting.receipt(connection, request)
    assert found is not None
    return found


def lineage(engine: Engine) -> int:
    with reading(engine) as connection:
        return group.newest(connection).record.lineage


def test_leaving_erases_nothing(engine: Engine) -> None:
    """The membership ends, the ranker stays, and the receipt says so."""
    make_group(engine, settings=OPEN, n_members=1)
    run_round(engine, {0: EAST})
    with writing(engine) as connection:
        left = forgetting.farewell(connection, VAULT, POLICY, ForgettingSection(), device(0), forget=False, now=NOW)
        member = enrolment.member(connection, device(0))
    assert (left.state, left.method, left.erased) == ("done", "none", {})
    assert member is not None
    assert member.ended == NOW
    np.testing.assert_allclose(theta(engine), START + EAST)


def test_a_member_without_influence_is_just_erased(engine: Engine) -> None:
    """Nobody else notices: the lineage stays."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST})
    done = forget(engine, 1, "rollback")
    assert (done.state, done.method, done.erased) == ("done", "none", {"updates": 0, "members": 1})
    assert lineage(engine) == 1


def test_rollback_goes_to_the_last_untouched_model(engine: Engine) -> None:
    """Member 1 joins in the second round: forgetting it brings back the model of round 1, and erases those after."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST})
    run_round(engine, {0: NORTH, 1: UP})
    run_round(engine, {0: NORTH})
    done = forget(engine, 1, "rollback")
    np.testing.assert_allclose(theta(engine), START + EAST)
    assert (done.state, done.method, done.approximate) == ("done", "rollback", False)
    assert done.erased == {"updates": 1, "members": 1}
    with reading(engine) as connection:
        stored = connection.execute(select(models.c.lineage, models.c.round).order_by(models.c.lineage)).all()
        here = rounds.present(connection)
    assert [tuple(row) for row in stored] == [(1, 0), (1, 1), (2, 0)]
    assert here is not None
    assert (here.lineage, here.number, here.purpose) == (2, 1, "learn")


def test_reaggregation_adds_up_what_the_others_sent(engine: Engine) -> None:
    """START + EAST (round 1) + NORTH (round 2 without member 1) + NORTH (round 3), at once, and called approximate."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST})
    run_round(engine, {0: NORTH, 1: UP})
    run_round(engine, {0: NORTH})
    done = forget(engine, 1, "reaggregate")
    np.testing.assert_allclose(theta(engine), START + EAST + NORTH + NORTH)
    assert (done.state, done.method, done.approximate) == ("done", "reaggregate", True)


def test_federaser_gives_new_directions_the_old_lengths(engine: Engine) -> None:
    """Two kept rounds are replayed from START; member 0's updates of length 2 and 1 become 2 * NORTH and 1 * UP."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: 2 * EAST, 1: UP})
    run_round(engine, {0: EAST, 1: UP})
    asked = forget(engine, 1, "federaser")
    assert (asked.state, asked.method, asked.progress) == ("unlearning", "federaser", "0 of 2 rounds")
    np.testing.assert_allclose(theta(engine), START)
    run_round(engine, {0: 0.1 * NORTH})
    assert receipt(engine, asked.request).progress == "1 of 2 rounds"
    run_round(engine, {0: 7 * UP})
    np.testing.assert_allclose(theta(engine), START + 2 * NORTH + 1 * UP)
    assert receipt(engine, asked.request).state == "done"
    run_round(engine, {0: 5 * EAST})
    np.testing.assert_allclose(theta(engine), START + 2 * NORTH + 1 * UP + 5 * EAST)


def test_federaser_replays_every_so_many_rounds(engine: Engine) -> None:
    """With every = 2 rounds 1 and 3 of four are replayed."""
    make_group(engine, settings=OPEN, n_members=2)
    for _ in range(4):
        run_round(engine, {0: EAST, 1: UP})
    assert forget(engine, 1, "federaser", every=2).progress == "0 of 2 rounds"


def test_a_member_of_a_branch_that_was_given_up(engine: Engine) -> None:
    """After a rollback past a member's first round, forgetting that member starts from where the new lineage began."""
    make_group(engine, settings=OPEN, n_members=3)
    run_round(engine, {0: EAST, 1: UP})
    run_round(engine, {0: EAST, 2: UP})
    forget(engine, 1, "rollback")
    run_round(engine, {0: NORTH, 2: UP})
    forget(engine, 2, "rollback")
    np.testing.assert_allclose(theta(engine), START)
    assert lineage(engine) == 3


def test_models_of_every_branch_are_erased(engine: Engine) -> None:
    """After rollbacks to models with and without the member, none that was learned with it can be gone back to."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST})
    run_round(engine, {0: NORTH, 1: UP})
    for number in (2, 1):  # lineage 2 begins with member 1's influence, lineage 3 without
        with writing(engine) as connection:
            roll_back(connection, VAULT, POLICY, 1, number, now=NOW)
        run_round(engine, {0: NORTH, 1: UP})
    forget(engine, 1, "rollback")
    with reading(engine) as connection:
        stored = connection.execute(select(models.c.lineage, models.c.round).order_by(models.c.lineage)).all()
    assert [tuple(row) for row in stored] == [(1, 0), (1, 1), (3, 0), (4, 0)]
    np.testing.assert_allclose(theta(engine), START + EAST)


def test_the_open_round_is_abandoned(engine: Engine) -> None:
    """Updates that were waiting are deleted with their round's key: they began from a model that is no more."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST, 1: UP})
    send(engine, 0, theta(engine) + EAST)
    forget(engine, 1, "rollback")
    with reading(engine) as connection:
        here = rounds.present(connection)
        stored = connection.execute(select(rounds.rounds.c.state, rounds.rounds.c.private_key)).all()
    assert here is not None
    assert here.n_updates == 0
    assert sorted(row.state for row in stored) == ["abandoned", "closed", "open"]
    assert [row.private_key is None for row in stored if row.state != "open"] == [True, True]


def test_nothing_of_the_member_is_left_in_the_files(tmp_path: Path) -> None:
    """After scrubbing, neither the pseudonym nor the key is in SQLite's files."""
    engine = connect(f"sqlite:///{tmp_path}/server.sqlite")
    upgrade(engine)
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST, 1: UP})
    with reading(engine) as connection:
        gone = enrolment.member(connection, device(1))
    assert gone is not None
    before = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert device(1).encode() in before
    forget(engine, 1, "rollback")
    database.scrub(engine)
    after = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert device(1).encode() not in after
    assert gone.device_key not in after
    assert device(0).encode() in after
