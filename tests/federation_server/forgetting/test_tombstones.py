"""Who was forgotten stays forgotten: across restores, crashes, and folders."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from federation_server import backup
from federation_server.backup import begin_anew
from federation_server.database import connect, reading, upgrade, writing
from federation_server.forgetting import forgetting, tombstones
from federation_server.forgetting.tombstones import FILE, Restored, Tombstone, TombstoneError, TombstoneFile
from federation_server.group import enrolment, group, roster_book
from federation_server.serve import open_installation
from federation_server.tables import models
from foltr.federated.sealed.roster import LEAVE, leave_text
from tests import copied
from tests.federation_server.client import make_server, member, running
from tests.federation_server.forgetting.test_forgetting import EAST, UP, run_round, theta
from tests.federation_server.groups import NOW, OPEN, PRIVATE, START, device, forgetter, identity, join, make_group

ONE = Tombstone("m" * 64, 1, 2, "rollback", "r", 3)


def restored(path: Path, folder: Path, name: str) -> Engine:
    """A fresh database with what a backup holds, as `foltr-server restore` makes it."""
    made = connect(f"sqlite:///{folder}/{name}.sqlite")
    upgrade(made)
    backup.fill(made, path, afterwards=lambda connection: begin_anew(connection, forgetter(folder), now=NOW))  # type: ignore[arg-type, return-value]
    return made


def members(engine: Engine) -> set[str]:
    with reading(engine) as connection:
        return {one.device for one in enrolment.all_members(connection)}


@pytest.mark.parametrize("method", ["rollback", "reaggregate"])
def test_a_restore_does_not_bring_the_forgotten_back(engine: Engine, tmp_path: Path, method: str) -> None:
    """A backup from before the request: its member is erased again, and so is every ranker it had moved."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST})
    run_round(engine, {0: EAST, 1: UP})
    path = tmp_path / "group.backup"
    backup.write(engine, path, now=NOW)
    with writing(engine) as connection:
        asked = forgetting.forget(connection, forgetter(tmp_path, method=method), device(1), now=NOW)
    again = restored(path, tmp_path, "again")
    assert members(again) == {device(0)}
    assert theta(again).tolist() == (START + EAST).tolist()
    with reading(again) as connection:
        known = connection.execute(select(models.c.lineage, models.c.round)).all()
        receipt = forgetting.receipt(connection, asked.request)
    assert (1, 2) not in {tuple(row) for row in known}
    assert (receipt.state, receipt.method) == ("done", "rollback")
    again.dispose()


def test_a_request_that_left_the_ranker_leaves_it_after_a_restore(engine: Engine, tmp_path: Path) -> None:
    """Method "noise": rows are erased again, and nobody else loses a round."""
    make_group(engine, settings=PRIVATE, n_members=2)
    run_round(engine, {0: 0.1 * EAST, 1: 0.1 * UP})
    path = tmp_path / "group.backup"
    backup.write(engine, path, now=NOW)
    before = theta(engine)
    with writing(engine) as connection:
        forgetting.forget(connection, forgetter(tmp_path, method="noise"), device(1), now=NOW)
    again = restored(path, tmp_path, "again")
    assert members(again) == {device(0)}
    assert theta(again).tolist() == before.tolist()
    again.dispose()


def test_a_backup_carries_the_tombstones_into_a_new_folder(engine: Engine, tmp_path: Path) -> None:
    """An older backup that is restored there later finds the member of a newer one's tombstone again."""
    make_group(engine, settings=OPEN, n_members=2)
    run_round(engine, {0: EAST, 1: UP})
    older, newer = tmp_path / "older", tmp_path / "newer"
    backup.write(engine, older, now=NOW)
    with writing(engine) as connection:
        forgetting.forget(connection, forgetter(tmp_path), device(1), now=NOW)
    backup.write(engine, newer, now=NOW)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    restored(newer, fresh, "first").dispose()
    again = restored(older, fresh, "second")
    assert members(again) == {device(0)}
    again.dispose()


