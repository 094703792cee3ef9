"""Settled folders: what a scan spares itself is never a change, whoever made it and whoever missed it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from indexer.confined.pool import WorkerPool
from indexer.documents import FileEntry, Listing
from indexer.files.crawl import CrawlRules
from indexer.files.ignore_rules import IgnoreRules
from indexer.prepare import PreparedFile
from indexer.storage.catalogue import Catalogue
from indexer.storage.catalogue_writing import Batch, CatalogueWriter, StoredFile, read_anew
from indexer.storage.sqlite_files import transaction
from indexer.storage.unchanged import MAX_SKIPPED, SettledFolders, Stamps
from indexer.update import Job, Updater, open_catalogue


class Tree:
    """Files in two folders, one in the other, that three scans have settled; the outer one holds a file passed over."""

    def __init__(self, base: Path, pool: WorkerPool[PreparedFile]) -> None:
        self.files, self.data = base / "files", base / "data"
        (self.files / "inner").mkdir(parents=True)
        for name in ("a.txt", "b.txt", ".hidden", "inner/c.txt"):
            (self.files / name).write_text(name)
        self.catalogue, _ = open_catalogue(self.data / "index", self.data / "catalogue.sqlite")
        self.updater = Updater(
            Job(self.data / "index", self.catalogue, (str(self.files),), CrawlRules(), "the test", "1"), pool
        )
        for _ in range(3):
            self.updater.scan()

    def settled(self) -> set[str]:
        rows = self.catalogue.connection.execute("SELECT folder FROM settled").fetchall()
        return {os.path.relpath(os.fsdecode(row[0]), self.files) for row in rows}

    def known(self) -> set[str]:
        return {os.path.relpath(path, self.files) for path in self.catalogue.paths()}


@pytest.fixture
def tree(tmp_path: Path, pool: WorkerPool[PreparedFile]) -> Iterator[Tree]:
    made = Tree(tmp_path, pool)
    yield made
    made.catalogue.close()


def test_a_settled_folder_counts_as_it_did_file_by_file(tree: Tree) -> None:
    """Counts, folders and what was passed over are the same as in a scan that asks for each file."""
    assert tree.settled() == {".", "inner"}
    quick, skipped = tree.updater.scan(), tree.catalogue.skipped()
    folders = tree.updater.folders
    tree.catalogue.connection.execute("DELETE FROM settled")
    slow = tree.updater.scan()
    assert without_time(quick) == without_time(slow)
    assert (quick.n_unchanged, quick.n_skipped) == (3, 1)
    assert (skipped, folders) == (tree.catalogue.skipped(), tree.updater.folders)


def without_time(summary: object) -> dict[str, object]:
    return {name: getattr(summary, name) for name in summary.__struct_fields__ if name != "seconds"}  # type: ignore[attr-defined]


def same_size_and_time(path: Path) -> None:
    status = path.stat()
    path.write_text(path.read_text()[::-1])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def another_file(path: Path) -> None:
    path.with_name("new").write_text("other words")
    os.replace(path.with_name("new"), path)


CHANGES: dict[str, tuple[Callable[[Path], object], dict[str, int]]] = {
    "written": (lambda files: (files / "inner/c.txt").write_text("more words"), {"n_changed": 1}),
    "same size and time": (lambda files: same_size_and_time(files / "inner/c.txt"), {"n_changed": 1}),
    "another file": (lambda files: another_file(files / "a.txt"), {"n_changed": 1}),
    "added": (lambda files: (files / "inner/d.txt").write_text("d"), {"n_new": 1}),
    "removed": (lambda files: (files / "inner/c.txt").unlink(), {"n_removed": 1}),
    "moved": (lambda files: (files / "a.txt").rename(files / "inner/a.txt"), {"n_moved": 1}),
    "ignored from above": (lambda files: (files / ".ignore").write_text("c.txt"), {"n_removed": 1}),
    "names exchanged": (
        lambda files: [(files / a).rename(files / b) for a, b in (("a.txt", "x"), ("b.txt", "a.txt"), ("x", "b.txt"))],
        {"n_changed": 2},
    ),
    "folder removed": (lambda files: [(files / "inner/c.txt").unlink(), (files / "inner").rmdir()], {"n_removed": 1}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_in_a_settled_folder_is_seen(tree: Tree, name: str) -> None:
    """The next scan finds it, and the one after it nothing."""
    change, expected = CHANGES[name]
    change(tree.files)
    summary = tree.updater.scan()
    counts = {key: getattr(summary, key) for key in ("n_new", "n_changed", "n_moved", "n_removed", "n_failed")}
    assert {key: n for key, n in counts.items() if n} == expected
    assert not tree.updater.scan().changed_anything


def test_a_folder_whose_changes_were_read_is_settled_at_once(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed and a new file, each read as it was seen. A folder with one that could not be read waits; a file that
    went before it was read, and came back as it was, is seen when it is there again."""
    (tree.files / "a.txt").write_text("other words")
    (tree.files / "inner/d.txt").write_text("d")
    tree.updater.scan()
    assert tree.settled() == {".", "inner"}
    (tree.files / "bad.docx").write_bytes(b"PK\3\4 broken")
    (tree.files / "inner/e.txt").write_text("e")
    read, hidden = tree.updater.pool.run, tree.files.parent / "hidden"
    monkeypatch.setattr(
        tree.updater.pool, "run", lambda *given: ((tree.files / "inner/e.txt").rename(hidden), read(*given))[1]
    )
    tree.updater.scan()
    assert "." not in tree.settled()
    monkeypatch.undo()
    hidden.rename(tree.files / "inner/e.txt")
    assert tree.updater.scan().n_new == 1
    assert not tree.updater.scan().changed_anything
    assert "inner/e.txt" in tree.known()


