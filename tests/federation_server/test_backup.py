"""Backups: whole or refused, without updates, and good for either kind of database."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from federation_server import backup
from federation_server.backup import BackupError
from federation_server.database import connect, reading, upgrade, writing
from federation_server.group import group
from federation_server.rounds import rounds
from federation_server.rounds.closing import close_due
from federation_server.tables import metadata, updates
from federation_server.tables import rounds as rounds_table
from tests.federation_server.groups import NOW, OPEN, POLICY, START, VAULT, make_group, send


@pytest.fixture
def written(engine: Engine, tmp_path: Path) -> Path:
    """A backup of a group with three members, one closed round and one waiting update."""
    make_group(engine, settings=OPEN, n_members=3)
    for number in range(3):
        send(engine, number, START + 0.1)
    with writing(engine) as connection:
        assert close_due(connection, VAULT, POLICY, now=NOW) is not None
    send(engine, 0, START + 0.2)
    path = tmp_path / "group.backup"
    backup.write(engine, path, now=NOW)
    return path


def empty(tmp_path: Path) -> Engine:
    made = connect(f"sqlite:///{tmp_path}/restored.sqlite")
    upgrade(made)
    return made


def test_a_restored_group_goes_on(engine: Engine, written: Path, tmp_path: Path) -> None:
    """Every table but what members sent, nonces and the open round has the same rows; the open round opens anew."""
    restored = empty(tmp_path)
    report = backup.fill(restored, written)
    with reading(engine) as before, reading(restored) as after:
        for table in metadata.sorted_tables:
            counts = [c.execute(select(func.count()).select_from(table)).scalar_one() for c in (before, after)]
            if table.name in backup.LEFT_OUT:
                assert counts[1] == 0
            elif table is rounds_table:
                assert counts[0] - 1 == counts[1] == report.counts[table.name]
            else:
                assert counts[0] == counts[1] == report.counts[table.name]
        assert before.execute(select(func.count()).select_from(updates)).scalar_one() == 4
        assert group.newest(after).hash == group.newest(before).hash
        assert rounds.present(after) is None
    with writing(restored) as connection:
        close_due(connection, VAULT, POLICY, now=NOW)
        here = rounds.present(connection)
    assert here is not None
    assert (here.number, here.n_updates) == (2, 0)


def test_a_group_is_never_overwritten(engine: Engine, written: Path) -> None:
    """Restoring into a database that holds anything is refused, and changes nothing."""
    with pytest.raises(BackupError, match="not empty"):
        backup.fill(engine, written)


def test_a_backup_takes_the_place_of_backups_alone(engine: Engine, written: Path, tmp_path: Path) -> None:
    """Any other file of that name stays as it is, and so does one that only looks unfinished."""
    backup.write(engine, written, now=NOW + 1)
    assert backup.verify(written).made == NOW + 1
    for content in (b"", b"somebody's letter"):
        letter, draft = tmp_path / "letter", tmp_path / "letter.part"
        letter.write_bytes(content)
        draft.write_bytes(content)
        with pytest.raises(BackupError, match="is there and is no backup of foltr-server"):
            backup.write(engine, letter, now=NOW)
        assert (letter.read_bytes(), draft.read_bytes()) == (content, content)


def test_a_backup_that_fails_leaves_nothing(engine: Engine, written: Path) -> None:
    """Neither half a file nor a changed older backup, where the database refuses in the middle of it."""
    before = {path: path.read_bytes() for path in written.parent.glob("group.backup*")}
    with writing(engine) as connection:
        metadata.tables["tombstones"].drop(connection)
    with pytest.raises(SQLAlchemyError):
        backup.write(engine, written, now=NOW)
    assert {path: path.read_bytes() for path in written.parent.glob("group.backup*")} == before


def test_every_damage_is_found(written: Path, tmp_path: Path) -> None:
    """Cut short at any of fifty places, or with any of fifty bytes changed, a backup is refused."""
    whole = written.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(10, len(whole) - 1, 50).tolist():
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            written.write_bytes(damaged)
            with pytest.raises(BackupError):
                backup.verify(written)
    written.write_bytes(b"not a backup")
    with pytest.raises(BackupError):
        backup.verify(written)


def test_no_update_is_in_a_backup(written: Path) -> None:
    """The file's rows belong to the tables that are announced: neither what members sent for a round, nor nonces."""
    counts = backup.verify(written).counts
    left_out = {"updates", "nonces", "noises", "shares", "lists", "answers", "named", "depot_files"}
    assert set(counts) == {table.name for table in metadata.sorted_tables} - left_out
