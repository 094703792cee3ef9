"""The catalogue: what comes out is what went in, readers never wait, damage asks for a rebuild."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from indexer.documents import ExtractedDocument, FileEntry, Skipped
from indexer.errors import IndexDamaged
from indexer.prepare import prepare_document
from indexer.storage.catalogue import Catalogue, Counts, Failure
from indexer.storage.catalogue_tables import reset
from indexer.storage.catalogue_writing import (
    MAX_SKIPPED_ROWS,
    Batch,
    CatalogueWriter,
    StoredFile,
    compact,
    empty_log,
    note_scan,
)


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue.open(tmp_path / "data" / "catalogue.sqlite")


def entry(path: str, *, size: int = 10, modified_ns: int = 5 * 10**9, inode: int = 1) -> FileEntry:
    return FileEntry(path, size, modified_ns, 7, inode)


def store(catalogue: Catalogue, path: str, *documents: ExtractedDocument, generation: int = 1, notes: str = "") -> int:
    """Store one file with its documents; gives its file id."""
    writer, batch = CatalogueWriter(catalogue), Batch()
    file = StoredFile(writer.new_file_id(), entry(path), "indexed", "", notes, "1")
    batch.add(file, ((writer.new_doc_id(), prepare_document(document)) for document in documents))
    writer.commit(batch, generation=generation)
    return file.file_id


def fail(catalogue: Catalogue, path: str, kind: str, reason: str) -> None:
    writer = CatalogueWriter(catalogue)
    file = StoredFile(writer.new_file_id(), entry(path), "failed", kind, reason, "1")
    writer.commit(Batch(files=[file]), generation=1)


def test_a_document_comes_back_as_it_was_stored(catalogue: Catalogue) -> None:
    """Every field of a document, and its text, survive the round trip."""
    document = ExtractedDocument(
        text="Grüße an Zoë", type="mail", part="message 2", title="Über", author="Ann <a@b>", recipients="c@d",
        properties=(("tag", "a"), ("tag", "ü")), modified=123.5, pages=(0, 6), truncated="first 2 MB",
    )  # fmt: skip
    store(catalogue, "/n/box.mbox", document)
    (doc_id,) = catalogue.doc_ids_of("/n/box.mbox")
    row = catalogue.documents([doc_id])[doc_id]
    assert (row.path, row.part, row.title, row.type) == ("/n/box.mbox", "message 2", "Über", "mail")
    assert (row.author, row.recipients, row.modified, row.size) == ("Ann <a@b>", "c@d", 123.5, 10)
    assert (row.pages, row.truncated, row.n_words) == ((0, 6), "first 2 MB", len(["Grüße", "an", "Zoë"]))
    assert row.properties == (("tag", "a"), ("tag", "ü"))
    assert catalogue.text(doc_id) == "Grüße an Zoë"
    assert list(catalogue.written([doc_id])) == [(doc_id, "/n/box.mbox/message 2\nÜber\na\nü\nGrüße an Zoë")]


def test_the_mails_of_a_file_that_goes_leave_their_threads(catalogue: Catalogue) -> None:
    """Those of other files stay in them."""
    gone = store(catalogue, "/a.eml", ExtractedDocument(text="x", type="mail", message_ids=("a@x",)))
    store(catalogue, "/b.eml", ExtractedDocument(text="y", type="mail", message_ids=("b@x", "a@x")))
    assert len(catalogue.doc_ids_of_thread("a@x")) == 2
    CatalogueWriter(catalogue).commit(Batch(replaced=[gone]), generation=2)
    assert catalogue.doc_ids_of_thread("a@x") == set(catalogue.doc_ids_of("/b.eml"))


def test_a_document_without_a_date_has_the_date_of_its_file(catalogue: Catalogue) -> None:
    """Also when its own date is no number."""
    store(
        catalogue, "/a.txt",
        ExtractedDocument(text="x", type="text"), ExtractedDocument(text="y", type="text", modified=float("nan")),
    )  # fmt: skip
    rows = catalogue.documents(catalogue.doc_ids_of("/a.txt"))
    assert [row.modified for row in rows.values()] == [5.0, 5.0]


def test_strange_names_and_titles_are_stored(catalogue: Catalogue) -> None:
    """A path keeps its bytes; a title that UTF-8 cannot hold loses only those characters."""
    path = os.fsdecode(b"/bad\xff\nname.txt")
    store(catalogue, path, ExtractedDocument(text="x", type="text", title="a\udcffb"))
    (row,) = catalogue.documents(catalogue.doc_ids_of(path)).values()
    assert row.path == path
    assert row.title == "a?b"
    assert set(catalogue.known("/")) == {path}


def test_storing_a_file_again_replaces_its_documents(catalogue: Catalogue) -> None:
    """The old documents and texts go, and the new ones have ids that were never used."""
    file_id = store(catalogue, "/a.txt", *(ExtractedDocument(text=f"t{i}", type="text") for i in range(3)))
    old = catalogue.doc_ids_of("/a.txt")
    writer, batch = CatalogueWriter(catalogue), Batch()
    file = StoredFile(file_id, entry("/moved.txt"), "indexed", "", "", "1")
    batch.add(file, [(writer.new_doc_id(), prepare_document(ExtractedDocument(text="new", type="text")))])
    writer.commit(batch, generation=2)
    (new,) = catalogue.doc_ids_of("/moved.txt")
    assert new > max(old)
    assert catalogue.doc_ids() == {new}
    assert [catalogue.text(doc_id) for doc_id in (*old, new)] == ["", "", "", "new"]
    assert catalogue.file("/a.txt") is None
    assert catalogue.generation == 2


def test_a_touched_file_gets_its_new_ctime_and_nothing_else(catalogue: Catalogue) -> None:
    """The digest and the documents stay."""
    file_id = store(catalogue, "/a.txt", ExtractedDocument(text="x", type="text"))
    before = catalogue.known("/")["/a.txt"]
    CatalogueWriter(catalogue).commit(Batch(touched=[(77, file_id)]), generation=1)
    assert catalogue.known("/")["/a.txt"] == before._replace(changed_ns=77)
    assert len(catalogue.doc_ids_of("/a.txt")) == 1


def test_counts_and_lists_say_what_there_is(catalogue: Catalogue) -> None:
    """Files, documents, failures and passed-over paths are counted apart; failures are listed by path."""
    store(catalogue, "/a.zip", ExtractedDocument(text="x", type="text"), notes="b.txt: encrypted")
    fail(catalogue, "/z.pdf", "encrypted", "needs a password")
    fail(catalogue, "/b.pdf", "malformed", "no trailer")
    note_scan(catalogue, roots=["/"], skipped=[Skipped("/f", "special", "a FIFO")], by_rule={"special": 1, "type": 40})
    assert catalogue.counts() == Counts(n_files=1, n_named=0, n_documents=1, n_failures=2, n_skipped=1 + 40)
    assert catalogue.failures() == [
        Failure("/b.pdf", "malformed", "no trailer"), Failure("/z.pdf", "encrypted", "needs a password"),
    ]  # fmt: skip
    assert catalogue.partial_failures() == [Failure("/a.zip", "part", "b.txt: encrypted")]
    assert catalogue.skipped() == [Failure("/f", "special", "a FIFO")]
    assert catalogue.roots == ("/",)
    assert catalogue.last_update > 0


def test_the_list_of_skipped_paths_is_bounded(catalogue: Catalogue) -> None:
    """Beyond ten thousand only the counts go on."""
    many = [Skipped(f"/{i}", "hidden", "") for i in range(MAX_SKIPPED_ROWS + 5)]
    note_scan(catalogue, roots=[], skipped=many, by_rule={"hidden": len(many)})
    assert len(catalogue.skipped()) == MAX_SKIPPED_ROWS
    assert catalogue.counts().n_skipped == MAX_SKIPPED_ROWS + 5


def test_known_files_below_a_folder_are_only_those(catalogue: Catalogue) -> None:
    """A folder's neighbours whose names begin alike do not count, whatever bytes they hold."""
    inside = ["/a/x", "/a/b/y", os.fsdecode(b"/a/\xff"), "/a/zz"]
    for path in [*inside, "/a", "/a0", "/a.txt", "/ab/x", "/b"]:
        store(catalogue, path)
    assert set(catalogue.known("/a")) == {"/a", *inside}
    assert set(catalogue.known("/")) == set(catalogue.known("/"))


