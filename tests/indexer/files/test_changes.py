"""The comparison of a scan with the catalogue: new, changed, moved, gone, and what nobody can know."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec
import pytest

from indexer.documents import FileEntry
from indexer.files.absent_disks import CANNOT_BE_READ, OutOfSight
from indexer.files.changes import (
    ChangePlan,
    FileComparison,
    FilesRead,
    Readings,
    is_settled,
)
from indexer.storage.catalogue import UNREAD, Catalogue, KnownFile
from indexer.storage.catalogue_writing import Batch, CatalogueWriter, StoredFile
from indexer.storage.unchanged import Stamps


def entry(
    path: str, *, size: int = 10, modified_ns: int = 100, inode: int = 1, device: int = 7, changed_ns: int = 0
) -> FileEntry:
    return FileEntry(path, size, modified_ns, device, inode, changed_ns)


def known(
    file_id: int, seen: FileEntry, *, state: str = "indexed", reader: str = "1", digest: bytes = b"",
    failure: str = "", tries: int = 0,
) -> KnownFile:  # fmt: skip
    return KnownFile(
        file_id, seen.size, seen.modified_ns, seen.device, seen.inode, seen.changed_ns, digest, state, failure,
        reader, tries,
    )  # fmt: skip


def plan_of(
    *entries: FileEntry,
    old: Mapping[str, KnownFile],
    unread: Collection[str] = (),
    bare: Mapping[str, int] | None = None,
    retry: bool = False,
    is_scan: bool = True,
) -> ChangePlan:
    comparison, others = FileComparison("1", retry_failures=retry, is_scan=is_scan), dict(old)
    for seen in entries:
        comparison.see(seen, others.pop(seen.path, None))
    return comparison.finish(others, OutOfSight(unread, bare or {}))


def test_nothing_changed_is_nothing_to_do() -> None:
    """Same size, time and inode: unchanged, also when the disk got another number."""
    seen = entry("/a", device=7)
    plan = plan_of(seen, old={"/a": known(1, entry("/a", device=99))})
    assert not plan
    assert plan.n_unchanged == 1


def test_each_change_is_noticed() -> None:
    """Another size, another time, or another inode is a change, and keeps the file's id."""
    old = known(4, entry("/a"))
    for seen in (entry("/a", size=11), entry("/a", modified_ns=101), entry("/a", inode=2)):
        assert list(plan_of(seen, old={"/a": old}).readings) == [FilesRead(seen, 4)]


def test_new_and_gone_files() -> None:
    """What only the scan has is new, what only the catalogue has is removed."""
    seen = entry("/new", inode=5)
    plan = plan_of(seen, old={"/gone": known(3, entry("/gone"))})
    assert list(plan.readings) == [FilesRead(seen)]
    assert plan.removed == {"/gone": 3}


def test_a_moved_file_is_recognised_by_its_inode() -> None:
    """The same inode, size and time under another path is a move, and nothing is removed."""
    seen = entry("/b")
    plan = plan_of(seen, old={"/a": known(3, entry("/a"))})
    assert list(plan.readings) == [FilesRead(seen, 3, "/a")]
    assert plan.removed == {}


def test_a_second_name_is_not_a_move() -> None:
    """A hard link beside the file it links to is a new file."""
    first, second = entry("/a"), entry("/b")
    plan = plan_of(first, second, old={"/a": known(3, first)})
    assert list(plan.readings) == [FilesRead(second)]


def test_rotated_logs_are_changes_by_path() -> None:
    """a -> b while b -> c: paths that exist before and after are read again under their own ids."""
    old = {"/a": known(1, entry("/a", inode=1)), "/b": known(2, entry("/b", inode=2))}
    now = [entry("/a", inode=3), entry("/b", inode=1), entry("/c", inode=2)]
    plan = plan_of(*now, old=old)
    assert [(r.entry.path, r.file_id) for r in plan.readings] == [("/a", 1), ("/b", 2), ("/c", None)]


def test_a_failure_is_read_again_only_for_a_reason() -> None:
    """Unchanged failures wait for a change, another reader, or being asked for."""
    seen = entry("/a")
    same, other = (known(1, seen, state="failed", reader=reader) for reader in ("1", "0"))
    assert not plan_of(seen, old={"/a": same})
    assert list(plan_of(seen, old={"/a": same}, retry=True).readings) == [FilesRead(seen, 1)]
    assert list(plan_of(seen, old={"/a": other}).readings) == [FilesRead(seen, 1)]
    assert not plan_of(seen, old={"/a": known(1, seen, reader="0")})


def test_another_ctime_alone_is_a_file_to_look_at() -> None:
    """Size and time kept: its digest decides; without one it is read again, an unknown ctime says nothing."""
    before, seen = entry("/a", changed_ns=100), entry("/a", changed_ns=200)
    plan = plan_of(seen, old={"/a": known(1, before, digest=b"d")})
    assert (list(plan.touched), list(plan.readings)) == ([FilesRead(seen, 1, digest=b"d")], [])
    assert plan
    assert list(plan_of(seen, old={"/a": known(1, before)}).readings) == [FilesRead(seen, 1)]
    assert list(plan_of(seen, old={"/a": known(1, before, state="failed")}).readings) == [FilesRead(seen, 1)]
    assert not plan_of(entry("/a"), old={"/a": known(1, before, digest=b"d")})
    assert not plan_of(seen, old={"/a": known(1, entry("/a"), digest=b"d")})


