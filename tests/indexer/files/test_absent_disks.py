"""Folders whose disk is not mounted, or that another one covers: their files are kept, and come back."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from indexer.confined.pool import WorkerPool
from indexer.documents import FileEntry
from indexer.files.absent_disks import COVERED, NOT_MOUNTED, OutOfSight
from indexer.files.crawl import CrawlRules
from indexer.prepare import PreparedFile
from indexer.progress import UpdateSummary
from indexer.storage.catalogue import Catalogue, KnownFile
from indexer.storage.catalogue_writing import Batch, CatalogueWriter, StoredFile
from indexer.update import Job, Updater, open_catalogue


class Disks:
    """A folder with a mount point in it, and its index, in a world of mounts that nobody else sees."""

    def __init__(self, base: Path, pool: WorkerPool[PreparedFile]) -> None:
        self.home, self.point = base / "home", base / "home" / "stick"
        self.point.mkdir(parents=True)
        self.index, self._pool = base / "index", pool
        self.catalogue: Catalogue = open_catalogue(self.index, base / "catalogue.sqlite")[0]
        self.roots: tuple[str, ...] = (str(self.point),)
        self.rules = CrawlRules()

    def updater(self) -> Updater:
        return Updater(Job(self.index, self.catalogue, self.roots, self.rules, "the test", "1"), self._pool)

    def scan(self) -> UpdateSummary:
        return self.updater().scan()


@pytest.fixture
def disks(tmp_path: Path, pool: WorkerPool[PreparedFile]) -> Iterator[Disks]:
    made = Disks(tmp_path, pool)
    yield made
    made.catalogue.close()


NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"]
PROGRAM = """
import os, subprocess, sys
from pathlib import Path
from indexer.confined.pool import WorkerPool
from indexer.prepare import prepare_file
sys.path.insert(0, {tests!r})
from test_absent_disks import Disks

def mount(point, *texts):
    subprocess.run(["mount", "-t", "tmpfs", "none", str(point)], check=True)
    for i, text in enumerate(texts):
        (point / "sub").mkdir(exist_ok=True)
        (point / "sub" / f"{{i}}.txt").write_text(text)

def unmount(point):
    subprocess.run(["umount", "--lazy", str(point)], check=True)  # its reader may still close the last file

with WorkerPool(prepare_file, n_workers=1, seconds=60, memory_mb=1024) as pool:
    disks = Disks(Path({base!r}), pool)
    stick = disks.point
"""


@pytest.fixture
def mounted(tmp_path: Path) -> Callable[[str], None]:
    """Runs some lines where they may mount: `disks`, `stick`, `mount(point, *texts)` and `unmount(point)` are there."""
    probe = [*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"]
    if sys.platform != "linux" or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount anything")

    def run(lines: str) -> None:
        program = PROGRAM.format(tests=str(Path(__file__).parent), base=str(tmp_path))
        program += "".join(f"    {line}\n" for line in lines.strip().splitlines())
        command = shlex.join([sys.executable, "-c", program])
        done = subprocess.run([*NAMESPACE, "sh", "-c", command], capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr

    return run


def test_an_unmounted_root_keeps_its_files_and_has_them_again(mounted: Callable[[str], None]) -> None:
    """The empty mount point removes nothing, and says so; the same files on the disk mounted again are found."""
    mounted("""
mount(stick, *(f"heron {i}" for i in range(32)))
assert disks.scan().n_new == 32
unmount(stick)
gone = disks.scan()
assert not gone.changed_anything, gone
assert "32 files are kept" in gone.unavailable[0], gone
assert f"index --forget {stick}" in gone.unavailable[0], gone
assert [one.path for one in disks.catalogue.away()] == [str(stick)]
mount(stick, *(f"heron {i}" for i in range(32)))
assert disks.scan().n_removed == 0
assert disks.catalogue.away() == []
""")


def test_what_is_told_of_single_files_while_a_disk_goes_removes_none(mounted: Callable[[str], None]) -> None:
    """Whoever follows changes hears of a folder that is gone: it looks at what is above it first."""
    mounted("""
mount(stick, "heron", "egret")
disks.scan()
unmount(stick)
for path in (stick / "sub", stick / "sub" / "0.txt", stick):
    told = disks.updater().update([str(path)])
    assert not told.changed_anything, told
    assert "2 files" in told.unavailable[0] or "1 file" in told.unavailable[0], told
