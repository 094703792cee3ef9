"""Updating with real workers, a real index and a real catalogue."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from indexer.confined.pool import WorkerPool
from indexer.documents import ExtractedDocument, FileEntry
from indexer.errors import ExtractionError, IndexDamaged, IndexerError, LockedError
from indexer.files.crawl import CrawlRules
from indexer.files.ignore_rules import IgnoreRules
from indexer.prepare import PreparedDocument, PreparedFile, prepare_document
from indexer.progress import Progress
from indexer.schema import VERSION
from indexer.storage.catalogue import CHANGED_STAYS, Catalogue
from indexer.storage.catalogue_writing import Batch, CatalogueWriter
from indexer.storage.index import Index, IndexWriter
from indexer.update import CommitPolicy, Job, Updater, disk_errors, open_catalogue, outermost

Pool = WorkerPool[PreparedFile]
SHARED = Path(os.environ.get("FOLTR_SHARED") or Path(__file__).parents[2].parent / "shared")
ODD_FILES = SHARED / "corpus" / "make_odd_files.sh"


class Device:
    """A folder of files, its index, and updaters over them."""

    def __init__(self, base: Path, pool: Pool) -> None:
        self.files, self.data, self.pool = base / "files", base / "data", pool
        self.files.mkdir()
        self.roots: tuple[str, ...] = (str(self.files),)
        self.rules = CrawlRules()
        self.reader = "1"
        self.commits = CommitPolicy()
        self.reports: list[Progress] = []
        self.moves: list[tuple[str, str]] = []
        self.open()

    def open(self, *, rebuild: bool = False) -> str:
        self.catalogue, note = open_catalogue(self.data / "index", self.data / "catalogue.sqlite", rebuild=rebuild)
        return note

    def updater(self) -> Updater:
        job = Job(
            self.data / "index", self.catalogue, self.roots, self.rules, "the test", self.reader, self.commits
        )  # fmt: skip
        return Updater(job, self.pool, self.reports.append, self.moves.extend)

    def write(self, name: str, text: str = "text") -> str:
        (self.files / name).parent.mkdir(parents=True, exist_ok=True)
        (self.files / name).write_text(text)
        return str(self.files / name)

    def found(self, word: str) -> list[str]:
        """Names of the files whose body holds `word`, by the index and the catalogue together."""
        snapshot = Index.open(self.data / "index").snapshot()
        numbers = set(snapshot.postings("body", word).docs.tolist())
        ids = snapshot.documents["doc_id"][sorted(numbers)].tolist()
        rows = self.catalogue.documents(ids)
        assert set(rows) == set(ids), "the index holds a document that the catalogue does not know"
        return sorted(os.path.relpath(row.path, self.files) for row in rows.values())

    def agrees(self) -> bool:
        """Whether index and catalogue hold the same documents and generation, and the folder no stray file."""
        with Index.open(self.data / "index").writer("the test") as writer:
            return writer.doc_ids() == self.catalogue.doc_ids() and writer.generation == self.catalogue.generation


@pytest.fixture
def device(tmp_path: Path, pool: Pool) -> Device:
    return Device(tmp_path, pool)


def test_what_was_written_is_found(device: Device) -> None:
    """New files are indexed; a second scan reads nothing and commits nothing."""
    device.write("a.txt", "heron")
    device.write("sub/b.md", "# Birds\n\nheron and egret")
    summary = device.updater().scan()
    assert (summary.n_new, summary.n_documents, summary.n_failed) == (2, 2, 0)
    assert device.found("heron") == ["a.txt", "sub/b.md"]
    again = device.updater().scan()
    assert not again.changed_anything
    assert (again.n_unchanged, again.generation) == (2, summary.generation)


def test_changed_and_deleted_files_follow(device: Device) -> None:
    """A changed file is found by its new words only, a deleted one not at all."""
    device.write("a.txt", "heron")
    device.write("b.txt", "heron")
    device.updater().scan()
    device.write("a.txt", "egret instead")
    (device.files / "b.txt").unlink()
    summary = device.updater().scan()
    assert (summary.n_changed, summary.n_removed) == (1, 1)
    assert device.found("heron") == []
    assert device.found("egret") == ["a.txt"]
    assert device.agrees()


def test_a_mail_that_was_read_is_a_move(device: Device) -> None:
    """A mail program that marks a mail renames its file: the mail keeps its place, and has its new state and thread."""
    mail = "From: a@b\nSubject: s\nMessage-ID: <{}@x>\nReferences: <root@x>\n\nheron\n"
    new = device.write("Mail/new/1789000000.M1P1.host", mail.format("one"))
    device.write("Mail/cur/1789000001.M1P1.host:2,S", mail.format("two"))
    device.updater().scan()
    old_id = device.catalogue.doc_ids_of(new)[0]
    assert ("is", "unread") in device.catalogue.documents([old_id])[old_id].properties
    os.rename(new, read := str(device.files / "Mail/cur/1789000000.M1P1.host:2,RS"))
    summary = device.updater().scan()
    assert (summary.n_new, summary.n_moved, summary.n_removed, summary.n_unchanged) == (0, 1, 0, 1)
    assert device.moves == [(new, read)]
    doc_id = device.catalogue.doc_ids_of(read)[0]
    properties = device.catalogue.documents([doc_id])[doc_id].properties
    assert [value for name, value in properties if name == "is"] == ["read", "answered"]
    assert device.catalogue.threads_of([doc_id])[doc_id].n_messages == 2
    assert device.catalogue.doc_ids_of_thread("root@x") == device.catalogue.doc_ids()


def named(device: Device) -> dict[str, tuple[str, str, int]]:
    """Path below the folder -> state, kind of failure, number of documents."""
    rows = {path: device.catalogue.file(path) for path in device.catalogue.paths()}
    return {
        os.path.relpath(path, device.files): (row.known.state, row.known.failure, row.n_documents)
        for path, row in rows.items() if row is not None
    }  # fmt: skip


def by_name(device: Device, word: str) -> list[str]:
    """The files whose name holds `word`."""
    snapshot = Index.open(device.data / "index").snapshot()
    ids = snapshot.documents["doc_id"][snapshot.postings("name", word).docs].tolist()
    return sorted(os.path.basename(row.path) for row in device.catalogue.documents(ids).values())


def test_every_file_is_found_by_its_name(device: Device) -> None:
    """A program, a binary file of no known type, a broken PDF, a file too large, an empty one: all are found."""
    device.write("heron.exe", "x")
    (device.files / "heron.qqq").write_bytes(bytes(range(256)) * 20)
    (device.files / "heron.pdf").write_bytes(b"%PDF-1.7 broken")
    device.write("heron.md", "x" * 3_000)
    device.write("heron.txt", "")
    device.rules = CrawlRules(max_bytes={"markdown": 2_000})
    summary = device.updater().scan()
    assert by_name(device, "heron") == ["heron.exe", "heron.md", "heron.pdf", "heron.qqq", "heron.txt"]
    assert named(device) == {
        "heron.exe": ("named", "", 1), "heron.qqq": ("named", "", 1), "heron.pdf": ("failed", "malformed", 1),
        "heron.md": ("failed", "too-large", 1), "heron.txt": ("indexed", "", 1),
    }  # fmt: skip
    assert (summary.n_failed, summary.n_documents) == (2, 5)
    counts = device.catalogue.counts()
    assert (counts.n_files, counts.n_named, counts.n_failures) == (1, 2, 2)
    again = device.updater().scan(retry_failures=False)
    assert (again.changed_anything, again.n_unchanged) == (False, 5)
    types = {os.path.basename(row.path): row.type for row in device.catalogue.documents(range(100)).values()}
    assert types == {"heron.exe": "other", "heron.qqq": "other", "heron.pdf": "pdf", "heron.md": "markdown",
                     "heron.txt": "text"}  # fmt: skip
    assert device.agrees()


def test_a_limit_that_is_raised_has_the_file_read(device: Device) -> None:
    """And one that is lowered leaves the name; without names nothing is left."""
    device.write("heron.md", "egret " * 500)
    for cap, found in ((9_000, ["heron.md"]), (1_000, []), (9_000, ["heron.md"])):
        device.rules = CrawlRules(max_bytes={"markdown": cap})
        device.updater().scan()
        assert (device.found("egret"), by_name(device, "heron")) == (found, ["heron.md"])
    device.rules = CrawlRules(max_bytes={"markdown": 1_000}, names=False)
    device.updater().scan()
    assert (by_name(device, "heron"), device.agrees()) == ([], True)


def test_names_that_are_not_wanted_are_not_there(device: Device) -> None:
    """Without names a failure is a failure and no more."""
    (device.files / "heron.qqq").write_bytes(bytes(range(256)) * 20)
    device.write("heron.exe", "x")
    device.rules = CrawlRules(names=False)
    device.updater().scan()
    assert named(device) == {"heron.qqq": ("failed", "unsupported", 0)}


def test_a_change_that_keeps_size_and_time_is_seen(device: Device) -> None:
    """The ctime tells; a chmod tells it too and costs no new commit of the index."""
    path = Path(device.write("a.txt", "heron"))
    device.write("b.txt", "zebra")
    before = path.stat()
    device.updater().scan()
    path.write_text("egret")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    summary = device.updater().scan()
    assert (summary.n_changed, device.found("egret"), device.found("heron")) == (1, ["a.txt"], [])
    path.chmod(0o600)
    again = device.updater().scan()
    assert (again.changed_anything, again.n_unchanged, again.generation) == (False, 2, summary.generation)
    assert device.catalogue.known("/")[str(path)].changed_ns == path.stat().st_ctime_ns
    assert device.agrees()


@pytest.mark.parametrize(
    ("does", "failure", "counts"), [("time.sleep(600)", "timeout", (1, 2, 3, 3)), ("pass", "too-slow", (1, 1, 1, 1))]
)
def test_what_waited_in_vain_is_tried_again_and_what_used_its_time_is_not(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, failure: str, counts: tuple[int, ...]
) -> None:
    """A scan reads again what could not be read in time, up to three times, but not what took all of the processor."""
    (tmp_path / "endless_reader.py").write_text(f"import time\ndef read(path, limits):\n    while True: {does}\n")
    monkeypatch.delitem(sys.modules, "endless_reader", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    import endless_reader  # type: ignore[import-not-found]

    able, path = device.pool, device.write("a.txt", "heron")

    def tries() -> tuple[str, int]:
        device.updater().scan()
        known = device.catalogue.known("/")[path]
        return known.failure, known.tries

    with WorkerPool(endless_reader.read, n_workers=1, seconds=0.05, still_seconds=1, memory_mb=500) as device.pool:
        assert [tries() for _ in range(4)] == [(failure, n) for n in counts]
        device.write("a.txt", "another heron")
        assert tries() == (failure, 1)
    device.pool = able
    device.updater().scan(retry_failures=True)
    assert device.catalogue.known("/")[path].failure == ""
    assert device.found("heron") == ["a.txt"]


def test_a_moved_folder_keeps_its_files_and_tells_the_moves(device: Device) -> None:
    """After renaming a folder its files have new paths, and whoever asked learns of each move."""
    old = device.write("old/a.txt", "heron")
    device.updater().scan()
    file_id = device.catalogue.known("/")[old].file_id
    (device.files / "old").rename(device.files / "new")
    new = str(device.files / "new" / "a.txt")
    summary = device.updater().scan()
    assert (summary.n_moved, summary.n_new, summary.n_removed) == (1, 0, 0)
    assert device.moves == [(old, new)]
    assert device.catalogue.known("/")[new].file_id == file_id
    assert device.found("heron") == ["new/a.txt"]


def test_an_update_looks_only_at_the_paths_it_is_given(device: Device) -> None:
    """One changed path is read; the neighbour that changed too waits for its own turn."""
    first, second = device.write("a.txt", "one"), device.write("b.txt", "one")
    device.updater().scan()
    device.write("a.txt", "heron")
    device.write("b.txt", "heron")
    summary = device.updater().update([first])
    assert summary.n_changed == 1
    assert device.found("heron") == ["a.txt"]
    device.updater().update([second])
    assert device.found("heron") == ["a.txt", "b.txt"]


def test_an_update_follows_whole_folders(device: Device) -> None:
    """A folder that appeared, moved or went takes its files with it."""
    device.write("in/x/a.txt", "heron")
    device.write("in/b.txt", "heron")
    updater = device.updater()
    updater.update([str(device.files / "in")])
    assert device.found("heron") == ["in/b.txt", "in/x/a.txt"]
    assert set(updater.folders) == {str(device.files / "in"), str(device.files / "in/x")}
    (device.files / "in").rename(device.files / "out")
    device.updater().update([str(device.files / "in"), str(device.files / "out")])
    assert device.found("heron") == ["out/b.txt", "out/x/a.txt"]
    assert len(device.moves) == 2
    shutil.rmtree(device.files / "out")
    device.updater().update([str(device.files / "out")])
    assert device.found("heron") == []
    assert device.agrees()


def test_an_update_of_ignored_paths_does_nothing(device: Device) -> None:
    """A change under node_modules takes no lock and makes no commit."""
    device.write("a.txt")
    generation = device.updater().scan().generation
    path = device.write("node_modules/x.js")
    with Index.open(device.data / "index").writer("somebody else"):
        assert not device.updater().update([path]).changed_anything
    assert device.catalogue.generation == generation


def test_a_changed_ignore_file_stands_for_its_folder(device: Device) -> None:
    """Writing a .gitignore takes out what it names, deleting it brings that back."""
    device.write("a.log.txt", "heron")
    device.updater().scan()
    path = device.write(".gitignore", "*.log.txt\n")
    device.updater().update([path])
    assert device.found("heron") == []
    os.unlink(path)
    device.updater().update([path])
    assert device.found("heron") == ["a.log.txt"]


def test_a_bad_file_is_one_failure_and_its_neighbours_survive(device: Device) -> None:
    """A broken PDF is listed with its reason, is not read again unchanged, and again when asked or when it changed."""
    bad = device.write("bad.pdf", "%PDF-1.4 broken broken")
    device.write("good.txt", "heron")
    assert device.updater().scan().n_failed == 1
    (failure,) = device.catalogue.failures()
    assert failure.path == bad
    assert failure.reason
    assert device.found("heron") == ["good.txt"]
    assert not device.updater().scan().changed_anything
    assert device.updater().scan(retry_failures=True).n_failed == 1
    device.reader = "2"
    assert device.updater().scan().n_failed == 1
    os.unlink(bad)
    device.updater().scan()
    assert device.catalogue.failures() == []


def test_a_file_that_became_unreadable_is_no_longer_found(device: Device) -> None:
    """What an earlier version of a file said is not answered once its new version fails."""
    device.write("a.html", "<p>heron")
    device.updater().scan()
    os.rename(device.write("b.pdf", "%PDF-1.4 broken"), device.files / "a.pdf")
    (device.files / "a.html").unlink()
    device.updater().scan()
    assert device.found("heron") == []
    assert [failure.path for failure in device.catalogue.failures()] == [str(device.files / "a.pdf")]


def test_a_document_that_the_index_refuses_is_one_failure(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an addition raises, the file fails as a whole and the others are committed."""
    add: Callable[[IndexWriter, int, FileEntry, PreparedDocument], None] = IndexWriter.add

    def refuse(self: IndexWriter, doc_id: int, entry: FileEntry, document: PreparedDocument) -> None:
        if entry.path.endswith("b.txt"):
            raise OverflowError("too many")
        add(self, doc_id, entry, document)

    monkeypatch.setattr(IndexWriter, "add", refuse)
    for name in ("a.txt", "b.txt", "c.txt"):
        device.write(name, "heron")
    device.updater().scan()
    assert device.found("heron") == ["a.txt", "c.txt"]
    (failure,) = device.catalogue.failures()
    assert failure.kind == "crashed"
    assert "too many" in failure.reason
    assert device.agrees()


