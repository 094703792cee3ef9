"""The index on disk: commits, readers that keep what they opened, one writer, damage, and kills."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.codec.segments import EXTENSIONS, NAMES
from indexer.documents import FileEntry
from indexer.errors import IndexDamaged, LockedError
from indexer.prepare import PreparedDocument
from indexer.schema import DOCUMENT, TEXT_FIELDS
from indexer.storage.index import INDEX_NAME, LOCK_FILE, MAX_SEGMENTS, Index, lock_holder
from indexer.storage.snapshot import Snapshot

ROOT = Path(__file__).resolve().parents[3]
MakeIndex = Callable[..., Index]
Fill = Callable[..., int]
Prepared = Callable[..., tuple[int, FileEntry, PreparedDocument]]

WORDS = ["heron", "stork", "crane", "foo_bar", "Größe"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), min_size=1, max_size=7)


def found(snapshot: Snapshot, term: str, field: str = "body") -> list[int]:
    """The ids of the documents that hold the term."""
    return sorted(snapshot.documents["doc_id"][snapshot.postings(field, term).docs].tolist())


def content(snapshot: Snapshot) -> dict[int, tuple[object, ...]]:
    """All that a snapshot knows of its living documents, by id: numbers, and the places of every term."""
    ids = snapshot.documents["doc_id"].tolist()
    places: dict[int, set[tuple[str, str, int]]] = {i: set() for i in ids}
    for field in (*TEXT_FIELDS, "tag"):
        for term in snapshot.terms_with_prefix(field, ""):
            docs = snapshot.postings(field, term).docs
            for doc in docs.tolist():
                places[ids[doc]].add((field, term, -1))
            for place in snapshot.places(field, term, docs).tolist():
                places[ids[place >> 32]].add((field, term, place & (1 << 32) - 1))
    living = np.flatnonzero(snapshot.alive).tolist()
    names = [name for name in NAMES if name != "doc_id"]
    numbers = {i: b"".join(snapshot.documents[name][i].tobytes() for name in names) for i in living}
    return {ids[i]: (numbers[i], frozenset(places[ids[i]])) for i in living}


def segment_files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != LOCK_FILE}


def test_a_commit_shows_and_is_numbered(make_index: MakeIndex, fill: Fill) -> None:
    """Generation 0 is empty; each commit is one higher; what is not committed is not there."""
    index = make_index([])
    assert (index.generation, index.snapshot().n_documents) == (0, 0)
    with index.writer("test"):
        assert index.snapshot().n_documents == 0
    assert fill(index, ["heron", "stork"]) == 1
    assert fill(index, ["heron"], first_id=2) == 2
    assert (index.generation, found(index.snapshot(), "heron")) == (2, [0, 2])
    assert Index.open(index.folder).generation == 2


def test_leaving_without_a_commit_discards(make_index: MakeIndex, prepared: Prepared) -> None:
    """Also when an error ends the block: nothing was added or removed, and the lock is free."""
    index = make_index(["heron"])

    def fail() -> None:
        with index.writer("test") as writer:
            writer.add(*prepared(1, "stork"))
            writer.remove([0])
            assert writer.pending_postings > 0
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert (index.generation, found(index.snapshot(), "heron"), found(index.snapshot(), "stork")) == (1, [0], [])
    assert lock_holder(index.folder) == ""


def test_removed_documents_are_gone_from_everything(make_index: MakeIndex) -> None:
    """From postings, places, counts and ids; ids that nobody knows are passed over."""
    index = make_index(["heron", "heron stork", *["ibis"] * 8], removed=[0, 77])
    snapshot = index.snapshot()
    assert (found(snapshot, "heron"), snapshot.n_documents) == ([1], 10 - 1)
    assert snapshot.places("body", "heron", np.array([0, 1])).tolist() == [1 << 32]
    assert not snapshot.having([0]).any()
    with index.writer("test") as writer:
        assert writer.doc_ids() == set(range(1, 10))


def test_a_document_may_be_removed_before_it_was_committed(make_index: MakeIndex, prepared: Prepared) -> None:
    """A file that fails half-way takes back what it had added."""
    index = make_index(["heron"])
    with index.writer("test") as writer:
        for doc_id in (1, 2, 3):
            writer.add(*prepared(doc_id, "stork"))
        writer.remove([1, 3])
        writer.commit()
    assert found(index.snapshot(), "stork") == [2]


def test_a_document_that_is_refused_leaves_no_terms(make_index: MakeIndex, prepared: Prepared) -> None:
    """A document of an impossible type raises, and its words are not given to the next one."""
    index = make_index([])
    with index.writer("test") as writer:
        doc_id, entry, document = prepared(0, {"text": "poison", "type": "no such type"})
        with pytest.raises(ValueError, match="not in tuple"):
            writer.add(doc_id, entry, document)
        writer.add(*prepared(1, "heron"))
        writer.commit()
    snapshot = index.snapshot()
    assert (found(snapshot, "heron"), found(snapshot, "poison")) == ([1], [])


@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, data=st.data())
def test_however_it_was_written_the_same_documents_are_there(
    make_index: MakeIndex, texts: list[str], data: st.DataObject
) -> None:
    """Commits, removals and merges leave exactly what one commit of the living documents gives."""
    sizes = data.draw(st.lists(st.integers(0, 3), max_size=4))
    removed = data.draw(st.sets(st.integers(0, len(texts) - 1)))
    index = make_index(texts, sizes=sizes, removed=removed)
    expected = content(make_index(texts).snapshot())
    expected = {doc_id: row for doc_id, row in expected.items() if doc_id not in removed}
    assert content(index.snapshot()) == expected
    with index.writer("test") as writer:
        writer.optimize()
        assert writer.doc_ids() == set(expected)
    optimized = index.snapshot()
    assert content(optimized) == expected
    assert optimized.alive.all()
    assert len({name.split(".")[0] for name in segment_files(index.folder)}) == bool(expected) + 1  # segment and table


def test_a_reader_keeps_what_it_opened(make_index: MakeIndex, fill: Fill) -> None:
    """The files are merged and deleted under an open snapshot, which goes on answering as before."""
    index = make_index(["heron stork", "stork", "heron"], sizes=[1, 1])
    before, files = index.snapshot(), segment_files(index.folder)
    with index.writer("test") as writer:
        writer.remove([0])
        writer.optimize()
    fill(index, ["heron"], first_id=3)
    assert not files & segment_files(index.folder)
    assert found(before, "heron") == [0, 2]
    assert before.places("body", "stork", np.array([0, 1])).tolist() == [1, 1 << 32]
    assert found(index.snapshot(), "heron") == [2, 3]
    assert before.commit_name != index.snapshot().commit_name


def test_readers_open_while_a_writer_commits(make_index: MakeIndex, prepared: Prepared) -> None:
    """Every snapshot opened meanwhile is whole: as many documents as its generation says, never an error."""
    index = make_index(["heron"])
    problems: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                snapshot = Index.open(index.folder).snapshot()
                assert len(found(snapshot, "heron")) == snapshot.n_documents == snapshot.generation
        except BaseException as error:
            problems.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for doc_id in range(1, 40):
        with index.writer("test") as writer:
            writer.add(*prepared(doc_id, "heron"))
            writer.commit()
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []


@pytest.mark.parametrize("merge", [True, False])
def test_the_number_of_segments_stays_bounded(make_index: MakeIndex, prepared: Prepared, merge: bool) -> None:
    """After any of 40 commits there are no more than MAX_SEGMENTS, whether like sizes are merged or not."""
    index = make_index([])
    n_segments = []
    with index.writer("test") as writer:
        for doc_id in range(40):
            writer.add(*prepared(doc_id, "heron " * (1 + doc_id % 3)))
            writer.commit(merge=merge)
            n_segments.append(len({name for name in segment_files(index.folder) if name.endswith(".doc")}))
    assert max(n_segments) <= MAX_SEGMENTS
    assert (max(n_segments) > 1) or merge
    assert found(index.snapshot(), "heron") == list(range(40))


def test_dead_documents_do_not_accumulate(make_index: MakeIndex, prepared: Prepared) -> None:
    """A document replaced a hundred times leaves at most a quarter of dead rows."""
    index = make_index(["heron"] * 20)
    with index.writer("test") as writer:
        for turn in range(100):
            writer.remove([turn])
            writer.add(*prepared(20 + turn, "heron"))
            writer.commit()
    snapshot = index.snapshot()
    assert snapshot.n_documents == 20
    assert snapshot.alive.size <= 20 / (1 - 0.25) + 1


def test_only_files_of_the_newest_commit_remain(make_index: MakeIndex, fill: Fill) -> None:
    """What a killed commit left - segments, a half-written table - goes with the next one."""
    index = make_index(["heron"])
    for name in (f"{INDEX_NAME}_0123456789abcdef.pst", f"_{INDEX_NAME}_2.toc.1700000000.25", f"_{INDEX_NAME}_0.toc"):
        (index.folder / name).write_bytes(b"left behind")
    assert found(index.snapshot(), "heron") == [0]
    generation = fill(index, ["stork"], first_id=1)
    names = {name.split(".")[0] for name in segment_files(index.folder)}
    assert names == {f"_{INDEX_NAME}_{generation}", *(f"{INDEX_NAME}_{name}" for name in segment_ids(index))}


def segment_ids(index: Index) -> set[str]:
    return {name.split("_")[1] for name in index.snapshot().commit_name[1]}


def test_names_of_segments_do_not_come_from_seeded_numbers(make_index: MakeIndex) -> None:
    """Somebody seeds the global random numbers; two indexes still never use the same name."""
    names: list[str] = []
    for _ in range(2):
        random.seed(1)
        names.extend(make_index(["heron"]).snapshot().commit_name[1])
    assert len(set(names)) == 2


def test_folder_and_files_are_for_their_owner_only(tmp_path: Path, fill: Fill) -> None:
    """0700 and 0600, whatever the user's mask says."""
    before = os.umask(0o000)
    try:
        index = Index.open(tmp_path / "index")
        fill(index, ["heron"])
    finally:
        os.umask(before)
    assert index.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in index.folder.iterdir()} == {0o600}