""")


def test_a_mount_inside_a_root_is_away_and_its_folder_may_be_given_up(mounted: Callable[[str], None]) -> None:
    """Within a folder that is indexed across disks the same holds; removing the empty folder lets the files go."""
    mounted("""
from indexer.files.crawl import CrawlRules
disks.roots, disks.rules = (str(disks.home),), CrawlRules(cross_mounts=True)
mount(stick, "heron")
(disks.home / "b.txt").write_text("egret")
assert disks.scan().n_new == 2
unmount(stick)
kept = disks.scan()
assert not kept.changed_anything and "removing the empty folder" in kept.unavailable[0], kept
stick.rmdir()
assert disks.scan().n_removed == 1
""")


def test_what_another_disk_is_mounted_over_is_kept(mounted: Callable[[str], None]) -> None:
    """Files of a folder that is covered by a mount are out of sight, not gone, whether the mount is entered or not."""
    mounted("""
disks.roots = (str(disks.home),)
(stick / "a.txt").write_text("heron")
(disks.home / "b.txt").write_text("egret")
assert disks.scan().n_new == 2
mount(stick)
covered = disks.scan()
assert not covered.changed_anything and "mounted over it" in covered.unavailable[0], covered
disks.roots = (str(stick),)
over = disks.scan()
assert over.n_removed == 1 and "1 file is kept" in over.unavailable[0], over
unmount(stick)
disks.roots = (str(disks.home),)
back = disks.scan()
assert (back.n_new, back.n_removed, back.unavailable) == (1, 0, ()), back
""")


def test_turning_off_mounts_removes_what_was_indexed_of_them(mounted: Callable[[str], None]) -> None:
    """Files on a disk that is mounted and no longer to be entered are in sight: the rule removes them."""
    mounted("""
from indexer.files.crawl import CrawlRules
disks.roots, disks.rules = (str(disks.home),), CrawlRules(cross_mounts=True)
mount(stick, "heron")
disks.scan()
disks.rules = CrawlRules()
assert disks.scan().n_removed == 1
""")


def test_an_emptied_folder_is_empty(disks: Disks) -> None:
    """Who removes all files of a folder on the same disk has removed them."""
    (disks.point / "a.txt").write_text("heron")
    disks.scan()
    (disks.point / "a.txt").unlink()
    summary = disks.scan()
    assert (summary.n_removed, summary.unavailable) == (1, ())


def known(file_id: int, device: int, inode: int = 1) -> KnownFile:
    return KnownFile(file_id, 10, 100, device, inode, 0, b"", "indexed", "", "1", 0)


def test_only_an_empty_folder_on_another_device_is_away(tmp_path: Path) -> None:
    """A folder with anything in it, and an empty one on the device of its files, hide nothing."""
    folder = str(tmp_path)
    path = f"{folder}/x/a.txt"
    assert OutOfSight((), {}).above(path, known(1, 7)) is None
    assert OutOfSight((), {folder: 7}).above(path, known(1, 7)) is None
    assert OutOfSight((), {folder: 1}).above(path, known(1, 7)) == (folder, NOT_MOUNTED)
    assert OutOfSight((), {"/proc": 1}).above("/proc/no/such", known(1, 7)) == ("/proc", COVERED)


def test_a_disk_that_got_another_number_is_the_same_disk(tmp_path: Path) -> None:
    """Files beside the empty folder that are as they were, under another number: the folder was emptied."""
    beside, emptied = tmp_path / "beside.txt", tmp_path / "emptied"
    beside.write_text("heron")
    emptied.mkdir()
    status = beside.stat()
    catalogue = Catalogue.open(tmp_path / "catalogue.sqlite")
    entries = [FileEntry(str(beside), 5, 1, 99, status.st_ino), FileEntry(str(emptied / "a"), 5, 1, 99, 2)]
    files = [StoredFile(i, one, "indexed", "", "", "1") for i, one in enumerate(entries, 1)]
    CatalogueWriter(catalogue).commit(Batch(files=files), generation=1)
    away = OutOfSight((), {str(emptied): status.st_dev}, catalogue)
    assert away.above(entries[1].path, known(2, 99)) is None
    os.unlink(beside)
    away = OutOfSight((), {str(emptied): status.st_dev}, catalogue)
    assert away.above(entries[1].path, known(2, 99)) == (str(emptied), NOT_MOUNTED)
    catalogue.close()
