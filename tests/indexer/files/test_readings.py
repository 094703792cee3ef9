"""The list of files to be read: what goes in comes out, the newest first, and moved files are found in it."""

from __future__ import annotations

import random

from indexer.documents import FileEntry
from indexer.files.readings import FilesRead, Readings


def new(path: str, *, modified_ns: int = 5, inode: int = 1, unread: str = "") -> FilesRead:
    return FilesRead(FileEntry(path, 10, modified_ns, 7, inode, 3, unread))


def test_everything_comes_back() -> None:
    """Each part of a reading, names that are not UTF-8 included, in the order of adding, however many there are."""
    wanted = [
        FilesRead(
            FileEntry(f"/a/{i}\udcff", i, -i, 7, i, 2, "not read", "too-large", "firefox"), i, "/old\udcfe", b"d", 2
        )
        for i in range(2_500)
    ]
    readings = Readings(wanted)
    assert list(readings) == wanted
    assert len(readings) == 2_500


def test_the_newest_are_read_first_and_what_failed_last() -> None:
    """By time, but those that were tried before come after all others; those with a name alone stand apart."""
    old, young, failed = (
        new("/old", modified_ns=1),
        new("/young", modified_ns=9),
        FilesRead(new("/x").entry, 4, tries=1),
    )
    named = new("/picture", unread="not read")
    readings = Readings([failed, old, named, young])
    assert list(readings.read()) == [young, old, failed]
    assert list(readings.named()) == [named]
    assert readings.n_bytes == 30


def test_moves_are_found_among_many() -> None:
    """Of 3,000 new files those with the identity of a file that is gone get its number and its old path."""
    rng = random.Random(2)
    moved = set(rng.sample(range(3_000), 40))
    readings = Readings(new(f"/new/{i}", inode=i) for i in range(3_000))
    gone = {(7, i, 10, 5): (f"/old/{i}", 1_000 + i) for i in moved} | {(7, 9_999, 10, 5): ("/gone", 1)}
    assert readings.match_moves(gone) == {"/gone": 1}
    found = {one.entry.path: (one.old_path, one.file_id) for one in readings if one.old_path}
    assert found == {f"/new/{i}": (f"/old/{i}", 1_000 + i) for i in moved}