def test_removing_a_root_removes_its_files(device: Device) -> None:
    """Files outside the current roots go with the next scan."""
    device.write("a/1.txt", "heron")
    device.write("b/2.txt", "heron")
    device.updater().scan()
    device.roots = (str(device.files / "b"),)
    assert device.updater().scan().n_removed == 1
    assert device.found("heron") == ["b/2.txt"]


def test_a_vanished_root_keeps_its_files_and_is_reported(device: Device) -> None:
    """A disk that is not mounted now is no reason to forget it; when it is back nothing is read again."""
    device.write("usb/a.txt", "heron")
    device.roots = (str(device.files / "usb"),)
    device.updater().scan()
    (device.files / "usb").rename(device.files / "elsewhere")
    summary = device.updater().scan()
    (line,) = summary.unavailable
    assert line.startswith(f"{device.files / 'usb'} cannot be read now; 1 file is kept")
    assert line.endswith("removes it from the index")
    assert not summary.changed_anything
    assert not device.updater().update([str(device.files / "usb" / "a.txt")]).changed_anything
    (device.files / "elsewhere").rename(device.files / "usb")
    assert not device.updater().scan().changed_anything
    assert device.found("heron") == ["usb/a.txt"]


def test_changed_rules_take_effect_with_the_next_scan(device: Device) -> None:
    """What a new pattern excludes is removed, and comes back without the pattern."""
    device.write("drafts/a.txt", "heron")
    device.updater().scan()
    device.rules = CrawlRules(ignore=IgnoreRules(exclude=("drafts/",)))
    device.updater().scan()
    assert device.found("heron") == []
    device.rules = CrawlRules()
    device.updater().scan()
    assert device.found("heron") == ["drafts/a.txt"]


