"""A backup holds what cannot be made anew, and a restore gives nothing back that was spent."""

from __future__ import annotations

import sqlite3
import stat
import zipfile
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from app.backup import NoBackupError, read_backup, restore, write_backup
from app.belongings import InUseError
from app.paths import Paths
from app.store import StateError, Store
from app.tui.remembered import Remembered, keep_remembered
from indexer.storage.file_lock import FileLock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.conftest import Device


def paths_of(device: Device) -> Paths:
    return Paths(config_dir=device.config_file.parent, data_dir=device.data_dir)


def spend(paths: Paths, group: str, round: int, *, member: bytes = b"") -> None:
    """An entry of the ledger and, where named, a membership."""
    with Store(paths.state) as store, store.transaction() as db:
        row = (1_700_000_000, group, 1, round, 10, "{}", 0, "sum")
        db.execute(
            "INSERT INTO privacy_ledger (time, group_id, lineage, round, n_params, mechanism, exact_count, against)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        if member:
            db.execute("INSERT OR REPLACE INTO membership VALUES (1, ?)", (member,))


def in_ledger(paths: Paths) -> list[tuple[str, int]]:
    with Store(paths.state) as store:
        return sorted((group, round) for group, round in store.rows("SELECT group_id, round FROM privacy_ledger"))


def members(paths: Paths) -> list[bytes]:
    with Store(paths.state) as store:
        return [bytes(record) for (record,) in store.rows("SELECT record FROM membership")]


def test_a_life_goes_on_after_purge_and_restore(device: Device) -> None:
    """Picks, saved searches, folders, settings and the screen's choices are as before, and learning goes on."""
    device.index()
    device.config_file.write_text("[history]\nenabled = true\n")
    for _ in range(3):
        device.run("search", "fish")
        assert device.run("open", "3", "--print").returncode == 0
    device.run("saved", "add", "a", "heron")
    paths = paths_of(device)
    keep_remembered(paths.data_dir, Remembered(order="name"))
    before = [
        device.run(*line).stdout for line in (("search", "fish"), ("model",), ("stats",), ("history",), ("saved",))
    ]
    target = device.home / "kept.zip"
    assert device.run("backup", "--to", str(target)).returncode == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert device.run("purge", "--yes").returncode == 0
    assert not device.data_dir.exists()
    done = device.run("restore", str(target))
    assert (done.returncode, "restored" in done.stderr) == (0, True)
    assert device.run("index").returncode == 0
    after = [
        device.run(*line).stdout for line in (("search", "fish"), ("model",), ("stats",), ("history",), ("saved",))
    ]
    assert after == before
    assert (paths.data_dir / "screen.json").exists()
    device.run("search", "fish")
    device.run("open", "1", "--print")
    assert device.run("model").stdout != before[1]


def test_what_was_spent_stays_spent(device: Device) -> None:
    """An older backup brings back no ledger, no membership that ended, and no number of a page that was sent."""
    device.data_dir.mkdir()
    paths, older = paths_of(device), device.home / "older.zip"
    spend(paths, "g", 1, member=b"member of g")
    write_backup(paths, older, now=1.0)
    spend(paths, "g", 2)
    with Store(paths.state) as store, store.transaction() as db:
        db.execute("INSERT INTO interactions (id, manifest_hash, record) VALUES (57, '', x'')")
        db.execute("DELETE FROM membership")
    restore(paths, older)
    assert in_ledger(paths) == [("g", 1), ("g", 2)]
    assert members(paths) == []
    with Store(paths.state) as store, store.transaction() as db:
        db.execute("INSERT INTO interactions (manifest_hash, record) VALUES ('', x'')")
        assert store.rows("SELECT id FROM interactions") == [(58,)]
    spend(paths, "h", 1, member=b"member of h")
    restore(paths, older)
    assert (in_ledger(paths), members(paths)) == ([("g", 1), ("g", 2), ("h", 1)], [b"member of h"])


def test_a_device_that_lost_all_is_a_member_again(device: Device) -> None:
    """Where nothing is known of any group the backup says it all; the server tells what its ledger does not know."""
    device.data_dir.mkdir()
    paths, target = paths_of(device), device.home / "kept.zip"
    spend(paths, "g", 1, member=b"member of g")
    write_backup(paths, target, now=1.0)
    paths.state.unlink()
    with Store(paths.state):
        restore(paths, target)
    assert (in_ledger(paths), members(paths)) == ([("g", 1)], [b"member of g"])


def test_what_is_no_backup_changes_nothing(device: Device, tmp_path: Path) -> None:
    """Another file, another ZIP file, a damaged one, one of a newer program and a taken name are refused."""
    device.index()
    paths, target = paths_of(device), tmp_path / "kept.zip"
    write_backup(paths, target, now=1.0)
    with pytest.raises(NoBackupError, match="is there already"):
        write_backup(paths, target, now=2.0)
    with pytest.raises(NoBackupError, match=r"there is no folder .*none$"):
        write_backup(paths, tmp_path / "none" / "kept.zip", now=2.0)
    before = paths.key.read_bytes() if paths.key.exists() else b""
    whole = target.read_bytes()
    (tmp_path / "damaged").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text").write_text("no backup")
    with zipfile.ZipFile(tmp_path / "other", "w") as other:
        other.writestr("a", "b")
    with zipfile.ZipFile(tmp_path / "newer", "w") as newer:
        newer.writestr("backup.json", '{"v":2,"made":1}')
    for place in range(0, len(whole), len(whole) // 300 + 1):
        (tmp_path / "changed").write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with suppress(NoBackupError):  # a byte that says nothing, as of a time, may change
            read_backup(tmp_path / "changed")
    for name in ("damaged", "text", "other", "newer"):
        with pytest.raises(NoBackupError):
            restore(paths, tmp_path / name)
    assert (paths.key.read_bytes() if paths.key.exists() else b"") == before
    assert read_backup(target)[0].made == 1.0


def test_a_damaged_state_is_not_kept(device: Device, tmp_path: Path) -> None:
    """Not in a page that nobody asks for either: a backup that could not be restored is none."""
    device.data_dir.mkdir()
    paths = paths_of(device)
    with Store(paths.state) as store, store.transaction() as db:
        db.executemany("INSERT INTO history (time, query) VALUES (1, ?)", [("word " * 100,)] * 200)
    damaged = bytearray(paths.state.read_bytes())
    damaged[-40_000:-30_000] = bytes(range(250)) * 40
    paths.state.write_bytes(damaged)
    with pytest.raises(StateError, match="is damaged"):
        write_backup(paths, tmp_path / "kept.zip", now=1.0)
    assert list(tmp_path.glob("kept*")) == []


def test_nothing_is_restored_while_somebody_follows_changes(device: Device, tmp_path: Path) -> None:
    """As with purge the message says who; a backup may be written meanwhile."""
    device.index()
    paths, target = paths_of(device), tmp_path / "kept.zip"
    with closing(FileLock(paths.watch_lock)) as lock:
        lock.take()
        lock.write("the watcher")
        write_backup(paths, target, now=1.0)
        with pytest.raises(InUseError, match="the watcher is running"):
            restore(paths, target)
    restore(paths, target)
    with closing(sqlite3.connect(paths.state)) as state:
        assert state.execute("PRAGMA quick_check").fetchone() == ("ok",)
