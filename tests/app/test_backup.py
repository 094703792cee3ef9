"""A backup holds what cannot be made anew, and a restore refunds nothing that was spent."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
import pytest

from app.backup import NoBackupError, read_backup, restore, write_backup
from app.data_folder import create_data_folder
from app.federation import membership
from app.learning.pick_keys import KEY_BYTES, bring_key, load_key
from app.learning.picks import Picks
from app.own_files import InUseError, belongings, strangers, unfinished
from app.paths import Paths
from app.store import StateError, Store
from app.tui.remembered_choices import Remembered, keep_remembered
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
    """Picks, saved searches, folders, settings and the screen's choices are as before, and learning continues."""
    device.index()
    device.config_file.write_text("[history]\nenabled = true\n")
    for _ in range(3):
        device.run("search", "fish")
        assert device.run("open", "3", "--print").returncode == 0
    device.run("saved", "add", "a", "heron")
    paths = paths_of(device)
    keep_remembered(paths.data_dir, Remembered(dense=True))
    before = shown(device)
    target = device.home / "kept.zip"
    done = device.run("backup", "--to", str(target))
    assert (done.returncode, f"{target}: " in done.stderr, "searches.toml" in done.stderr) == (0, True, True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert device.run("purge", "--yes").returncode == 0
    assert not device.data_dir.exists()
    done = device.run("restore", str(target))
    assert (done.returncode, "restored" in done.stderr) == (0, True)
    assert device.run("index").returncode == 0
    after = shown(device)
    assert after == before
    assert (paths.data_dir / "screen.json").exists()
    device.run("search", "fish")
    device.run("open", "1", "--print")
    assert shown(device)[1] != before[1]


def shown(device: Device) -> list[str]:
    """What the program says of a life; of past queries without their minute."""
    found, model, stats, history, saved = (
        device.run(*line).stdout for line in (("search", "fish"), ("model",), ("stats",), ("history",), ("saved",))
    )
    return [found, model, stats, *(line.partition("\t")[2] for line in history.splitlines()), saved]


def test_what_was_spent_stays_spent(device: Device) -> None:
    """An older backup brings back no ledger, no ended membership, and no number of a page that was already sent."""
    create_data_folder(paths_of(device))
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
    """Without a state the backup decides everything; the server tells what its ledger does not know."""
    paths, target = paths_of(device), device.home / "kept.zip"
    create_data_folder(paths)
    spend(paths, "g", 1, member=b"member of g")
    write_backup(paths, target, now=1.0)
    paths.state.unlink()
    restore(paths, target)
    assert (in_ledger(paths), members(paths)) == ([("g", 1)], [b"member of g"])


def test_who_left_before_anything_was_sent_stays_away(device: Device) -> None:
    """`leave --local` leaves no receipt and no ledger entry, but the existing state is enough to stay out."""
    create_data_folder(paths_of(device))
    paths, target = paths_of(device), device.home / "kept.zip"
    with Store(paths.state) as store, store.transaction() as db:
        db.execute("INSERT INTO membership VALUES (1, x'aa')")
    write_backup(paths, target, now=1.0)
    with Store(paths.state) as store:
        membership.erase(store)
    restore(paths, target)
    assert members(paths) == []


def with_picks(paths: Paths, letter: bytes, *, n_words: int = 0) -> None:
    """A key, a pick under it, and a history of so many words that no packing makes short."""
    create_data_folder(paths)
    paths.config_dir.mkdir(exist_ok=True)
    paths.key.write_bytes(letter * KEY_BYTES)
    with Store(paths.state) as store, store.transaction() as db:
        Picks(store, letter * KEY_BYTES).record(["fish"], "/notes/fish", "", type="text", now=1e9)
        db.executemany("INSERT INTO history (time, query) VALUES (1, ?)", [(os.urandom(8).hex(),)] * n_words)


def n_picks(paths: Paths) -> int:
    with Store(paths.state) as store:
        return Picks(store, load_key(paths.key, store)).count()


def backup_of_another(folder: Path, *, n_words: int = 0) -> Path:
    """A backup of everything, from a device with a key of its own."""
    other = Paths(config_dir=folder / "other config", data_dir=folder / "other data")
    with_picks(other, b"b", n_words=n_words)
    for path in (other.roots, other.config_file, other.saved):
        path.write_text("")
    write_backup(other, folder / "other.zip", now=1.0)
    return folder / "other.zip"


def everything(paths: Paths) -> dict[str, bytes]:
    """The content of all files but what SQLite writes anew each time it looks."""
    folders = (paths.data_dir, paths.config_dir)
    files = (path for folder in folders for path in sorted(folder.iterdir()) if path.is_file())
    return {path.name: path.read_bytes() for path in files if path != paths.state}


def test_a_restore_that_fails_changes_nothing(device: Device, tmp_path: Path) -> None:
    """With a folder in place of a file, a dangling link or a file that cannot grow, picks stay as they were."""
    paths, source = paths_of(device), backup_of_another(tmp_path, n_words=30_000)
    with_picks(paths, b"a")
    before = everything(paths)
    paths.saved.mkdir()
    with pytest.raises(NoBackupError, match=r"searches\.toml is a folder"):
        restore(paths, source)
    paths.saved.rmdir()
    paths.saved.symlink_to(tmp_path / "none" / "searches.toml")
    with pytest.raises(FileNotFoundError):
        restore(paths, source)
    paths.saved.unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        with pytest.raises(StateError, match=r"state\.sqlite"):
            restore(paths, source)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (everything(paths), n_picks(paths)) == (before, 1)
    restore(paths, source)
    assert (n_picks(paths), paths.key.read_bytes()) == (1, b"b" * KEY_BYTES)


def test_a_key_comes_with_its_state_alone(device: Device, tmp_path: Path) -> None:
    """The picks of the present state are still named by the present key."""
    paths = paths_of(device)
    with_picks(paths, b"a")
    other = Paths(config_dir=tmp_path / "other", data_dir=tmp_path / "other")
    create_data_folder(other)
    other.key.write_bytes(b"b" * KEY_BYTES)
    write_backup(other, tmp_path / "key.zip", now=1.0)
    restore(paths, tmp_path / "key.zip")
    assert n_picks(paths) == 1


def test_what_is_here_is_named_and_asked_for(device: Device, tmp_path: Path) -> None:
    """Settings alone are enough to ask; a link to them stays a link, and broken settings are no obstacle."""
    paths, source = paths_of(device), backup_of_another(tmp_path)
    kept_elsewhere = device.home / "dotfiles.toml"
    kept_elsewhere.write_text("[[[broken")
    paths.config_file.symlink_to(kept_elsewhere)
    asked = device.run("restore", str(source))
    assert (asked.returncode != 0, f"are lost: {paths.config_file}. Restore?" in asked.stderr) == (True, True)
    assert kept_elsewhere.read_text() == "[[[broken"
    assert device.run("backup", "--to", str(device.home / "broken.zip")).returncode == 0
    assert device.run("restore", "--yes", str(source)).returncode == 0
    assert (paths.config_file.is_symlink(), kept_elsewhere.read_text()) == (True, "")


def test_nothing_is_restored_while_a_screen_holds_the_state(device: Device, tmp_path: Path) -> None:
    """A process that has the state open for writing would go on with the removed file."""
    paths, source = paths_of(device), backup_of_another(tmp_path)
    with_picks(paths, b"a")
    with Store(paths.state) as held:
        assert held.value("x") is None
        with pytest.raises(InUseError, match=r"another process uses .*state\.sqlite; stop it first"):
            restore(paths, source)
    assert n_picks(paths) == 1
    restore(paths, source)


def test_a_restore_that_is_killed_leaves_nothing_unknown(device: Device, tmp_path: Path) -> None:
    """`purge` names what it wrote, and the next restore removes it."""
    paths, source = paths_of(device), backup_of_another(tmp_path)
    with_picks(paths, b"a")
    left = []
    for step in itertools.count(1):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED_AT_A_NAME, str(source), str(step)], env=device.environment(), check=False
        )
        assert killed.returncode in (0, -signal.SIGKILL)
        left.append(unfinished(paths))
        assert (n_picks(paths), strangers(paths)) == (1, [])
        assert set(left[-1]) <= {one.path for one in belongings(paths, home=device.home)}
        if not killed.returncode:
            break
    assert {path.name.partition(".foltr-")[0] for path in left[0]} == {
        "roots.json", "config.toml", "searches.toml",
    }  # fmt: skip
    assert (left[-1], paths.key.read_bytes()) == ([], b"b" * KEY_BYTES)