def test_the_size_on_disk_is_that_of_the_files(make_index: MakeIndex) -> None:
    """The sum over the folder; 0 after it was destroyed, but for the lock."""
    index = make_index(["heron"])
    files = list(index.folder.iterdir())
    assert Index.bytes_on_disk(index.folder) == sum(path.stat().st_size for path in files)
    Index.destroy(index.folder)
    assert {path.name for path in index.folder.iterdir()} == {LOCK_FILE}
    assert Index.bytes_on_disk(index.folder / "not there") == 0


# One writer ----------------------------------------------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from indexer.storage.index import Index
with Index.open(Path(sys.argv[1])).writer("the other one"):
    print("holding", flush=True)
    sys.stdin.readline()
"""


def test_a_second_writer_is_told_who_the_first_is(make_index: MakeIndex) -> None:
    """Another process holds the lock: LockedError names it and its process, and reading goes on."""
    index = make_index(["heron"])
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(index.folder)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "holding\n"
        with pytest.raises(LockedError, match=rf"the other one \(process {child.pid}, since \d\d:\d\d\)"):
            index.writer("test")
        assert lock_holder(index.folder).startswith(f"the other one (process {child.pid}")
        assert found(index.snapshot(), "heron") == [0]
        child.kill()
        child.wait()
        assert lock_holder(index.folder) == ""
        index.writer("test").close()
    finally:
        child.kill()
        child.communicate()


def test_looking_who_writes_never_keeps_anyone_from_writing(make_index: MakeIndex) -> None:
    """The screen asks again and again; a writer that comes at that moment waits for it."""
    index = make_index([])
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            lock_holder(index.folder)
            time.sleep(0.001)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(200):
            index.writer("test").close()
    finally:
        done.set()
        looking.join()


def test_nobody_holds_the_lock_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """Not even an error."""
    assert lock_holder(tmp_path / "nowhere") == ""


# Damage --------------------------------------------------------------------------------------------------------------


def test_an_index_of_another_version_must_be_rebuilt(make_index: MakeIndex) -> None:
    """It is said in one line, and destroying it lets one begin anew."""
    index = make_index(["heron"])
    for path in index.folder.glob(f"_{INDEX_NAME}_*.toc"):
        path.rename(index.folder / path.name.replace(INDEX_NAME, "v0"))
    with pytest.raises(IndexDamaged, match="another version"):
        Index.open(index.folder)
    Index.destroy(index.folder)
    assert Index.open(index.folder).generation == 0


def _cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


@pytest.mark.parametrize("pattern", ["*.toc", "*.doc", "*.trm", "*.pst"])
@pytest.mark.parametrize("damage", [_cut, lambda data: b"", lambda data: b"\x80garbage" * 40, None],
                         ids=["cut", "emptied", "garbage", "deleted"])  # fmt: skip
def test_damage_is_named_by_readers_and_writers(
    make_index: MakeIndex, pattern: str, damage: Callable[[bytes], bytes] | None
) -> None:
    """Whatever happened to a file: IndexDamaged, never an error of another kind; an index without a table is new."""
    index = make_index(["heron stork " * 20, "stork"])
    (path,) = index.folder.glob(pattern)
    if damage is None:
        path.unlink()
        if pattern == "*.toc":
            assert Index.open(index.folder).snapshot().n_documents == 0
            return
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(IndexDamaged):
        Index.open(index.folder).snapshot()
    with pytest.raises(IndexDamaged):
        Index.open(index.folder).writer("test")
    assert lock_holder(index.folder) == ""


def test_a_segment_with_another_number_of_documents_is_damaged(make_index: MakeIndex) -> None:
    """One row cut off at its boundary is noticed by the table of contents."""
    index = make_index(["heron", "stork"])
    (path,) = index.folder.glob("*.doc")
    path.write_bytes(path.read_bytes()[: DOCUMENT.itemsize])
    with pytest.raises(IndexDamaged, match="must have 2 documents, not 1"):
        index.snapshot()


# Kills ---------------------------------------------------------------------------------------------------------------

COMMITTER = """
import sys
from pathlib import Path
from indexer.documents import ExtractedDocument, FileEntry
from indexer.storage.index import Index
from indexer.prepare import prepare_document
first = int(sys.argv[2])
with Index.open(Path(sys.argv[1])).writer("test") as writer:
    for doc_id in range(first, first + 10_000):
        text = f"heron w{doc_id} " * 30
        document = prepare_document(ExtractedDocument(text=text, type="text"))
        writer.add(doc_id, FileEntry(f"/{doc_id}", 1, 1, 1, 1), document)
        if doc_id % 3 == 0:
            writer.remove([doc_id - 2])
        sys.stdout.write(f"{writer.commit()} {doc_id}\\n")  # in one piece, also where nothing is buffered
        sys.stdout.flush()
