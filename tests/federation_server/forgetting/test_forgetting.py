"""Leaving and being forgotten: what is erased, from where the group learns on, and how far the request is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from sqlalchemy import Engine, delete, select, text

from federation_server import database
from federation_server.database import connect, reading, upgrade, writing
from federation_server.forgetting import forgetting
from federation_server.forgetting.forgetting import roll_back
from federation_server.group import enrolment, group
from federation_server.rounds import rounds
from federation_server.rounds.closing import close_due
from federation_server.tables import invites, models, updates
from foltr.federated.wire import Receipt
from tests.federation_server.groups import (
    NOW,
    OPEN,
    POLICY,
    PRIVATE,
    SCHEDULE,
    START,
    VAULT,
    device,
    forgetter,
    make_group,
    send,
    theta,
)

EAST, NORTH, UP = np.eye(3)
Forget = Callable[..., Receipt]


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


def joined_late(engine: Engine) -> None:
    """Three rounds, of which member 1 answers the second."""
    make_group(engine, settings=OPEN, n_members=2)
    for moves in ({0: EAST}, {0: NORTH, 1: UP}, {0: NORTH}):
        run_round(engine, moves)


@pytest.fixture
def forget(engine: Engine, tmp_path: Path) -> Forget:
    """Forgets a member by a method."""

    def by(number: int, method: str = "reaggregate", every: int = 1) -> Receipt:
        with writing(engine) as connection:
            chosen = forgetter(tmp_path, method=method, every=every)
            return forgetting.forget(connection, chosen, device(number), now=NOW)

    return by


def receipt(engine: Engine, request: str) -> Receipt:
    with reading(engine) as connection:
        return forgetting.receipt(connection, request)


def lineage(engine: Engine) -> int:
    with reading(engine) as connection:
        return group.newest(connection).record.lineage


def test_leaving_erases_nothing(engine: Engine) -> None:
    """The membership ends, the ranker stays, and the receipt says so."""
    make_group(engine, settings=OPEN, n_members=1)
    run_round(engine, {0: EAST})
    with writing(engine) as connection:
        left = forgetting.leave(connection, device(0), now=NOW)
        member = enrolment.member(connection, device(0))
    assert (left.state, left.method, left.erased) == ("done", "none", {})
    assert member is not None
    assert member.ended == NOW
    np.testing.assert_allclose(theta(engine), START + EAST)


def test_a_member_without_influence_is_just_erased(engine: Engine, forget: Forget) -> None:
    """Nobody else notices: the lineage stays."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST})
    done = forget(1, "rollback")
    assert (done.state, done.method, done.erased) == ("done", "none", {"updates": 0, "members": 1})
    assert lineage(engine) == 1


def test_rollback_goes_to_the_last_untouched_model(engine: Engine, forget: Forget) -> None:
    """Forgetting member 1 brings back the model of round 1, and erases those after."""
    joined_late(engine)
    done = forget(1, "rollback")
    np.testing.assert_allclose(theta(engine), START + EAST)
    assert (done.state, done.method, done.approximate) == ("done", "rollback", False)
    assert done.erased == {"updates": 1, "members": 1}
    with reading(engine) as connection:
        stored = connection.execute(select(models.c.lineage, models.c.round).order_by(models.c.lineage)).all()
        here = rounds.present(connection)
    assert [tuple(row) for row in stored] == [(1, 0), (1, 1), (2, 0)]
    assert here is not None
    assert (here.lineage, here.number, here.purpose) == (2, 1, "learn")


def test_reaggregation_adds_up_what_the_others_sent(engine: Engine, forget: Forget) -> None:
    """START + EAST (round 1) + NORTH (round 2 without member 1) + NORTH (round 3), at once, and called approximate."""
    joined_late(engine)
    done = forget(1, "reaggregate")
    np.testing.assert_allclose(theta(engine), START + EAST + NORTH + NORTH)
    assert (done.state, done.method, done.approximate) == ("done", "reaggregate", True)