def test_stopping_keeps_what_is_done_and_the_next_run_goes_on(device: Device) -> None:
    """Stopped in the middle, everything read so far is found, and nothing is read twice."""
    for i in range(60):
        device.write(f"{i}.txt", "heron")
    device.commits = CommitPolicy(max_postings=1)
    updater = device.updater()
    stop = updater.stop
    updater.on_progress = lambda progress: stop.set() if progress.n_done >= 3 else None
    first = updater.scan()
    assert first.stopped
    assert 1 <= first.n_new < 60
    assert len(device.found("heron")) == first.n_new
    second = device.updater().scan()
    assert (second.n_new, second.n_unchanged) == (60 - first.n_new, first.n_new)
    assert device.agrees()


def test_it_is_searchable_while_the_rest_is_read(device: Device) -> None:
    """Commits come in between: readers see growing generations before the end."""
    device.commits = CommitPolicy(max_postings=1)
    for i in range(5):
        device.write(f"{i}.txt", "heron")
    sizes: list[int] = []
    updater = device.updater()
    updater.on_progress = lambda progress: sizes.append(len(device.found("heron")))
    updater.scan()
    assert sizes == sorted(sizes)
    assert {1, 2, 3, 4, 5} <= set(sizes)


def test_progress_counts_files_and_bytes(device: Device) -> None:
    """The last report has everything done, and unchanged files counted as done."""
    device.write("a.txt", "12345")
    device.updater().scan()
    device.write("b.txt", "1234567")
    device.reports.clear()
    device.updater().scan()
    last = device.reports[-1]
    assert (last.phase, last.n_done, last.n_total) == ("idle", 2, 2)
    assert (last.bytes_done, last.bytes_total) == (len("1234567"), len("1234567"))
    assert device.reports[0].phase == "scanning"