"""


def test_a_kill_at_any_moment_of_a_commit_loses_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    """Killed five times in the middle of commits: the last one that was acknowledged is there, whole; no dead files."""
    rng = random.Random(11)
    folder = tmp_path / "index"
    expected: set[int] = set()
    first = 0
    for _ in range(5):
        child = subprocess.Popen(
            [sys.executable, "-c", COMMITTER, str(folder), str(first)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        lines = [child.stdout.readline()]
        time.sleep(rng.uniform(0.0, 0.2))
        child.send_signal(signal.SIGKILL)
        lines.extend(child.communicate()[0].splitlines())
        generation, last = map(int, lines[-1].split())
        snapshot = Index.open(folder).snapshot()
        reached = last + (snapshot.generation - generation)  # a commit may be durable and not yet acknowledged
        assert snapshot.generation in (generation, generation + 1)
        expected |= set(range(first, reached + 1))
        expected -= {doc_id - 2 for doc_id in range(first, reached + 1) if doc_id % 3 == 0}
        assert set(found(snapshot, "heron")) == expected
        assert all(
            found(snapshot, f"w{doc_id}") == [doc_id] for doc_id in rng.sample(sorted(expected), min(2, len(expected)))
        )
        first = reached + 1
    with Index.open(folder).writer("test") as writer:
        assert writer.doc_ids() == expected
        writer.commit()
    generation, segments = Index.open(folder).commit_name
    kept = {f"{segment}{extension}" for segment in segments for extension in EXTENSIONS}
    assert segment_files(folder) == {*kept, f"_{INDEX_NAME}_{generation}.toc"}