KILLED_AT_A_NAME = """
import os, signal, sys
from pathlib import Path
from app import backup
from app.paths import Paths
names = iter(range(int(sys.argv[2]) - 1))
def killed(event, arguments):
    if event in ("os.rename", "os.link") and next(names, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(killed)
backup.restore(Paths.from_environment(), Path(sys.argv[1]))
"""


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_key_of_no_use_is_neither_kept_nor_given_back(device: Device, tmp_path: Path, content: bytes) -> None:
    """No backup is made, and the message says why; from an older program's backup all but the key is restored."""
    paths, source = paths_of(device), backup_of_another(tmp_path)
    with_picks(paths, b"a")
    paths.key.write_bytes(content)
    done = device.run("backup", "--to", str(tmp_path / "kept.zip"))
    assert (done.returncode, f"{len(content)} bytes, not 32" in done.stderr) == (2, True)
    assert not (tmp_path / "kept.zip").exists()
    paths.key.write_bytes(b"a" * KEY_BYTES)
    about, inside = read_backup(source)
    inside["key"] = content
    about = msgspec.structs.replace(about, sha256={name: sha256(data).hexdigest() for name, data in inside.items()})
    with zipfile.ZipFile(tmp_path / "older.zip", "w") as archive:
        for name, data in {"backup.json": msgspec.json.encode(about), **inside}.items():
            archive.writestr(name, data)
    restore(paths, tmp_path / "older.zip")
    assert (n_picks(paths), paths.key.read_bytes()) == (0, b"a" * KEY_BYTES)