def test_a_second_writer_is_named(device: Device) -> None:
    """While somebody writes, an update with work to do says who that is."""
    device.write("a.txt")
    with Index.open(device.data / "index").writer("foltr-search watch"), pytest.raises(LockedError, match="watch"):
        device.updater().scan()


def test_the_index_ahead_of_the_catalogue_is_brought_back(device: Device) -> None:
    """Killed between the two commits: what only the index has is removed, and ids are not used again."""
    device.write("a.txt", "heron")
    device.updater().scan()
    with Index.open(device.data / "index").writer("the test") as writer:
        prepared = _prepared(device, "a.txt")
        for doc_id in (500, 501):
            writer.add(doc_id, FileEntry(str(device.files / "ghost.txt"), 1, 1, 1, 1), prepared)
        writer.remove(device.catalogue.doc_ids())
        writer.commit()
    assert not device.agrees()
    device.updater().scan()
    assert device.agrees()
    assert device.found("heron") == ["a.txt"]
    assert min(device.catalogue.doc_ids()) > 501


def test_a_lost_index_is_filled_again(device: Device) -> None:
    """Somebody deleted the index folder: everything is read again, and nothing is answered twice."""
    for i in range(3):
        device.write(f"{i}.txt", "heron")
    device.updater().scan()
    shutil.rmtree(device.data / "index")
    device.open()
    device.updater().scan()
    assert device.found("heron") == ["0.txt", "1.txt", "2.txt"]
    assert device.agrees()


