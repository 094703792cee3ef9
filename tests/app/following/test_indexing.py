"""Indexing with the user's settings and folders."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from app.chosen_folders import remember_root
from app.data_folder import create_data_folder
from app.following.following import follow_changes
from app.following.indexing import crawl_rules, fold_moves, update_index, why
from app.learning.pick_keys import load_key
from app.learning.picks import Picks
from app.settings import IndexSettings, LearningSettings, Paths, Settings
from app.store import Store
from indexer.progress import Progress
from indexer.storage.catalogue import Catalogue
from indexer.storage.file_lock import FileLock
from indexer.storage.index import Index
from tests.waiting import until

if TYPE_CHECKING:
    from tests.app.conftest import Device

SETTINGS = Settings(index=IndexSettings(workers=1))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(config_dir=tmp_path / "config", data_dir=tmp_path / "data")


@pytest.fixture
def notes(tmp_path: Path, paths: Paths) -> Path:
    """A remembered folder with two files."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("heron")
    (folder / "b.txt").write_text("egret")
    remember_root(paths, folder)
    return folder


def known(paths: Paths) -> set[str]:
    catalogue = Catalogue.open(paths.catalogue)
    try:
        return {Path(path).name for path in catalogue.known("/")}
    finally:
        catalogue.close()


def test_the_chosen_folders_are_indexed(paths: Paths, notes: Path) -> None:
    """Without roots the remembered folders are used; progress ends idle and complete."""
    reports: list[Progress] = []
    summary = update_index(SETTINGS, paths, on_progress=reports.append)
    assert (summary.n_new, summary.n_documents) == (2, 2)
    assert known(paths) == {"a.txt", "b.txt"}
    assert (reports[-1].phase, reports[-1].n_done, reports[-1].n_total) == ("idle", 2, 2)
    assert reports[-1].generation == summary.generation > 0


def test_nothing_is_written_outside_the_data_folder_and_all_of_it_is_private(paths: Paths, notes: Path) -> None:
    """The data folder has mode 0700 and its files 0600; the indexed folder is left as it was."""
    before = {path.name: path.stat().st_mtime_ns for path in notes.iterdir()}
    update_index(SETTINGS, paths)
    assert {path.name: path.stat().st_mtime_ns for path in notes.iterdir()} == before
    assert paths.data_dir.stat().st_mode & 0o777 == 0o700
    assert paths.index.stat().st_mode & 0o777 == 0o700
    assert paths.catalogue.stat().st_mode & 0o777 == 0o600


def test_a_data_folder_inside_a_root_is_not_indexed(tmp_path: Path) -> None:
    """The program never indexes its own folders, even if they are among the user's files."""
    (tmp_path / "a.txt").write_text("heron")
    paths = Paths(config_dir=tmp_path / "device", data_dir=tmp_path / "device")
    for _ in range(2):
        update_index(SETTINGS, paths, roots=[str(tmp_path)])
    assert known(paths) == {"a.txt"}
    assert why(SETTINGS, paths, paths.catalogue).status == "outside"
    assert str(paths.data_dir) in crawl_rules(SETTINGS, paths).never


def test_rebuilding_says_so_and_finds_the_same(paths: Paths, notes: Path) -> None:
    """`rebuild` reads everything again and leaves a note."""
    update_index(SETTINGS, paths)
    summary = update_index(SETTINGS, paths, rebuild=True)
    assert summary.n_new == 2
    assert "indexed again" in summary.note
    assert known(paths) == {"a.txt", "b.txt"}


def test_damage_found_on_the_way_is_repaired_in_the_same_run(paths: Paths, notes: Path) -> None:
    """A segment that vanished under a sound table of contents leads to a rebuild, not to an error."""
    update_index(SETTINGS, paths)
    for segment in paths.index.glob("*.trm"):
        segment.unlink()
    (notes / "c.txt").write_text("crane")
    summary = update_index(SETTINGS, paths)
    assert "indexed again" in summary.note
    assert known(paths) == {"a.txt", "b.txt", "c.txt"}
    assert len(Index.open(paths.index).snapshot().documents) == 3


def test_settings_become_rules(paths: Paths, notes: Path) -> None:
    """Exclusions, hidden files, size caps, archives and names are taken from the settings."""
    (notes / ".hidden.txt").write_text("x")
    (notes / "big.html").write_bytes(b"x" * 2_000)
    (notes / "z.zip").write_bytes(b"PK\5\6" + bytes(18))
    chosen = IndexSettings(workers=1, exclude=["b.*"], hidden=True, archives=False, max_file_mb={"html": 0.001})
    update_index(Settings(index=chosen), paths)
    assert known(paths) == {"a.txt", ".hidden.txt", "big.html", "z.zip"}
    update_index(Settings(index=msgspec.structs.replace(chosen, names=False)), paths)
    assert known(paths) == {"a.txt", ".hidden.txt"}


