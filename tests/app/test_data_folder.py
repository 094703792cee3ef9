"""The data folder is one that the program made, or an empty one; foreign folders are never touched."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.data_folder import MARKER, create_data_folder, make_private
from app.paths import Paths, SettingsError
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings

if TYPE_CHECKING:
    from tests.app.conftest import Device

COMMANDS = (
    ("index", "{notes}"), ("search", "fish"), ("status",), ("open", "1"), ("stats",), ("why", "{notes}"),
    ("serve", "--no-watch"), ("watch",), ("saved",), ("history",), ("model", "show"), ("privacy",),
    ("purge", "--yes"), ("restore", "{backup}", "--yes"), ("backup", "--to", "{backup}.new"),
    ("join", "https://x.invalid/#a"), ("config", "show"),
)  # fmt: skip


def foreign(folder: Path) -> Path:
    """A folder of somebody else, as the system's for temporary files may look."""
    (folder / "service").mkdir(parents=True)
    (folder / "service" / "inner").write_text("theirs")
    (folder / "mail").mkdir()
    (folder / "mail" / f"{'a' * 24}.eml").write_text("theirs")
    for name, mode in (("open.txt", 0o666), ("run.sh", 0o755), ("key", 0o640), ("index", 0o604)):
        (folder / name).write_text("theirs")
        (folder / name).chmod(mode)
    (folder / "link").symlink_to("open.txt")
    (folder / "service").chmod(0o777)
    folder.chmod(0o1777)
    return folder


def seen(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time and content of everything in a folder, and of itself."""
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in (folder, *sorted(folder.rglob("*")))
    }


@pytest.fixture
def backup(device: Device) -> Path:
    device.index()
    assert device.run("backup", "--to", str(device.home / "kept.zip")).returncode == 0
    shutil.rmtree(device.data_dir)
    return device.home / "kept.zip"


def test_a_folder_of_others_is_refused_and_left_as_it_is(device: Device, backup: Path) -> None:
    """Every command refuses it in one line; no mode, time, name or content of it changes."""
    before = seen(foreign(device.data_dir))
    for command in COMMANDS:
        done = device.run(*(one.format(notes=device.notes, backup=backup) for one in command))
        assert done.returncode == 2, (command, done.stdout, done.stderr)
        assert done.stderr.startswith(f"foltr-search: {device.data_dir}: wanted an empty folder for the data"), command
        assert len(done.stderr.splitlines()) == 1
        assert seen(device.data_dir) == before, command
    assert "wanted an empty folder" in device.run("doctor").stdout
    assert seen(device.data_dir) == before


def test_a_file_is_no_data_folder(device: Device) -> None:
    """A file in its place gives one line, and stays."""
    device.data_dir.write_text("mine")
    done = device.run("index", str(device.notes))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "wanted a folder for the data, got a file" in done.stderr
    assert device.data_dir.read_text() == "mine"


def test_a_link_that_leads_nowhere_is_named(device: Device) -> None:
    """Such as a link to an unmounted disk; nothing is made in its place."""
    device.data_dir.symlink_to(device.home / "disk" / "data")
    done = device.run("index", str(device.notes))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert f"got a link to {device.home / 'disk' / 'data'}, which is not there" in done.stderr
    assert not (device.home / "disk").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a folder away")
def test_the_folder_of_another_user_is_told() -> None:
    """It is refused, because its owner could read the data."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        (folder := Path(place) / "data").mkdir(mode=0o755)
        if (child := os.fork()) == 0:
            os.setuid(65_534)
            code = 1
            try:
                create_data_folder(Paths(Path(place) / "config", folder))
            except SettingsError as error:
                code = 0 if "got one of another user" in str(error) else 1
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("what", ["nothing", "lost+found", ".DS_Store"])
def test_an_empty_folder_is_taken(device: Device, what: str) -> None:
    """So is a mount point, and one that a file manager has marked with its own entries, which stay."""
    device.data_dir.mkdir(mode=0o755)
    if what == "lost+found":
        (device.data_dir / what).mkdir(mode=0o755)
    elif what == ".DS_Store":
        (device.data_dir / what).touch(0o644)
    device.index()
    assert "heron.txt" in device.run("search", "heron").stdout
    assert stat.S_IMODE(device.data_dir.stat().st_mode) == 0o700
    assert (device.data_dir / MARKER).read_text().startswith("foltr-search made this folder")
    if what != "nothing":
        assert stat.S_IMODE((device.data_dir / what).stat().st_mode) == (0o755 if what == "lost+found" else 0o644)


def test_a_link_leads_to_the_data_folder(device: Device) -> None:
    """The folder behind the link is used if it is empty; a purge leaves the link and no data."""
    place = device.home / "elsewhere"
    place.mkdir()
    device.data_dir.symlink_to(place)
    device.index()
    assert "heron.txt" in device.run("search", "heron").stdout
    assert (place / MARKER).exists()
    assert device.run("purge", "--yes").returncode == 0
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("first", ["search", "refresh"])
def test_what_is_removed_under_an_open_search_can_be_used_again(device: Device, first: str) -> None:
    """As by a purge while the screen is open: the new folder is marked, and the next command uses it."""
    device.index()
    search = Search(Settings(), Paths(device.config_file.parent, device.data_dir))
    shutil.rmtree(device.data_dir)
    for what in (first, "search", "refresh"):
        search.search(SearchRequest("heron")) if what == "search" else search.refresh()
    search.close()
    device.index()
    assert "heron.txt" in device.run("search", "heron").stdout


def test_a_folder_for_settings_and_data_is_taken_though_settings_came_first(device: Device) -> None:
    """As on a system with one folder for both."""
    one = device.home / "one"
    one.mkdir()
    (one / "config.toml").write_text("[search]\npage_size = 7\n")
    done = device.run("index", str(device.notes), env={"FOLTR_CONFIG_DIR": str(one), "FOLTR_DATA_DIR": str(one)})
    assert done.returncode == 0, done.stderr


def test_many_begin_at_once(device: Device) -> None:
    """Processes that start together all accept the folder that one of them has just made."""
    commands = (("search", "fish"), ("status",), ("saved", "list"), ("search", "heron"), ("model", "show"), ("stats",))
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "app", *command], env=device.environment(), cwd=device.home, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        for command in commands
    ]  # fmt: skip
    said = [one.communicate(timeout=300)[1] for one in running]
    assert not any("wanted" in one for one in said), said
    assert (device.data_dir / MARKER).exists()