def assert_made_anew(device: Device) -> None:
    """A note says so, and the heron of a.txt is found again."""
    assert "indexed again" in device.open()
    device.updater().scan()
    assert device.found("heron") == ["a.txt"]
    assert device.agrees()


def test_a_damaged_index_is_made_anew_with_a_message(device: Device) -> None:
    """Garbage in the table of contents leads to a rebuild that says so."""
    device.write("a.txt", "heron")
    device.updater().scan()
    for toc in (device.data / "index").glob("*.toc"):
        toc.write_bytes(b"garbage")
    with pytest.raises(IndexDamaged):
        device.updater().scan()
    assert_made_anew(device)


@pytest.mark.parametrize("damage", [b"garbage" * 1000, None])
def test_a_damaged_catalogue_is_made_anew_with_a_message(device: Device, damage: bytes | None) -> None:
    """Garbage in the catalogue, or another version of it, leads to a rebuild that says so."""
    device.write("a.txt", "heron")
    device.updater().scan()
    if damage is None:
        device.catalogue.connection.execute("PRAGMA user_version = 77")
    device.catalogue.close()
    if damage is not None:
        (device.data / "catalogue.sqlite").write_bytes(damage)
        for ending in ("-wal", "-shm"):
            (device.data / f"catalogue.sqlite{ending}").unlink(missing_ok=True)
    assert_made_anew(device)


def test_an_index_of_the_version_before_is_read_anew(device: Device) -> None:
    """Index and catalogue as version 0.1 names them: a note says so, and all is found again."""
    device.write("a.txt", "heron")
    device.updater().scan()
    for toc in (device.data / "index").glob("*.toc"):
        toc.rename(toc.with_name(toc.name.replace(f"v{VERSION}", "v2")))
    device.catalogue.connection.execute("ALTER TABLE documents DROP COLUMN properties")
    device.catalogue.connection.execute("PRAGMA user_version = 1")
    device.catalogue.close()
    assert_made_anew(device)