def test_nothing_is_kept_of_a_folder_as_it_was(tree: Tree) -> None:
    """A name that was passed over and is gone stands nowhere, though the folder as it is now is not kept."""
    assert tree.settled() == {".", "inner"}
    (tree.files / ".hidden").unlink()
    for n_skipped, kept in ((MAX_SKIPPED, {".", "inner"}), (MAX_SKIPPED + 1, {"inner"})):
        for i in range(n_skipped):
            (tree.files / f".{i}").touch()
        tree.updater.scan()
        assert tree.settled() == kept


def test_other_rules_settle_nothing(tree: Tree) -> None:
    """Folders that were settled under other rules are asked file by file."""
    hidden = replace(tree.updater.job.rules, ignore=IgnoreRules(hidden=True))
    tree.updater.job = replace(tree.updater.job, rules=hidden)
    assert tree.updater.scan().n_new == 1
    tree.updater.job = replace(tree.updater.job, rules=replace(hidden, max_bytes={"text": 5}))
    assert tree.updater.scan().n_failed == 2  # .hidden and c.txt


def test_a_file_that_came_and_went_unseen_by_scans_is_gone(tree: Tree) -> None:
    """One path was followed when it came and missed when it went: the listing is the old one, the row is not kept."""
    before = tree.settled()
    path = tree.files / "inner/d.txt"
    path.write_text("d")
    tree.updater.update([str(path)])
    assert tree.settled() == before - {"inner"}
    path.unlink()
    assert tree.updater.scan().n_removed == 1
    assert tree.known() == {"a.txt", "b.txt", "inner/c.txt"}


def test_what_is_to_be_read_anew_is_read(tree: Tree) -> None:
    """A file that nothing has changed and that is asked to be read again, by the next scan."""
    read_anew(tree.catalogue, [str(tree.files / "a.txt")])
    assert tree.updater.scan().n_changed == 1
    assert tree.catalogue.suspects() == []


def test_a_folder_that_was_given_up_and_taken_again_is_read(tree: Tree) -> None:
    """Its rows went with the root, and so did what was kept of its listing."""
    job = tree.updater.job
    tree.updater.job = replace(job, roots=(str(tree.files / "inner"),))
    assert tree.updater.scan().n_removed == 2
    tree.updater.job = job
    assert tree.updater.scan().n_new == 2