def test_a_backup_between_a_restore_and_its_end_has_the_key_of_its_state(device: Device, tmp_path: Path) -> None:
    """The key that is in the state until it is put in place is the one that names its picks."""
    paths = paths_of(device)
    with_picks(paths, b"b")
    with Store(paths.state) as store:
        bring_key(store, b"b" * KEY_BYTES)
    paths.key.write_bytes(b"a" * KEY_BYTES)
    write_backup(paths, tmp_path / "kept.zip", now=1.0)
    assert read_backup(tmp_path / "kept.zip")[1]["key"] == b"b" * KEY_BYTES


def test_who_waits_for_a_restore_goes_on_with_what_it_brought(device: Device, tmp_path: Path) -> None:
    """A process that opened the state while a restore held it reads and keeps what was restored."""
    paths = paths_of(device)
    with_picks(paths, b"a")
    with Store(tmp_path / "restored") as restored, Store(paths.state) as held:
        restored.set_value("x", b"1")
        held.hold_alone()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(Store, paths.state)
            held.become(restored)
            held.close()
            with waiting.result() as other:
                other.set_value("y", b"2")
    with Store(paths.state) as store:
        assert (store.value("x"), store.value("y"), n_picks(paths)) == (b"1", b"2", 0)


def test_any_changed_byte_is_refused_or_says_nothing(device: Device, tmp_path: Path) -> None:
    """Several hundred places of the file, and each byte of the directory at its end, are changed in three ways."""
    source = backup_of_another(tmp_path)
    whole, said = source.read_bytes(), read_backup(source)
    directory = whole.index(b"PK\1\2")
    places = [*range(0, directory, directory // 400 + 1), *range(directory, len(whole))]
    n_refused = 0
    for place in places:
        for value in {whole[place] ^ 0xFF, whole[place] ^ 1, 14} - {whole[place]}:
            (tmp_path / "changed").write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                assert read_backup(tmp_path / "changed") == said
            except NoBackupError:
                n_refused += 1
    assert n_refused > len(places)


def test_a_state_that_cannot_be_read_is_no_backup(device: Device, tmp_path: Path) -> None:
    """`--verify` reads the state completely and names the file; an impossible date is refused, too."""
    source = backup_of_another(tmp_path)
    about, _ = read_backup(source)
    garbage = b"garbage" * 1000
    for name, changed in {
        "garbage": msgspec.structs.replace(about, sha256={"state.sqlite": sha256(garbage).hexdigest()}),
        "dateless": msgspec.structs.replace(about, made=1e300, sha256={}),
    }.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("backup.json", msgspec.json.encode(changed))
            if changed.sha256:
                archive.writestr("state.sqlite", garbage)
        refused = device.run("restore", "--verify", str(tmp_path / name))
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert f"{tmp_path / name} is " in refused.stderr


def test_of_backups_at_once_one_has_the_name(device: Device, tmp_path: Path) -> None:
    """The others say that the name is taken; no unfinished file stays, not even of an earlier killed backup."""
    backup_of_another(tmp_path)
    other = Paths(config_dir=tmp_path / "other config", data_dir=tmp_path / "other data")
    (tmp_path / "kept.zip.foltr-unfinished-abcdefgh").write_bytes(b"PK")

    def made(number: int) -> float:
        try:
            write_backup(other, tmp_path / "kept.zip", now=float(number))
        except NoBackupError as error:
            return 0.0 if "is there already" in str(error) else -1.0
        return float(number)

    with ThreadPoolExecutor(8) as pool:
        numbers = sorted(pool.map(made, range(1, 9)))
    assert numbers[:7] == [0.0] * 7
    assert read_backup(tmp_path / "kept.zip")[0].made == numbers[7]
    assert [path.name for path in tmp_path.glob("kept*")] == ["kept.zip"]


@pytest.mark.skipif(sys.platform != "linux", reason="a folder that takes no files")
def test_a_folder_that_takes_none_is_said_under_the_name_that_was_asked_for(device: Device) -> None:
    """The message has the requested name, not that of the unfinished file."""
    device.index()
    done = device.run("backup", "--to", "/proc/kept.zip")
    assert (done.returncode, done.stderr) == (2, "foltr-search: No such file or directory: /proc/kept.zip\n")


def test_a_file_of_before_1980_is_kept(device: Device, tmp_path: Path) -> None:
    """A file whose date ZIP cannot store is backed up all the same."""
    device.config_file.write_text("[history]\n")
    os.utime(device.config_file, (1, 1))
    assert write_backup(paths_of(device), tmp_path / "kept.zip", now=1.0) == ["config.toml"]


def test_a_backup_in_an_indexed_folder_is_not_found(device: Device) -> None:
    """Neither settings nor searches in it are found; its name is, and the reason is listed."""
    device.config_file.write_text("# kestrel\n[history]\nenabled = true\n")
    device.run("saved", "add", "merlin", "osprey")
    device.index()
    assert device.run("backup", "--to", str(device.notes / "kept.zip")).returncode == 0
    device.index()
    for word in ("kestrel", "osprey", "config"):
        assert device.run("search", word).returncode == 1
    assert "kept.zip" in device.run("search", "name:kept").stdout
    assert "a backup of foltr-search, which is not read" in device.run("status", "--failures").stdout


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
        newer.writestr("backup.json", '{"backup of":"foltr-search","v":2,"made":1,"sha256":{}}')
    for name in ("damaged", "text", "other", "newer"):
        with pytest.raises(NoBackupError):
            restore(paths, tmp_path / name)
    assert (paths.key.read_bytes() if paths.key.exists() else b"") == before
    assert read_backup(target)[0].made == 1.0


def test_a_damaged_state_is_not_kept(device: Device, tmp_path: Path) -> None:
    """Damage in any page refuses the backup, because it could not be restored."""
    create_data_folder(paths_of(device))
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
    """The message names the process, as with purge; a backup may be written meanwhile."""
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