def test_federaser_gives_new_directions_the_old_lengths(engine: Engine, forget: Forget) -> None:
    """Two kept rounds are replayed from START; member 0's updates of length 2 and 1 become 2 * NORTH and 1 * UP."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: 2 * EAST, 1: UP})
    run_round(engine, {0: EAST, 1: UP})
    asked = forget(1, "federaser")
    assert (asked.state, asked.method, asked.progress) == ("unlearning", "federaser", "0 of 2 rounds")
    np.testing.assert_allclose(theta(engine), START)
    with writing(engine) as connection, pytest.raises(group.GroupError, match="wait until `foltr-server forget` says"):
        roll_back(connection, VAULT, POLICY, 2, 0, now=NOW)
    run_round(engine, {0: 0.1 * NORTH})
    assert receipt(engine, asked.request).progress == "1 of 2 rounds"
    run_round(engine, {0: 7 * UP})
    np.testing.assert_allclose(theta(engine), START + 2 * NORTH + 1 * UP)
    assert receipt(engine, asked.request).state == "done"
    run_round(engine, {0: 5 * EAST})
    np.testing.assert_allclose(theta(engine), START + 2 * NORTH + 1 * UP + 5 * EAST)


def test_federaser_replays_every_so_many_rounds(engine: Engine, forget: Forget) -> None:
    """With every = 2 rounds 1 and 3 of four are replayed."""
    make_group(engine, settings=OPEN, n_members=2)
    for _ in range(4):
        run_round(engine, {0: EAST, 1: UP})
    assert forget(1, "federaser", every=2).progress == "0 of 2 rounds"


def test_a_member_of_a_branch_that_was_given_up(engine: Engine, forget: Forget) -> None:
    """After a rollback past a member's first round, forgetting that member starts from where the new lineage began."""
    make_group(engine, settings=OPEN, n_members=3)
    run_round(engine, {0: EAST, 1: UP})
    run_round(engine, {0: EAST, 2: UP})
    forget(1, "rollback")
    run_round(engine, {0: NORTH, 2: UP})
    forget(2, "rollback")
    np.testing.assert_allclose(theta(engine), START)
    assert lineage(engine) == 3


def test_a_member_whose_first_round_lies_beside_the_present_path(engine: Engine, forget: Forget) -> None:
    """Lineage 2 was given up; as only the first round is known, lineage 3 goes back to where it began, model 1.1."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST})
    for moves in ({0: NORTH, 1: UP}, {0: NORTH}):
        with writing(engine) as connection:
            roll_back(connection, VAULT, POLICY, 1, 1, now=NOW)
        run_round(engine, moves)
    forget(1, "rollback")
    np.testing.assert_allclose(theta(engine), START + EAST)
    with reading(engine) as connection:
        stored = connection.execute(select(models.c.lineage, models.c.round).order_by(models.c.lineage)).all()
    assert [tuple(row) for row in stored] == [(1, 0), (1, 1), (2, 0), (3, 0), (4, 0)]


def test_models_of_every_branch_are_erased(engine: Engine, forget: Forget) -> None:
    """After rollbacks to models with and without the member, none that was learned with it can be gone back to."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST})
    run_round(engine, {0: NORTH, 1: UP})
    for number in (2, 1):  # lineage 2 begins with member 1's influence, lineage 3 without
        with writing(engine) as connection:
            roll_back(connection, VAULT, POLICY, 1, number, now=NOW)
        run_round(engine, {0: NORTH, 1: UP})
    forget(1, "rollback")
    with reading(engine) as connection:
        stored = connection.execute(select(models.c.lineage, models.c.round).order_by(models.c.lineage)).all()
    assert [tuple(row) for row in stored] == [(1, 0), (1, 1), (3, 0), (4, 0)]
    np.testing.assert_allclose(theta(engine), START + EAST)