def test_a_file_that_is_a_root_of_its_own_hides_no_loss(tree: Tree) -> None:
    """Counted with its settled folder as well, it stood for a file that is gone from another folder."""
    roots = (*tree.updater.job.roots, str(tree.files / "a.txt"))
    tree.updater.job = replace(tree.updater.job, roots=roots)
    (tree.files / "inner/c.txt").unlink()
    assert tree.updater.scan().n_removed == 1
    assert tree.known() == {"a.txt", "b.txt"}


def test_an_index_that_was_lost_is_read_again(tree: Tree) -> None:
    """The catalogue stands and the index is gone: every file is read, settled or not."""
    for path in (tree.data / "index").iterdir():
        path.unlink()
    assert tree.updater.scan().n_changed == 3
    assert tree.updater.scan().n_unchanged == 3
    assert len(tree.catalogue.doc_ids()) == 3


def test_nothing_is_kept_when_another_process_has_written(tmp_path: Path) -> None:
    """A row that came between the comparison and its end may be one of the folder's."""
    catalogue, other = Catalogue.open(tmp_path / "c.sqlite"), Catalogue.open(tmp_path / "c.sqlite")
    listing = Listing("/notes", b"digest", 1, ())
    for writes, kept in ((True, None), (False, listing)):
        scan = SettledFolders(catalogue.connection, b"rules")
        if writes:
            row = StoredFile(1, FileEntry("/notes/new.txt", 1, 1, 1, 1), "indexed", "", "", "1")
            CatalogueWriter(other).commit(Batch(files=[row]), generation=1)
        with transaction(catalogue.connection):
            scan.note([listing])
        assert scan.find("/notes") == kept
    other.close()
    catalogue.close()


NAMES = st.lists(st.text("ab/.\udcff", min_size=1, max_size=4), max_size=30, unique=True)


def filled(path: Path, names: list[str]) -> Catalogue:
    catalogue = Catalogue.open(path)
    files = [StoredFile(i + 1, FileEntry(name, i, 0, 0, 0), "indexed", "", "", "1") for i, name in enumerate(names)]
    CatalogueWriter(catalogue).commit(Batch(files=files), generation=1)
    return catalogue


@settings(max_examples=40, deadline=None)
@given(known=NAMES, asked=NAMES)
def test_any_path_in_any_order(tmp_path_factory: object, known: list[str], asked: list[str]) -> None:
    """Each path that is known is found with its size, others are not, and what was not asked for is left."""
    folder = Path(str(tmp_path_factory.mktemp("stamps")))  # type: ignore[attr-defined]
    catalogue = filled(folder / "c.sqlite", known)
    stamps = Stamps(catalogue, "1")
    for name in asked:
        found = stamps.find(name)
        assert (found is not None) == (name in known)
        assert found is None or (found[0], found[2]) == (os.fsencode(name), known.index(name))
    assert set(stamps.others()) == set(known) - set(asked)
    catalogue.close()


def test_a_far_jump_is_looked_up(tmp_path: Path) -> None:
    """Between the first and the last of 5,000 files, and back."""
    names = [f"/{i:05d}" for i in range(5_000)]
    catalogue = filled(tmp_path / "c.sqlite", names)
    stamps = Stamps(catalogue, "1")
    wanted = random.Random(1).sample(names, 50)
    assert [(found := stamps.find(name)) and found[2] for name in wanted] == [int(name[1:]) for name in wanted]
    assert set(stamps.others()) == set(names) - set(wanted)
    catalogue.close()


def test_a_file_that_another_process_adds_meanwhile_is_found(tmp_path: Path) -> None:
    """Its number is above all that were there when the comparison began; it is asked for, and not one of those left."""
    catalogue, other = filled(tmp_path / "c.sqlite", ["/a"]), Catalogue.open(tmp_path / "c.sqlite")
    stamps = Stamps(catalogue, "1")
    row = StoredFile(300, FileEntry("/b", 7, 1, 1, 1), "indexed", "", "", "1")
    CatalogueWriter(other).commit(Batch(files=[row]), generation=2)
    assert stamps.find("/c") is None
    found = (stamps.find("/a"), stamps.find("/b"))  # back: looked up anew
    assert [stamp and stamp[2] for stamp in found] == [0, 7]
    assert stamps.others() == []
    other.close()
    catalogue.close()