def test_why_answers_for_relative_paths_and_through_links(
    paths: Paths, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path may be given as the user sees it: from the current folder, or through a link to the root."""
    update_index(SETTINGS, paths)
    (notes.parent / "link").symlink_to(notes)
    monkeypatch.chdir(notes)
    for given in ("a.txt", "../notes/a.txt", notes.parent / "link" / "a.txt"):
        assert why(SETTINGS, paths, given).status == "indexed"
    assert why(SETTINGS, paths, "/").status == "outside"


def test_why_knows_a_path_however_its_letters_are_composed(paths: Paths, notes: Path) -> None:
    """A file whose name is composed is found by the decomposed one, and the other way round."""
    (notes / "caf\u00e9.txt").write_text("heron\n")
    (notes / "the\u0301.txt").write_text("heron\n")
    update_index(SETTINGS, paths)
    for given in ("cafe\u0301.txt", "th\u00e9.txt"):
        assert why(SETTINGS, paths, notes / given).status == "indexed"


def test_picks_follow_a_moved_file(paths: Paths, notes: Path) -> None:
    """What was learned about a file is known under its new path after the next scan."""
    update_index(SETTINGS, paths)
    now = time.time()
    with Store(paths.state) as store:
        picks = Picks(store, load_key(paths.key, store))
        for _ in range(3):
            picks.record(["heron"], str(notes / "a.txt"), "", type="text", now=now)
    (notes / "a.txt").rename(notes / "moved.txt")
    assert update_index(SETTINGS, paths).n_moved == 1
    with Store(paths.state) as store:
        picks = Picks(store, load_key(paths.key, store))
        documents = [(str(notes / name), "", "text") for name in ("moved.txt", "b.txt")]
        opened = picks.usage(["heron"], documents, now=now).same_query
    assert opened[0] > opened[1]


def test_picks_stay_out_of_it_when_they_are_switched_off(paths: Paths, notes: Path) -> None:
    """If nothing is remembered, a move makes no state."""
    settings = Settings(index=SETTINGS.index, learning=LearningSettings(remember_picks=False))
    update_index(settings, paths)
    (notes / "a.txt").rename(notes / "moved.txt")
    update_index(settings, paths)
    assert not paths.state.exists()


def test_the_files_of_a_moved_folder_are_one_move(tmp_path: Path) -> None:
    """Moves fold up to the folder that moved, and no further than what is gone from its old place."""
    (tmp_path / "new").mkdir()
    old, new = str(tmp_path / "old"), str(tmp_path / "new" / "old")
    moves = [(f"{old}/x/{name}", f"{new}/x/{name}") for name in "abc"]
    assert fold_moves(moves) == [(old, new)]
    (tmp_path / "old" / "x").mkdir(parents=True)
    assert fold_moves(moves) == moves
    assert fold_moves([("/gone/a", "/gone/b")]) == [("/gone/a", "/gone/b")]


def test_watching_keeps_the_index_up_to_date_until_it_is_stopped(
    paths: Paths, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started on an empty index, it indexes, follows, and ends when asked."""
    monkeypatch.setattr("app.following.following.give_way", lambda: None)  # there is no way back for this process
    reports: list[Progress] = []
    stop = threading.Event()
    thread = threading.Thread(
        target=follow_changes, args=(SETTINGS, paths), kwargs={"on_progress": reports.append, "stop": stop}
    )
    thread.start()
    try:
        until(lambda: [report.phase for report in reports].count("watching") >= 2)
        (notes / "c.txt").write_text("crane")
        until(lambda: known(paths) == {"a.txt", "b.txt", "c.txt"})
    finally:
        stop.set()
        thread.join()


def test_two_versions_of_the_program_do_not_undo_what_the_other_made(device: Device) -> None:
    """If another version rebuilds the index while this one follows changes, this one ends and destroys nothing."""
    device.index()
    command = [sys.executable, "-m", "app", "watch", "--events"]
    process = subprocess.Popen(command, env=device.environment(), cwd=device.home, stdout=-1, stderr=-1)
    try:
        assert process.stdout is not None
        assert any(b'"watching"' in line for line in process.stdout)
        for table in (device.data_dir / "index").glob("_*.toc"):
            table.rename(table.with_name("_v99_1.toc"))
        (device.notes / "new.txt").write_text("bittern")
        assert b"(_v99_1.toc) works here now" in process.communicate(timeout=300)[1]
        assert process.returncode == 2
    finally:
        process.kill()
    assert Index.of_another_version(device.data_dir / "index") == "_v99_1.toc"


def test_who_follows_the_changes_is_said_once(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again only when another process does, so that a waiting screen has nothing to redraw."""
    monkeypatch.setattr("app.following.following.give_way", lambda: None)
    monkeypatch.setattr("app.following.following.WAIT_SECONDS", 0.0)
    create_data_folder(paths)
    reports: list[Progress] = []
    names, stop = iter("aaabb"), threading.Event()
    with closing(FileLock(paths.watch_lock)) as place:
        assert place.take()

        def read(_: FileLock) -> str:
            if (name := next(names, "")) == "":
                stop.set()
            return name or "b"

        monkeypatch.setattr(FileLock, "read", read)
        follow_changes(SETTINGS, paths, on_progress=reports.append, stop=stop)
    assert [report.note for report in reports] == ["a follows the changes", "b follows the changes"]


def test_two_watchers_take_turns(device: Device) -> None:
    """The second one says who follows the changes, waits at low priority, and takes over when the first ends."""
    device.index()

    def watcher() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "app", "watch", "--events"], env=device.environment(), cwd=device.home,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def reported(process: subprocess.Popen[bytes], wanted: bytes) -> bool:
        assert process.stdout is not None
        return any(wanted in line for line in process.stdout)

    first = watcher()
    try:
        assert reported(first, b'"idle"')
        assert os.getpriority(os.PRIO_PROCESS, first.pid) == min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
        second = watcher()
        try:
            assert reported(second, f'"watch (process {first.pid}) follows the changes'.encode())
            first.kill()
            (device.notes / "bittern.txt").write_text("a bittern booms", encoding="ascii")
            assert reported(second, b'"scanning"')
            assert reported(second, b'"idle"')
            assert "bittern.txt" in device.run("search", "bittern").stdout
        finally:
            second.kill()
            second.communicate()
    finally:
        first.kill()
        first.communicate()