def test_a_purge_leaves_what_others_put_into_its_folders(device: Device) -> None:
    """Foreign files stay wherever they are, with their folders, and the purge says so."""
    device.index()
    others = [device.data_dir / name / "mine.txt" for name in ("", "index", "mail", "resident")]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        path.chmod(0o644)
    before = {path: seen(path) for path in others}
    done = device.run("purge", "--yes")
    assert done.returncode == 0, done.stderr
    assert {path: seen(path) for path in others} == before
    assert all(f"{path} does not belong to this program, so it stays" in done.stderr for path in others)
    left = {path for path in device.data_dir.rglob("*") if path.is_file()}
    assert left == set(others)
    assert os.path.isdir(device.notes)


def test_the_data_folder_and_its_files_are_closed_to_others(tmp_path: Path) -> None:
    """A readable data folder becomes 0700 and its files 0600; a foreign file in it is not changed."""
    paths = Paths(tmp_path / "config", tmp_path / "data")
    create_data_folder(paths)
    paths.index.mkdir(mode=0o755)
    paths.data_dir.chmod(0o755)
    others = (paths.index / "segment", paths.data_dir / "notes.txt", paths.data_dir / "catalogue.sqlite.bak")
    for file in (paths.state, paths.index / "v3_0a.doc", *others):
        file.write_bytes(b"")
        file.chmod(0o644)
    make_private(paths)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (paths.data_dir, paths.index)] == [0o700, 0o700]
    assert [stat.S_IMODE(p.stat().st_mode) for p in (paths.state, paths.index / "v3_0a.doc")] == [0o600, 0o600]
    assert [stat.S_IMODE(p.stat().st_mode) for p in others] == [0o644] * 3