def test_a_rebuild_waits_for_nobody(device: Device) -> None:
    """While another process writes, a rebuild is refused and nothing is destroyed."""
    device.write("a.txt", "heron")
    device.updater().scan()
    with Index.open(device.data / "index").writer("foltr-search watch"), pytest.raises(LockedError, match="watch"):
        device.open(rebuild=True)
    assert device.found("heron") == ["a.txt"]
    device.open(rebuild=True)
    assert device.updater().scan().n_new == 1


def test_optimizing_leaves_the_same_documents(device: Device) -> None:
    """After optimizing, everything is found as before and both sides agree."""
    device.commits = CommitPolicy(max_postings=1)
    for i in range(4):
        device.write(f"{i}.txt", "heron")
    device.updater().scan()
    device.updater().scan(optimize=True)
    assert device.found("heron") == [f"{i}.txt" for i in range(4)]
    assert device.agrees()


def holds(device: Device, word: bytes) -> bool:
    """Whether a file of the index has the word anywhere."""
    return any(word in path.read_bytes() for path in (device.data / "index").iterdir())


def fill_a_segment(device: Device) -> None:
    """So many words that one document more or less has nothing merged, once all are in one segment."""
    for i in range(4):
        device.write(f"long{i}.txt", " ".join(f"w{j}" for j in range(i, 20_000, 4)))


def set_wipe_by(device: Device, when: float) -> None:
    device.catalogue.connection.execute("UPDATE meta SET value = ? WHERE key = 'wipe_by'", (when,))


@pytest.mark.parametrize("hours", [-0.01, 5.0])
def test_words_that_a_changed_file_lost_stay_for_an_hour(device: Device, hours: float) -> None:
    """So that no large segment is written anew at every change; then, and where a clock went back, the scan wipes."""
    fill_a_segment(device)
    device.write("a.txt", "quokka")
    device.updater().scan(optimize=True)
    assert device.catalogue.wipe_by == math.inf
    device.write("a.txt", "wombat")
    before = time.time()
    device.updater().scan()
    device.updater().scan()
    assert holds(device, b"quokka")
    assert before + CHANGED_STAYS <= (device.catalogue.wipe_by or 0.0) <= time.time() + CHANGED_STAYS
    assert Index.open(device.data / "index").n_unwiped == 1
    set_wipe_by(device, time.time() + hours * 3600)
    device.updater().scan()
    assert not holds(device, b"quokka")
    assert (device.catalogue.wipe_by, Index.open(device.data / "index").n_unwiped) == (math.inf, 0)
    assert (device.found("wombat"), device.found("w17"), device.agrees()) == (["a.txt"], ["long1.txt"], True)


def test_a_removal_that_was_only_followed_is_wiped_by_the_next_scan(device: Device) -> None:
    """An update of single paths writes no segment anew; its words are gone with the scan after it."""
    fill_a_segment(device)
    path = device.write("a.txt", "quokka")
    device.updater().scan(optimize=True)
    os.unlink(path)
    device.updater().update([path])
    assert holds(device, b"quokka")
    device.updater().scan()
    assert not holds(device, b"quokka")


def test_wiping_that_was_cut_off_is_begun_again(device: Device) -> None:
    """Also what only other places keep, though the index was written anew already."""
    path = device.write("a.txt", "quokka")
    device.write("b.txt", "wombat")
    device.updater().scan()
    os.unlink(path)
    asked = list[bool]()

    def killed(is_deleted: bool) -> None:
        if is_deleted:
            raise RuntimeError("killed")

    cut_off = device.updater()
    cut_off.forget = killed
    with pytest.raises(RuntimeError, match="killed"):
        cut_off.scan()
    again = device.updater()
    again.forget = asked.append
    again.scan()
    assert asked == [False, True]
    assert not holds(device, b"quokka")
    again.scan()
    assert asked == [False, True, False]
    assert device.agrees()