def test_who_is_forgotten_twice_is_forgotten_once_and_for_all(engine: Engine, tmp_path: Path) -> None:
    """A device that came back with its old key and asked again: nothing is owed at any later start, both receipts open
    the journal, and an older backup that knows the first request alone erases the device again, once."""
    make_group(engine, settings=OPEN, n_members=2)
    by, requests, path = forgetter(tmp_path), [], tmp_path / "group.backup"
    for turn in range(2):
        run_round(engine, {0: EAST, 1: UP})
        backup.write(engine, path, now=NOW)
        with writing(engine) as connection:
            me = roster_book.state(connection).of_device(device(1))
            assert me is not None
            text = leave_text(group.fact(connection, "group_id") or "", me.number)
            roster_book.leave(connection, device(1), identity(1).sign(LEAVE, text))
            requests.append(forgetting.forget(connection, by, device(1), now=NOW + turn).request)
            if turn == 0:
                join(connection, 1)
    restored(path, tmp_path, "again").dispose()
    for made in (engine, connect(f"sqlite:///{tmp_path}/again.sqlite")):
        assert members(made) == {device(0)}
        for _ in range(2):
            with writing(made) as connection:
                assert forgetting.forget_again(connection, by, now=NOW) == 0
                tombstones.carry_over(connection, by.file)
                assert [one.request for one in tombstones.in_database(connection)] == requests[1:]
                assert all(tombstones.is_request(connection, one) for one in requests)
        made.dispose()
    assert len(by.file.read()) == 3  # the restore's, too


def test_a_line_that_a_crash_cut_short_is_written_anew(tmp_path: Path) -> None:
    """Half a line never counted; the next one takes its place. The file is for its owner alone."""
    file = TombstoneFile(tmp_path / FILE)
    file.append(ONE)
    whole = file.path.read_bytes()
    file.path.write_bytes(whole + whole[:17])
    assert file.read() == (ONE,)
    file.append(Restored(1_800_000_000))
    assert file.read() == (ONE, Restored(1_800_000_000))
    assert file.path.stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_read_stops_the_server(tmp_path: Path) -> None:
    """Rather no server than one that has forgotten whom it forgot."""
    file = TombstoneFile(tmp_path / FILE)
    file.path.write_bytes(b"{}\n")
    with pytest.raises(TombstoneError, match="could come back"):
        file.read()


KILLED = """
import os, signal, sys, time
from pathlib import Path
from federation_server.forgetting import forgetting, tombstones
from federation_server.database import writing
from federation_server.serve import open_installation

note = tombstones.note
def die(*arguments):
    note(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

tombstones.note = die
made = open_installation(Path(sys.argv[1]))
with writing(made.engine) as connection:
    forgetting.forget(connection, made.forgetter, sys.argv[2], now=int(time.time()))
"""


def test_killed_between_the_tombstone_and_the_commit(tmp_path: Path, database_url: str) -> None:
    """After kill -9 there the database still has the member; whoever opens the server next forgets it to the end."""
    made = make_server(tmp_path / "server", database=database_url, quorum=2)
    with running(made):
        ada, bob = member(made), member(made)
        first = ada.theta()[0]
        told = ada.announcement()
        assert ada.update(1.0, told).ok
        assert bob.update(3.0, told).ok
        assert ada.theta()[0] == first + 2.0
    given = [str(made.folder / "server.toml"), bob.device]
    done = copied.run(given, variables=os.environ, cwd=tmp_path, code=KILLED)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert members(made.engine) == {ada.device, bob.device}
    opened = open_installation(made.folder / "server.toml")
    assert members(opened.engine) == {ada.device}
    with reading(opened.engine) as connection:
        assert group.newest(connection).model.theta[0] == pytest.approx(first + 1.0)
        assert len(tombstones.in_database(connection)) == 1
    made.engine.dispose()
    opened.engine.dispose()