def test_a_failure_of_the_moment_is_tried_again_in_scans_three_times_in_all() -> None:
    """Time and memory that ran out may have been the machine's fault; what is malformed stays so."""
    seen = entry("/a")
    for failure in ("timeout", "memory"):
        failed = [known(1, seen, state="failed", failure=failure, tries=tries) for tries in (1, 2, 3)]
        assert [list(plan_of(seen, old={"/a": one}).readings) for one in failed] == [
            [FilesRead(seen, 1, tries=1)], [FilesRead(seen, 1, tries=2)], [],
        ]  # fmt: skip
        assert not plan_of(seen, old={"/a": failed[0]}, is_scan=False)
    assert not plan_of(seen, old={"/a": known(1, seen, state="failed", failure="malformed", tries=1)})


def test_a_pending_file_is_read_again() -> None:
    """A file that the index may lack is read, however unchanged."""
    seen = entry("/a")
    assert list(plan_of(seen, old={"/a": known(1, seen, state="pending")}).readings) == [FilesRead(seen, 1)]


def test_files_of_an_unreadable_folder_are_kept() -> None:
    """Nobody could look, so nothing is removed; neighbours with a like name are."""
    old = {"/usb/a": known(1, entry("/usb/a")), "/usb2/b": known(2, entry("/usb2/b", inode=2))}
    plan = plan_of(old=old, unread=["/usb"])
    assert plan.removed == {"/usb2/b": 2}
    assert plan.kept == {("/usb", CANNOT_BE_READ): 1}


def test_files_of_an_unmounted_disk_are_kept() -> None:
    """An empty folder on another device than its files were on is a mount point without its disk."""
    old = {"/mnt/x/a": known(1, entry("/mnt/x/a", device=7))}
    assert plan_of(old=old, bare={"/mnt": 1}).removed == {}
    assert plan_of(old=old, bare={"/mnt/x": 7}).removed == {"/mnt/x/a": 1}


def test_carrying_out_the_plan_leaves_nothing_to_do() -> None:
    """For any two states of a tree, after the plan a second comparison is empty."""
    rng = random.Random(4)
    for _ in range(200):
        paths = rng.sample("abcdefgh", 6)
        before = {path: known(i, entry(path, inode=rng.randrange(9))) for i, path in enumerate(paths[:4])}
        after = [entry(path, inode=rng.randrange(9), size=rng.choice([10, 11])) for path in paths[2:]]
        plan = plan_of(*after, old=before)
        moved = {reading.old_path for reading in plan.readings}
        result = {path: old for path, old in before.items() if path not in plan.removed and path not in moved}
        for i, reading in enumerate(plan.readings):
            file_id = 100 + i if reading.file_id is None else reading.file_id
            result[reading.entry.path] = known(file_id, reading.entry)
        assert not plan_of(*after, old=result)
        assert len({old.file_id for old in result.values()}) == len(result) == len(after)


@pytest.mark.parametrize("retry", [False, True])
def test_leaving_out_what_is_settled_changes_no_plan(retry: bool, tmp_path: Path) -> None:
    """Drawn by lot: every state, reader and kind of change gives the same plan with the short look as without it."""
    rng, files, seen = random.Random(5), list[StoredFile](), dict[str, FileEntry]()
    for i in range(1500):
        old = entry(f"/f/{i}\udcff", inode=i, changed_ns=rng.choice([0, 5]))
        state = rng.choice(["indexed", "indexed", "indexed", "named", "failed", "pending"])
        kind = rng.choice(["timeout", "malformed"]) if state == "failed" else ""
        reader = rng.choice(["1", "2"]) if state == "indexed" else rng.choice(["1", "2", UNREAD])
        files.append(StoredFile(i + 1, old, state, kind, "", reader, rng.choice([b"", b"x"]), rng.randrange(5)))
        unread = "not read" if rng.random() < (0.9 if reader == UNREAD else 0.1) else ""
        changes = rng.choice([{}, {}, {}, {"size": 11}, {"modified_ns": 9}, {"inode": 9999}, {"changed_ns": 6}])
        if rng.random() < 0.95:
            now = msgspec.structs.replace(old, unread=unread, **changes)
            now = msgspec.structs.replace(now, path=now.path if rng.random() < 0.95 else now.path + "moved")
            seen[now.path] = now
    catalogue = Catalogue.open(tmp_path / "catalogue.sqlite")
    CatalogueWriter(catalogue).commit(Batch(files=files), generation=1)

    def shown(plan: ChangePlan) -> tuple[object, ...]:
        return list(plan.readings), list(plan.touched), plan.removed, plan.kept, plan.n_unchanged

    whole = plan_of(*seen.values(), old=catalogue.known("/"), unread=["/f/1\udcff"], retry=retry)
    short, stamps, n_settled = FileComparison("1", retry_failures=retry, is_scan=True), Stamps(catalogue, "1"), 0
    for one in seen.values():
        stamp = stamps.find(one.path)
        if stamp is not None and is_settled(one, stamp):
            n_settled += 1
        else:
            short.see(one, catalogue.known_of([one.path]).get(one.path))
    short.plan.n_unchanged += n_settled
    others = catalogue.known_of(stamps.others())
    assert set(others) == set(catalogue.known("/")) - set(seen)
    assert shown(short.finish(others, OutOfSight(["/f/1\udcff"], {}))) == shown(whole)
    assert len(whole.readings) > 100
    assert n_settled > 100
    catalogue.close()


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
    assert list(readings.newest_first()) == [young, old, failed]
    assert list(readings.by_name_alone()) == [named]
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