def test_documents_name_their_files(catalogue: Catalogue) -> None:
    """A file once for each of its documents that is asked for; an unknown document names none."""
    mail = ExtractedDocument(text="x", type="mail", part="1")
    store(catalogue, "/a/box", mail, mail)
    store(catalogue, "/b/one", mail, generation=2)
    box, one = catalogue.doc_ids_of("/a/box"), catalogue.doc_ids_of("/b/one")
    assert sorted(catalogue.paths_of([*box, *one, 999])) == ["/a/box", "/a/box", "/b/one"]
    assert catalogue.paths_of(box[:1]) == ["/a/box"]


def test_a_failed_commit_leaves_nothing_behind(catalogue: Catalogue) -> None:
    """All of a batch is written or nothing: a duplicate document id undoes the files before it."""
    store(catalogue, "/a.txt", ExtractedDocument(text="x", type="text"))
    batch = Batch()
    file = StoredFile(99, entry("/b.txt"), "indexed", "", "", "1")
    batch.add(file, [(catalogue.doc_ids_of("/a.txt")[0], prepare_document(ExtractedDocument(text="", type="text")))])
    with pytest.raises(Exception, match="UNIQUE"):
        CatalogueWriter(catalogue).commit(batch, generation=9)
    assert set(catalogue.known("/")) == {"/a.txt"}
    assert catalogue.generation == 1


