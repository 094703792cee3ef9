"""Purge names and removes what the program has made, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.own_files import InUseError, belongings, own_units, remove, strangers
from app.paths import Paths
from app.resident.local_socket import AVAILABLE
from app.tui.remembered_choices import Remembered, keep_remembered
from indexer.storage.index import Index
from tests.app.resident.conftest import serving

if TYPE_CHECKING:
    from tests.app.conftest import Device


ROOT = Path(__file__).resolve().parents[2]


def paths_of(device: Device) -> Paths:
    return Paths(config_dir=device.config_file.parent, data_dir=device.data_dir)


def test_everything_that_an_ordinary_life_makes_is_known(device: Device) -> None:
    """Indexing, searching, opening and saving leave no file that the program does not recognise as its own."""
    device.index()
    device.run("search", "fish")
    device.run("open", "1", "--print")
    device.run("saved", "add", "a", "fish")
    device.config_file.write_text("[screen]\npreview = true\n")
    paths = paths_of(device)
    keep_remembered(paths.data_dir, Remembered(dense=True))
    assert strangers(paths) == []
    found = belongings(paths, home=device.home)
    assert {one.path.name for one in found} >= {
        "catalogue.sqlite", "state.sqlite", "key", "roots.json", "screen.json", "config.toml", "searches.toml",
        "writer.lock",
    }  # fmt: skip
    assert sum(one.n_bytes for one in found) == sum(
        path.stat().st_size
        for folder in (paths.data_dir, paths.config_dir)
        for path in folder.rglob("*")
        if path.is_file()
    )
    remove(found, paths)
    assert not paths.data_dir.exists()
    assert not paths.config_dir.exists()
    assert len([path for path in device.notes.rglob("*") if path.is_file()]) == 6


def test_what_is_not_its_own_stays(device: Device) -> None:
    """Files of other names, their folders and other programs' units stay; its own unit and the link to it go."""
    device.index()
    paths = paths_of(device)
    others = [paths.index / "mine.txt", paths.data_dir / "catalogue.sqlite.bak", paths.config_dir / "notes"]
    for path in others:
        path.write_text("mine")
    units = device.home / ".config" / "systemd" / "user"
    (units / "default.target.wants").mkdir(parents=True)
    own, written, other = (
        units / name for name in ("foltr-search.service", "foltr-search-mine.service", "other.service")
    )
    shipped = (ROOT / "contrib" / "systemd" / own.name).read_text()
    own.write_text(shipped.replace("%h/.local/bin", "/opt/bin"))
    written.write_text(shipped)
    other.write_text("[Unit]\n")
    link = units / "default.target.wants" / own.name
    link.symlink_to(own)
    socket = units / "foltr-search.socket"
    socket.write_text("[Socket]\nListenStream=%h/mine\n")
    assert own_units(device.home) == [written, socket]
    assert strangers(paths) == sorted(others, key=others.index)
    remove(belongings(paths, home=device.home), paths)
    assert all(path.read_text() == "mine" for path in others)
    assert [path.exists() or path.is_symlink() for path in (own, link, other, written, socket)] == [
        False, False, True, True, True,
    ]  # fmt: skip
    assert belongings(paths, home=device.home) == []


def test_nothing_is_removed_while_somebody_writes(device: Device) -> None:
    """The message names the process that writes."""
    device.index()
    paths = paths_of(device)
    found = belongings(paths, home=device.home)
    with Index.open(paths.index).writer("the watcher"), pytest.raises(InUseError, match=r"the watcher \(process \d+"):
        remove(found, paths)
    assert all(Path(one.path).exists() for one in found)


@pytest.mark.skipif(not AVAILABLE, reason="no Unix sockets")
def test_nothing_is_removed_while_a_process_answers(device: Device) -> None:
    """The resident process is named with the command that ends it; once it has ended, everything goes."""
    device.index()
    with serving(device):
        refused = device.run("purge", "--yes")
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "the resident process, process " in refused.stderr
        assert "`foltr-search serve --stop` ends it" in refused.stderr
        assert device.run("search", "heron").returncode == 0
    assert device.run("purge", "--yes").returncode == 0
    assert not device.data_dir.exists()


def test_nothing_is_removed_while_a_process_watches(device: Device) -> None:
    """A watcher, even one started by a screen, prevents it as long as it runs."""
    device.index()
    watcher = subprocess.Popen(
        [sys.executable, "-m", "app", "watch", "--events"], env=device.environment(), cwd=device.home,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert watcher.stdout is not None
        while b'"idle"' not in watcher.stdout.readline():
            assert watcher.poll() is None
        refused = device.run("purge", "--yes")
        assert (refused.returncode, "is running; stop it or the screen" in refused.stderr) == (2, True)
        assert (device.data_dir / "catalogue.sqlite").exists()
    finally:
        watcher.kill()
        watcher.communicate()