def test_a_disk_without_room_puts_wiping_off(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan says so and is done with everything else; with room the next one wipes."""
    fill_a_segment(device)
    path = device.write("a.txt", "quokka")
    device.updater().scan(optimize=True)
    os.unlink(path)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_000))
        assert "not wiped yet" in device.updater().scan().note
    assert (device.found("quokka"), holds(device, b"quokka")) == ([], True)
    device.updater().scan()
    assert not holds(device, b"quokka")


def test_a_document_that_only_the_index_knew_is_wiped(device: Device) -> None:
    """A kill between the two commits of a file that was then deleted."""
    fill_a_segment(device)
    device.updater().scan(optimize=True)
    entry = FileEntry(str(device.files / "gone.txt"), 1, 1, 1, 1)
    with Index.open(device.data / "index").writer("the test") as writer:
        writer.add(9_999, entry, prepare_document(ExtractedDocument(text="quokka", type="text")))
        writer.commit(merge=False)
    assert holds(device, b"quokka")
    device.updater().scan()
    assert not holds(device, b"quokka")
    assert device.agrees()


def test_a_full_disk_is_one_line(device: Device) -> None:
    """No space left is an IndexerError that says so; other errors of the system stay what they are."""
    with pytest.raises(IndexerError, match="disk is full"), disk_errors(device.data):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(PermissionError), disk_errors(device.data):
        raise PermissionError


@pytest.mark.skipif(sys.platform == "win32", reason="the system limits no file's size")
def test_what_finds_no_room_is_given_back(device: Device) -> None:
    """Half of a segment would keep a full disk full: it goes at once, and the next run needs no room that is not there.

    Here no file may grow beyond 100 kB; the text takes twice as much.
    """
    import resource

    device.write("small.txt", "quokka")
    device.updater().scan()
    index = device.data / "index"
    before = sorted(index.iterdir())
    device.write("large.txt", " ".join(f"word{i}" for i in range(20_000)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(IndexerError, match=r"may not be larger: .* cannot grow; what was committed before is kept"):
            device.updater().scan()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(index.iterdir()) == before
    device.updater().scan()
    assert device.found("word7") == ["large.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="there what is open is not removed")
def test_a_data_folder_that_was_removed_is_not_made_anew(device: Device) -> None:
    """Its owner marks it as its own when it makes it; one that is there again without the mark is taken by nobody."""
    updater = device.updater()
    device.write("a.txt")
    shutil.rmtree(device.data)
    with pytest.raises(FileNotFoundError):
        updater.scan()
    assert not device.data.exists()


def test_a_suspect_is_looked_at_and_forgotten(device: Device) -> None:
    """A file that a search found gone is removed by the next update of that path."""
    path = device.write("a.txt", "heron")
    device.updater().scan()
    os.unlink(path)
    device.catalogue.purge(path)
    device.updater().update(device.catalogue.suspects())
    assert device.found("heron") == []
    assert device.catalogue.suspects() == []


def test_strange_names_are_indexed_and_found(device: Device) -> None:
    """A name that is not UTF-8 and one with a newline go all the way through the workers."""
    for name in (b"bad\xff name.txt", b"new\nline.txt"):
        with open(os.path.join(os.fsencode(device.files), name), "wb") as file:
            file.write(b"heron")
    device.updater().scan()
    assert device.found("heron") == [os.fsdecode(b"bad\xff name.txt"), "new\nline.txt"]
    assert not device.updater().scan().changed_anything


def test_a_commit_is_due_early_then_rarely_and_by_size() -> None:
    """The marks of the first minute each commit once; later the pause, or the memory, decides."""
    policy = CommitPolicy(first_seconds=(3, 15), seconds=100, max_postings=10, max_text_bytes=10)

    def due(last: float, now: float, n_postings: int = 0, n_text_bytes: int = 0) -> bool:
        return policy.is_due(
            began=0.0, last=last, now=now, n_postings=n_postings, n_text_bytes=n_text_bytes
        )  # fmt: skip

    assert [due(0, 2), due(0, 3), due(3.1, 14), due(3.1, 15), due(15.1, 100), due(15.1, 15.1 + 100)] == [
        False, True, False, True, False, True,
    ]  # fmt: skip
    assert due(0, 1, n_postings=10)
    assert due(0, 1, n_text_bytes=10)


def test_outermost_paths_cover_the_others() -> None:
    """A path inside another one of the list goes; one whose name only begins alike stays."""
    assert outermost(["/a/b", "/a", "/ab", "/a/b/c", "/c/d"]) == ["/a", "/ab", "/c/d"]


@pytest.mark.skipif(not ODD_FILES.exists(), reason="the shared corpus is not there")
def test_the_odd_files_index_twice_with_the_same_result(device: Device) -> None:
    """Every readable odd file is found, every other one is listed, and a second run changes nothing."""
    subprocess.run(["sh", str(ODD_FILES), str(device.files / "odd")], check=True, capture_output=True)
    first = device.updater().scan()
    words = {
        "zebralatin": "latin1.txt", "zebrasixteen": "u16.txt", "zebranl": "new\nline.txt", "zebralong": "long.txt",
        "zebrabig": "big.log", "zebrazip": "a.zip", "zebrabody": "mail.mbox",
    }  # fmt: skip
    assert {word: device.found(word) for word in words} == {word: [f"odd/{name}"] for word, name in words.items()}
    assert device.found("zebrascript") == []
    assert [os.path.basename(failure.path) for failure in device.catalogue.failures()] == ["bad.pdf"]
    assert first.n_failed == 1
    again = device.updater().scan()
    assert not again.changed_anything
    assert again.n_skipped == first.n_skipped


def _prepared(device: Device, name: str) -> PreparedDocument:
    """One document as a worker gives it."""
    status = (device.files / name).stat()
    entry = FileEntry(str(device.files / name), status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)
    ((_, outcome),) = device.pool.run([entry], threading.Event())
    assert not isinstance(outcome, ExtractionError)
    return outcome.documents[0]


def test_the_batch_of_a_catalogue_may_be_empty(device: Device) -> None:
    """A commit that only removes documents still moves the generation."""
    CatalogueWriter(device.catalogue).commit(Batch(), generation=12)
    assert Catalogue.open(device.data / "catalogue.sqlite").generation == 12


WORDS = ("heron", "egret", "stork", "crane")
NAMES = ("a.txt", "b.md", os.fsdecode(b"\xff.txt"), "new\nline.txt", "c.zip", "picture.png", "d.tmp", ".gitignore")
FOLDERS = ("", "sub", "sub/deep", "other", "node_modules")


class Life:
    """Random changes below the roots, which stay; `paths` tells of them until they are looked at."""

    def __init__(self, device: Device, seed: int) -> None:
        self.files, self.roots, self.random = device.files, device.roots, random.Random(seed)
        self.paths = set[str]()

    def step(self) -> None:
        """One change; none where there is nothing to change."""
        present = sorted(path for path in self.files.rglob("*") if str(path) not in self.roots)
        path = self.random.choice(present) if present else self.files
        new = self.files / self.random.choice(FOLDERS) / self.random.choice(NAMES)
        change = self.random.choice((self.write, self.rename, self.remove, self.link, self.touch, self.swap))
        linked = (str(path) for path in present if path.is_file() and path.stat().st_nlink > 1)
        self.paths.update((str(path), str(new), *linked))  # what is done to one name is done to the others
        with contextlib.suppress(OSError):  # a folder into itself, a file over a folder
            change(path, new)

    def write(self, _: Path, new: Path) -> None:
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(" ".join(self.random.choices(WORDS, k=2)))

    def rename(self, path: Path, new: Path) -> None:
        new.parent.mkdir(parents=True, exist_ok=True)
        path.rename(new if path.is_file() else new.with_suffix(""))
        self.paths.add(str(new.with_suffix("")))

    def remove(self, path: Path, _: Path) -> None:
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def link(self, path: Path, new: Path) -> None:
        os.link(path, new)

    def touch(self, path: Path, _: Path) -> None:
        os.utime(path, ns=(0, self.random.randrange(10**18)))

    def swap(self, path: Path, new: Path) -> None:
        if path.is_file() and new.is_file() and not path.samefile(new):
            path.rename(kept := self.files / "kept")
            new.rename(path)
            kept.rename(new)


def everything(device: Device) -> dict[str, tuple[object, ...]]:
    """All that is known of each file, without the numbers that it was given, and the words by which it is found."""
    known: dict[str, tuple[object, ...]] = {}
    words = [(word, path) for word in WORDS for path in device.found(word)]
    for path in device.catalogue.paths():
        row = device.catalogue.file(path)
        assert row is not None
        documents = device.catalogue.documents(device.catalogue.doc_ids_of(path)).values()
        name = os.path.relpath(path, device.files)
        known[name] = (
            row.known.state, row.known.failure, row.known.size, row.known.modified_ns, row.known.inode,
            sorted((one.path, one.part, one.type, one.title) for one in documents),
            [word for word, where in words if where == name],
        )  # fmt: skip
    return known


@pytest.mark.parametrize("seed", range(4))
def test_after_many_changes_the_index_is_as_a_fresh_one(device: Device, tmp_path: Path, seed: int) -> None:
    """Fifty changes, followed path by path or by scans of folders that overlap, leave what one look would find."""
    device.roots = (str(device.files), str(device.files / "sub"), str(device.files))
    device.write("sub/a.txt", "heron")
    life = Life(device, seed)
    for _ in range(50):
        life.step()
        if life.random.random() < 0.4:
            look = device.updater()
            look.scan() if life.random.random() < 0.4 else look.update(life.paths)
            life.paths.clear()
    device.updater().update(life.paths)
    assert device.agrees()
    (tmp_path / "fresh").mkdir()
    fresh = Device(tmp_path / "fresh", device.pool)
    fresh.files, fresh.roots = device.files, device.roots
    fresh.updater().scan()
    assert everything(device) == everything(fresh)
    assert not device.updater().scan().changed_anything