def test_the_open_round_is_abandoned(engine: Engine, forget: Forget) -> None:
    """Updates that were waiting are deleted with their round's key: they began from a model that is no more."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST, 1: UP})
    send(engine, 0, theta(engine) + EAST)
    forget(1, "rollback")
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
    with writing(engine) as connection:
        forgetting.forget(connection, forgetter(tmp_path, method="rollback"), device(1), now=NOW)
    database.scrub(engine)
    after = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert device(1).encode() not in after
    assert gone.device_key not in after
    assert device(0).encode() in after


def stored_models(engine: Engine) -> list[tuple[int, int]]:
    with reading(engine) as connection:
        query = select(models.c.lineage, models.c.round).order_by(models.c.lineage, models.c.round)
        return [(row.lineage, row.round) for row in connection.execute(query)]


def test_a_second_and_a_third_request_work_as_the_first(engine: Engine, forget: Forget) -> None:
    """Each of four members moves its own way in three rounds; whoever is left after each request is the mean of them.

    By hand: the rounds of the mean of moves m are START + 3 mean(m), whoever asks first, second or third.
    """
    make_group(engine, settings=OPEN, n_members=4)
    moves = {0: EAST, 1: NORTH, 2: UP, 3: -2 * EAST}
    for _ in range(3):
        run_round(engine, moves)
    for lineage_of_then, gone in ((2, 3), (3, 0), (4, 2)):
        done = forget(gone)
        assert (done.method, done.erased["updates"]) == ("reaggregate", 3)
        del moves[gone]
        np.testing.assert_allclose(theta(engine), START + 3 * np.mean(list(moves.values()), axis=0))
        assert lineage(engine) == lineage_of_then
    assert stored_models(engine) == [(1, 0), (2, 0), (3, 0), (4, 0), (4, 1), (4, 2), (4, 3)]
    run_round(engine, moves)
    np.testing.assert_allclose(theta(engine), START + 4 * NORTH)


def test_what_members_of_several_lineages_sent_is_added_up_again(engine: Engine, forget: Forget) -> None:
    """After a request and a rollback by the operator, a member of the very first round is forgotten from all of it."""
    make_group(engine, settings=OPEN, n_members=3)
    run_round(engine, {0: EAST})
    run_round(engine, {0: EAST, 1: UP})
    run_round(engine, {0: EAST, 2: NORTH})
    forget(1)  # lineage 2: from 1.1, rounds 2.1 (member 0) and 2.2 (members 0 and 2)
    np.testing.assert_allclose(theta(engine), START + EAST + EAST + (EAST + NORTH) / 2)
    with writing(engine) as connection:
        roll_back(connection, VAULT, POLICY, 2, 2, now=NOW)  # lineage 3
    run_round(engine, {0: EAST, 2: UP})
    forget(0)
    np.testing.assert_allclose(theta(engine), START + NORTH + UP)
    assert lineage(engine) == 4


def test_what_waits_in_the_open_round_goes_on(engine: Engine, forget: Forget) -> None:
    """An update that waits while another member is forgotten counts in the next round, as the difference it was."""
    make_group(engine, settings=OPEN, n_members=3)
    run_round(engine, {0: EAST, 1: UP})
    send(engine, 0, theta(engine) + NORTH)
    send(engine, 1, theta(engine) + UP)
    forget(1)
    with reading(engine) as connection:
        here = rounds.present(connection)
        states = connection.execute(select(rounds.rounds.c.lineage, rounds.rounds.c.state)).all()
    assert here is not None
    assert (here.lineage, here.number, here.n_updates) == (2, 2, 1)
    assert sorted(map(tuple, states)) == [(1, "abandoned"), (2, "closed"), (2, "open")]
    close(engine, 1)
    np.testing.assert_allclose(theta(engine), START + EAST + NORTH)


def drop_updates(engine: Engine) -> None:
    """As retention does after a while."""
    with writing(engine) as connection:
        connection.execute(delete(updates))


def test_without_stored_updates_the_ranker_stays_within_the_noise(engine: Engine, forget: Forget) -> None:
    """Nobody's rounds are thrown away: rows are erased, the lineage goes on, and the receipt says "noise"."""
    make_group(engine, settings=PRIVATE, n_members=2)
    for _ in range(2):
        run_round(engine, {0: 0.1 * EAST, 1: 0.1 * UP})
    drop_updates(engine)
    before = theta(engine)
    done = forget(1)
    assert (done.method, done.approximate, done.state) == ("noise", True, "done")
    assert done.erased == {"updates": 0, "members": 1}
    np.testing.assert_array_equal(theta(engine), before)
    assert lineage(engine) == 1


