"""Searching needs no writing: a read-only data folder or a full disk, in a mount made for the test."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import LearningSettings, Paths, Settings
from app.store import StateError, Store
from tests import copied

if TYPE_CHECKING:
    from tests.app.conftest import Device

READ_ONLY = "mount --bind {data} {data} && mount -o remount,ro,bind {data}"
FILL = "{{ dd if=/dev/zero of={data}/ballast bs=4k; true; }}"
FULL = "mount -t tmpfs -o size=24m none {data} && cp -a {copy}/. {data} && " + FILL
IN_A_MOUNT = """
import ctypes, os, subprocess
OWN_MOUNTS, OWN_USERS = 0x20000, 0x10000000
user, group = os.geteuid(), os.getegid()
assert ctypes.CDLL(None).unshare(OWN_MOUNTS | (OWN_USERS if user else 0)) == 0
if user:
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
subprocess.run(["sh", "-c", f"mount --make-rprivate / && {MOUNT}"], capture_output=True, check=True)
"""
SAID = "cannot be written"


def run_on(device: Device, mount: str, command: str) -> subprocess.CompletedProcess[str]:
    """Run the program with the data folder mounted so; nobody else sees the mount, and it ends with the program."""
    namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    trial = [*namespace, "mount", "-t", "tmpfs", "none", "/mnt"]
    if not shutil.which("unshare") or subprocess.run(trial, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount anything")
    copy = device.home / "copy"
    if not copy.exists():
        shutil.copytree(device.data_dir, copy)
    prepared = mount.format(data=shlex.quote(str(device.data_dir)), copy=shlex.quote(str(copy)))
    code = f"MOUNT = {prepared!r}\n{IN_A_MOUNT}{copied.COMMAND}"
    return copied.run(shlex.split(command), variables=device.environment(), cwd=device.home, code=code)


@pytest.mark.parametrize("mount", [READ_ONLY, FULL])
def test_searching_works_where_nothing_can_be_written(device: Device, mount: str) -> None:
    """The same results, exit code 0, and one line about what is off; what was learned before still counts."""
    device.index()
    wanted = device.run("search", "fish", "--format", "{rank} {score} {name}", "--no-explore").stdout
    done = run_on(device, mount, "search fish --format '{rank} {score} {name}' --no-explore")
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    assert [SAID in line for line in done.stderr.splitlines()] == [True]


def test_a_folder_that_was_never_searched_works_too(device: Device) -> None:
    """It has no state and no key yet, and none can be made."""
    device.index()
    for name in ("state.sqlite", "key"):
        (device.data_dir / name).unlink(missing_ok=True)
    done = run_on(device, READ_ONLY, "search kingfisher --json")
    assert done.returncode == 0, done.stderr
    assert "kingfisher.md" in done.stdout


def test_the_state_of_the_index_can_be_told(device: Device) -> None:
    """`status` works, and so does the screen, which asks the same at its start."""
    device.index()
    done = run_on(device, READ_ONLY, "status")
    assert done.returncode == 0, done.stderr
    assert "6" in done.stdout


def test_open_takes_a_file_and_no_number(device: Device) -> None:
    """The last search was not kept, so numbers would mean an earlier one. A named file opens, but does not count."""
    device.index()
    device.run("search", "boat")
    wanted = str(device.notes / "tax" / "invoice.html")
    refused = run_on(device, READ_ONLY, "open 1 --print")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the last search was not kept" in refused.stderr
    done = run_on(device, READ_ONLY, f"open {wanted} --print")
    assert (done.returncode, done.stdout.strip()) == (0, wanted), done.stderr
    assert device.run("search", "boat").returncode == 0
    with Store(device.data_dir / "state.sqlite") as store:
        assert store.rows("SELECT count(*) FROM picked_documents")[0][0] == 0


def fill(store: Store) -> None:
    for n in range(100_000):
        store.set_value(f"ballast {n}", bytes(100))


def test_a_disk_that_gets_full_meanwhile_stops_no_search(device: Device) -> None:
    """SQLite's page limit stands for the disk: what cannot be stored is left out, with a message."""
    device.index()
    search = Search(Settings(learning=LearningSettings(exploration=0.0)), Paths(device.home, device.data_dir))
    page = search.search(SearchRequest("fish"))
    search.store.rows(f"PRAGMA max_page_count = {search.store.rows('PRAGMA page_count')[0][0]}")
    with pytest.raises(StateError):
        fill(search.store)
    assert search.unkept == ""
    search.keep(page)
    search.opened(page, page.hits[0])
    assert SAID in search.unkept
    assert search.leave(page) is None
    assert search.search(SearchRequest("fish")).hits == page.hits
    search.close()


def test_what_was_kept_is_shown(device: Device) -> None:
    """Statistics and past queries are read; of the checks only that of the folder fails."""
    device.index()
    assert device.run("search", "--set", "history.enabled=true", "fish").returncode == 0
    assert device.run("open", "1", "--set", "open.opener=true {path}").returncode == 0
    device.run("search", "boat")
    for command in ("stats", "history", "privacy", "federation"):
        done, kept = run_on(device, READ_ONLY, command), device.run(command)
        assert (done.returncode, done.stdout, done.stderr) == (kept.returncode, kept.stdout, kept.stderr), command
    checked = run_on(device, READ_ONLY, "doctor").stdout
    assert [line for line in checked.splitlines() if line.startswith("broken")] == [
        "broken  data folder:   the data folder is not writable"
    ]


@pytest.mark.parametrize("mount", [READ_ONLY, FULL])
def test_what_cannot_be_kept_is_not_said_to_be_done(device: Device, mount: str) -> None:
    """Undoing what was learned, and any other write, fails with exit code 2 and one line that says why."""
    device.index()
    device.run("search", "fish")
    for command in (
        "model reset",
        "model forget --yes",
        "index --quiet --rebuild",
        f"backup --to {device.data_dir}/b.zip",
    ):
        done = run_on(device, mount, command)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), (command, done.stderr)
        assert any(said in done.stderr for said in (SAID, "the disk is full", "Read-only file system")), done.stderr


def test_a_full_disk_is_called_full(device: Device) -> None:
    """Commands that write, a member's commands and a search say so instead of SQLite's "disk I/O error"."""
    device.index()
    device.run("search", "fish")
    for command in ("search fish", "model reset", "federation background on", "sync --now", "leave --yes"):
        done = run_on(device, FULL, command)
        assert "the disk is full" in done.stderr, (command, done.stderr)
        assert "I/O error" not in done.stderr


def test_a_state_that_is_taken_away_is_no_full_disk(device: Device) -> None:
    """A search that stays open opens the state anew; the interrupted step is refused with the true reason."""
    device.index()
    search = Search(Settings(), Paths(device.home, device.data_dir))
    page = search.search(SearchRequest("fish"))
    former = search.store
    for path in device.data_dir.glob("state.sqlite*"):
        path.unlink()
    with pytest.raises(StateError, match="removed or replaced while it was open"):
        former.set_value("x", b"1")
    for hit in page.hits[:2]:
        search.opened(page, hit)
    assert search.unkept == ""
    with Store(device.data_dir / "state.sqlite") as store:
        assert store.rows("SELECT count(*) FROM picked_documents") == [(2,)]
    assert search.search(SearchRequest("fish")).n_matches == page.n_matches
    search.close()
    former.close()
