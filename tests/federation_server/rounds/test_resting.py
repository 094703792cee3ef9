"""So many rounds in a period, then none is open until it ends; a new lineage gives no round back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace
from sqlalchemy import Engine, update

from federation_server.database import reading, writing
from federation_server.forgetting import forgetting
from federation_server.group import group
from federation_server.rounds import rounds
from federation_server.rounds.closing import close_due
from federation_server.rounds.rounds import DAY
from federation_server.tables import rounds as rounds_table
from tests.federation_server.groups import NOW, OPEN, POLICY, SCHEDULE, VAULT, device, forgetter, make_group, send

EAST, NORTH, UP = np.eye(3)
PERIOD = 365 * DAY


def make_resting(engine: Engine, *, n_members: int = 2) -> None:
    """A group of two rounds a year."""
    make_group(engine, settings=OPEN, n_members=n_members)
    with writing(engine) as connection:
        group.set_terms(connection, msgspec.structs.replace(group.terms(connection), n_rounds=2))


def run_round(engine: Engine, moves: dict[int, np.ndarray], *, now: int) -> None:
    with reading(engine) as connection:
        present = group.newest(connection).model.theta
    for number, move in moves.items():
        send(engine, number, present + move)
    tick(engine, now=now, quorum=len(moves))


def tick(engine: Engine, *, now: int, quorum: int = 100) -> None:
    with writing(engine) as connection:
        close_due(connection, VAULT, replace(POLICY, schedule=replace(SCHEDULE, quorum=quorum)), now=now)


def place(engine: Engine) -> tuple[int, int, str] | None:
    """Lineage, round and purpose of the open round."""
    with reading(engine) as connection:
        here = rounds.present(connection)
    return (here.lineage, here.number, here.purpose) if here else None


def test_a_round_of_a_wrong_clock_is_of_today_once_it_is_right(engine: Engine) -> None:
    """Opened while the server's clock was a year ahead: devices answer by its times, which are then those of now."""
    make_group(engine, settings=OPEN, n_members=2)
    with writing(engine) as connection:
        connection.execute(update(rounds_table).values(opened=NOW + PERIOD, deadline=NOW + PERIOD + 1))
    tick(engine, now=NOW + 30)
    with reading(engine) as connection:
        here = rounds.present(connection)
    assert here is not None
    assert (here.opened, here.deadline) == (NOW + 30, NOW + 30 + SCHEDULE.seconds)


def test_a_deadline_that_passed_without_the_server_is_moved_once(engine: Engine) -> None:
    """Sixty seconds more once it is back, and none the next time: a server that is on now and then closes rounds."""
    make_group(engine, settings=OPEN, n_members=2)
    for back, deadline in ((NOW + 59, NOW + 60), (NOW + 100, NOW + 160), (NOW + 200, NOW + 160)):
        with writing(engine) as connection:
            rounds.give_time_again(connection, SCHEDULE, now=back)
            here = rounds.present(connection)
        assert here is not None
        assert here.deadline == deadline


def test_the_group_rests_until_its_period_ends(engine: Engine) -> None:
    """Two rounds closed at 10 and 20: none is open until a year after the first, then the third is."""
    make_resting(engine)
    run_round(engine, {0: EAST}, now=NOW + 10)
    run_round(engine, {0: EAST}, now=NOW + 20)
    tick(engine, now=NOW + 30)
    assert place(engine) is None
    with reading(engine) as connection:
        told = rounds.announced_rest(connection, group.terms(connection), now=NOW + 30)
    assert told is not None
    assert (told.phase, told.lineage, told.round, told.opens) == ("rest", 1, 3, NOW + 10 + PERIOD)
    tick(engine, now=NOW + 9 + PERIOD)
    assert place(engine) is None
    tick(engine, now=NOW + 10 + PERIOD)
    assert place(engine) == (1, 3, "learn")


def test_a_new_lineage_gives_no_round_back(engine: Engine, tmp_path: Path) -> None:
    """After re-aggregation and a rollback the group still rests, under the new lineage's number."""
    make_resting(engine)
    run_round(engine, {0: EAST, 1: UP}, now=NOW + 10)
    run_round(engine, {0: EAST, 1: UP}, now=NOW + 20)
    with writing(engine) as connection:
        done = forgetting.forget(connection, forgetter(tmp_path), device(1), now=NOW + 30)
    assert done.method == "reaggregate"
    assert place(engine) is None
    with writing(engine) as connection:
        assert forgetting.roll_back(connection, VAULT, POLICY, 2, 1, now=NOW + 40) == 3
    assert place(engine) is None
    with reading(engine) as connection:
        told = rounds.announced_rest(connection, group.terms(connection), now=NOW + 50)
    assert told is not None
    assert (told.lineage, told.round, told.opens) == (3, 1, NOW + 10 + PERIOD)


def test_rounds_that_forget_are_held_while_the_group_rests(engine: Engine, tmp_path: Path) -> None:
    """FedEraser's two rounds open and close; then the group rests on."""
    make_resting(engine)
    for second in (10, 20):
        run_round(engine, {0: EAST, 1: UP}, now=NOW + second)
    with writing(engine) as connection:
        chosen = forgetter(tmp_path, method="federaser", every=1)
        forgetting.forget(connection, chosen, device(1), now=NOW + 30)
    assert place(engine) == (2, 1, "forget")
    for second in (40, 50):
        run_round(engine, {0: NORTH}, now=NOW + second)
    assert place(engine) is None