def test_without_noise_there_is_only_the_way_back(engine: Engine, forget: Forget) -> None:
    """In a group without a mechanism nothing hides a member whose updates are gone: the ranker goes back."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST, 1: UP})
    drop_updates(engine)
    assert forget(1).method == "rollback"
    np.testing.assert_allclose(theta(engine), START)


def test_a_rollback_that_the_operator_asks_for_is_done(engine: Engine, forget: Forget) -> None:
    """Also in a group with noise and with all updates stored."""
    make_group(engine, settings=PRIVATE, n_members=2)
    run_round(engine, {0: 0.1 * EAST, 1: 0.1 * UP})
    assert forget(1, "rollback").method == "rollback"
    np.testing.assert_allclose(theta(engine), START)


@pytest.mark.parametrize("method", ["noise", "rollback", "reaggregate"])
def test_no_length_of_the_members_rounds_remains(engine: Engine, forget: Forget, method: str) -> None:
    """What closing a round said about its updates is erased; a round that is added up again tells of the others."""
    make_group(engine, settings=PRIVATE, n_members=2)
    run_round(engine, {0: 0.1 * EAST, 1: 0.2 * UP})
    assert forget(1, method).method == method
    with reading(engine) as connection:
        rows = connection.execute(select(rounds.rounds).where(rounds.rounds.c.state == "closed")).all()
    (row,) = rows
    if method == "reaggregate":
        assert (row.lineage, row.n_updates, row.agreement) == (2, 1, 1.0)
        assert row.update_norm == pytest.approx(0.1)
    else:
        assert (row.lineage, row.n_updates) == (1, 1)
        assert (row.guard, row.verdict, row.update_norm, row.agreement) == (None, None, None, None)


def test_no_note_and_no_pseudonym_stays_in_a_table_of_postgresql(
    postgresql: str, engine: Engine, tmp_path: Path
) -> None:
    """After scrubbing, the files of every table and index of the database hold neither; before, they hold both."""
    if engine.dialect.name != "postgresql":
        pytest.skip("PostgreSQL's own way of keeping dead rows")
    make_group(engine, settings=OPEN, n_members=2)
    with writing(engine) as connection:
        noted = select(invites.c.used).order_by(invites.c.created).limit(1).scalar_subquery()
        connection.execute(invites.update().where(invites.c.used == noted).values(note="for the widow Bolte"))
    run_round(engine, {0: EAST, 1: UP})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))  # as PostgreSQL does by itself now and then: it keeps samples of the values
    sought = (b"for the widow Bolte", device(1).encode())
    assert all(one in on_disk(engine) for one in sought)
    with writing(engine) as connection:
        forgetting.forget(connection, forgetter(tmp_path), device(1), now=NOW)
    database.scrub(engine)
    after = on_disk(engine)
    assert not any(one in after for one in sought)
    assert device(0).encode() in after


def on_disk(engine: Engine) -> bytes:
    """Every file of the engine's own database."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("CHECKPOINT"))
        folder = connection.execute(text("SHOW data_directory")).scalar_one()
        own = connection.execute(text("SELECT oid FROM pg_database WHERE datname = current_database()")).scalar_one()
    return b"".join(path.read_bytes() for path in Path(folder, "base", str(own)).iterdir())