def test_lost_documents_make_their_whole_file_pending(catalogue: Catalogue) -> None:
    """When the index lacks one document of a mailbox, all of the mailbox is to be read again."""
    store(catalogue, "/box", *(ExtractedDocument(text=str(i), type="mail") for i in range(3)))
    store(catalogue, "/a.txt", ExtractedDocument(text="x", type="text"))
    ids = catalogue.doc_ids_of("/box")
    assert sorted(CatalogueWriter(catalogue).read_again([ids[1], 10**6], generation=3)) == list(ids)
    assert {path: known.state for path, known in catalogue.known("/").items()} == {
        "/box": "pending",
        "/a.txt": "indexed",
    }
    assert catalogue.doc_ids() == set(catalogue.doc_ids_of("/a.txt"))


def test_readers_in_other_threads_see_the_last_commit_and_never_wait(catalogue: Catalogue) -> None:
    """A reader in the middle of somebody's transaction reads what was there before it."""
    store(catalogue, "/a.txt", ExtractedDocument(text="x", type="text"))
    seen: list[set[str]] = []
    catalogue.connection.execute("BEGIN IMMEDIATE")
    catalogue.connection.execute("DELETE FROM files")
    thread = threading.Thread(target=lambda: seen.append(set(catalogue.known("/"))))
    thread.start()
    thread.join()
    catalogue.connection.execute("ROLLBACK")
    assert seen == [{"/a.txt"}]


def test_a_purge_is_remembered_for_the_next_update(catalogue: Catalogue) -> None:
    """A search that found a file gone leaves a note; twice is once."""
    for _ in range(2):
        catalogue.purge("/gone.txt")
    assert catalogue.suspects() == ["/gone.txt"]


def test_its_files_are_for_their_owner_only(catalogue: Catalogue) -> None:
    """The catalogue holds the text of the user's files: mode 0600, with its companions."""
    store(catalogue, "/a.txt")
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in catalogue.path.parent.iterdir()}
    assert set(found) == {"catalogue.sqlite", "catalogue.sqlite-wal", "catalogue.sqlite-shm"}
    assert set(found.values()) == {0o600}


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_asks_for_a_rebuild_and_can_be_made_anew(tmp_path: Path, content: bytes) -> None:
    """Damage is IndexDamaged, never a traceback of SQLite; destroying it gives an empty catalogue."""
    path = tmp_path / "catalogue.sqlite"
    path.write_bytes(content)
    with pytest.raises(IndexDamaged):
        Catalogue.open(path)
    reset(path)
    assert Catalogue.open(path).known("/") == {}


def test_another_version_asks_for_a_rebuild(catalogue: Catalogue) -> None:
    """Tables of another version are not read."""
    catalogue.connection.execute("PRAGMA user_version = 99")
    with pytest.raises(IndexDamaged, match="99"):
        Catalogue.open(catalogue.path)


def test_made_anew_it_never_gives_an_id_twice(catalogue: Catalogue) -> None:
    """Someone who still holds the old index must not find another document under an old id."""
    store(catalogue, "/a.txt", ExtractedDocument(text="x", type="text"))
    (old,) = catalogue.doc_ids()
    reset(catalogue.path)
    again = Catalogue.open(catalogue.path)
    assert again.doc_ids() == set()
    assert CatalogueWriter(again).new_doc_id() > old


def test_deleted_rows_are_overwritten_however_sqlite_was_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a system whose SQLite leaves them where they were, no byte of a title or text is in the file or its log."""
    connect = sqlite3.connect

    def as_elsewhere(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(sqlite3, "connect", as_elsewhere)
    catalogue = Catalogue.open(tmp_path / "catalogue.sqlite")
    file_id = store(catalogue, "/quokka.txt", ExtractedDocument(text="x" * 20_000, type="text", title="Wombat"))
    store(catalogue, "/b.txt", ExtractedDocument(text="y", type="text"))
    CatalogueWriter(catalogue).commit(Batch(replaced=[file_id]), generation=2)
    empty_log(catalogue)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"/b.txt" in content
    assert b"quokka" not in content
    assert b"Wombat" not in content


def test_compacting_gives_space_back(catalogue: Catalogue) -> None:
    """After most documents went, the file shrinks."""
    file_id = store(catalogue, "/a.txt", ExtractedDocument(text=os.urandom(200_000).hex(), type="text"))
    before = catalogue.path.stat().st_size + catalogue.path.with_name("catalogue.sqlite-wal").stat().st_size
    CatalogueWriter(catalogue).commit(Batch(replaced=[file_id]), generation=2)
    compact(catalogue)
    assert catalogue.path.stat().st_size < before / 2
    assert sqlite3.connect(catalogue.path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
