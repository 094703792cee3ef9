"""Writing the catalogue: under the index's write lock, all of a commit or nothing, after its documents are durable."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from indexer.documents import FileEntry, Listing, Skipped, storable
from indexer.storage import mail_threads
from indexer.storage.catalogue import CHANGED_STAYS, Catalogue, plain_errors
from indexer.storage.sqlite_files import TRUNCATE, Connection, transaction
from indexer.storage.unchanged import SettledFolders, skipped_rows, unsettle, unsettle_all

if TYPE_CHECKING:
    from indexer.prepare import PreparedDocument

MAX_SKIPPED_ROWS = 10_000
"""most skipped paths listed one by one; the counts by rule include all"""


class StoredFile(msgspec.Struct, frozen=True):
    """One file that was read, or could not be: the row to write."""

    file_id: int
    entry: FileEntry
    state: str
    kind: str
    reason: str
    reader: str
    digest: bytes = b""
    tries: int = 0


class Batch(msgspec.Struct):
    """What waits for the next commit."""

    files: list[StoredFile] = msgspec.field(default_factory=list)
    documents: list[tuple[Any, ...]] = msgspec.field(default_factory=list)
    texts: list[tuple[int, bytes]] = msgspec.field(default_factory=list)
    mails: list[tuple[int, tuple[str, ...]]] = msgspec.field(default_factory=list)
    """document and message ids, for indexer.storage.mail_threads.tie"""
    replaced: list[int] = msgspec.field(default_factory=list)
    """ids of files whose old rows are deleted"""
    touched: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """(changed_ns, file id) of files whose content has not changed"""
    n_text_bytes: int = 0

    def add(self, file: StoredFile, documents: Iterable[tuple[int, PreparedDocument]] = ()) -> None:
        """Add a file with its documents and their ids; postings are not kept.

        Adds nothing and raises TypeError, ValueError, OverflowError or AttributeError if SQLite could not take all of
        it: if that failed only when the batch is written, all that waits would be lost.
        """
        added = list(documents)
        rows = [_document_row(doc_id, file, document) for doc_id, document in added]
        texts = [(doc_id, document.text_z) for doc_id, document in added if document.text_z]
        mails = [(doc_id, document.message_ids) for doc_id, document in added if document.message_ids]
        for row in (_file(file, 0.0), *rows):
            _check(row)
        for _, ids in mails:
            mail_threads.keys_of(0, ids)
        n_text_bytes = sum(len(text_z) for _, text_z in texts)
        self.files.append(file)
        self.documents += rows
        self.texts += texts
        self.mails += mails
        self.n_text_bytes += n_text_bytes

    def __bool__(self) -> bool:
        return self.changes_documents or bool(self.touched)

    @property
    def changes_documents(self) -> bool:
        """Whether the index changes with this batch."""
        return bool(self.files or self.replaced)


class CatalogueWriter:
    """Writes to a catalogue; only for the holder of the index's write lock."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._next_doc_id = int(catalogue.meta("next_doc_id"))
        self._next_file_id = int(catalogue.meta("next_file_id"))

    def new_doc_id(self) -> int:
        """A document id that no document ever had."""
        self._next_doc_id += 1
        return self._next_doc_id - 1

    def new_file_id(self) -> int:
        self._next_file_id += 1
        return self._next_file_id - 1

    def pass_over_doc_ids(self, used: Iterable[int]) -> None:
        """Never give out ids up to the largest of `used` again."""
        self._next_doc_id = max(self._next_doc_id, max(used, default=0) + 1)

    def commit(self, batch: Batch, *, generation: int) -> None:
        """Write `batch` and say that the catalogue now describes `generation` of the index."""
        path = self._catalogue.path
        with plain_errors(path), transaction(self._catalogue.connection) as connection:
            file_ids = [*batch.replaced, *(file.file_id for file in batch.files)]
            unsettle(connection, file_ids, (file.entry.path for file in batch.files))
            now = time.time()
            if _delete_files(connection, file_ids):
                by = 0.0 if batch.replaced else now + CHANGED_STAYS
                connection.execute("UPDATE meta SET value = min(value, ?) WHERE key = 'wipe_by'", (by,))
            connection.executemany(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (_file(file, now) for file in batch.files),
            )
            connection.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", batch.documents
            )
            connection.executemany("INSERT INTO texts VALUES (?, ?)", batch.texts)
            if batch.mails:
                mail_threads.tie(connection, batch.mails)
            connection.executemany("UPDATE files SET changed_ns = ? WHERE file_id = ?", batch.touched)
            _set(connection, {"next_doc_id": self._next_doc_id, "next_file_id": self._next_file_id})
            _set(connection, {"generation": generation})

    def read_again(self, doc_ids: Iterable[int], *, generation: int) -> list[int]:
        """Mark the files of `doc_ids` as pending and forget their documents; returns all doc ids of those files."""
        path = self._catalogue.path
        with plain_errors(path), transaction(self._catalogue.connection) as connection:
            query = "SELECT DISTINCT file_id FROM documents WHERE doc_id IN (SELECT value FROM json_each(?))"
            rows = connection.execute(query, (str(list(doc_ids)),)).fetchall()
            unsettle_all(connection)
            connection.executemany("UPDATE files SET state = 'pending' WHERE file_id = ?", rows).close()
            gone = self._catalogue.doc_ids_of_files(file_id for (file_id,) in rows)
            _delete_documents(connection, [file_id for (file_id,) in rows])
            _set(connection, {"generation": generation, "next_doc_id": self._next_doc_id})
        return gone


def read_anew(catalogue: Catalogue, paths: Iterable[str]) -> None:
    """Have these files read again, though unchanged, by the process that follows changes or the next scan.

    Until then searches still find them.
    """
    rows = [(os.fsencode(path),) for path in paths]
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        connection.executemany("UPDATE files SET state = 'pending' WHERE path = ?", rows).close()
        connection.executemany("INSERT OR IGNORE INTO suspects VALUES (?)", rows).close()


def note_scan(
    catalogue: Catalogue, *, roots: Sequence[str], skipped: Sequence[Skipped], by_rule: Mapping[str, int],
    settled: SettledFolders | None = None, listings: Sequence[Listing] = (),
) -> None:  # fmt: skip
    """Store what a whole scan skipped (if that changed), when it was, and which of the `listings` are settled."""
    shown = skipped[:MAX_SKIPPED_ROWS]
    rows = skipped_rows(shown)
    digest = hashlib.blake2b(repr((rows, sorted(by_rule.items()))).encode(), digest_size=16).digest()
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        if catalogue.meta("skipped_hash") != digest:
            connection.execute("DELETE FROM skipped")
            connection.executemany("INSERT INTO skipped VALUES (?, ?, ?)", rows)
            _set(connection, {"skipped": msgspec.msgpack.encode(dict(by_rule)), "skipped_hash": digest})
        if settled is not None:
            settled.note(listings)
            _set(connection, {"is_whole": 1})
        _set(connection, {"roots": msgspec.msgpack.encode([os.fsencode(root) for root in roots])})
        _set(connection, {"last_update": time.time()})


def note_update(catalogue: Catalogue, checked: Sequence[str]) -> None:
    """Store when an update of single paths was, and that the suspects among them were checked."""
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        connection.executemany("DELETE FROM suspects WHERE path = ?", ((os.fsencode(path),) for path in checked))
        _set(connection, {"last_update": time.time()})


def compact(catalogue: Catalogue) -> None:
    """Give the space of removed documents back to the disk."""
    with plain_errors(catalogue.path):
        catalogue.connection.execute("VACUUM")


def wipe_soon(catalogue: Catalogue) -> None:
    """Have the next scan wipe."""
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        _set(connection, {"wipe_by": 0.0})


def note_wiped(catalogue: Catalogue, *, generation: int) -> None:
    """Note that nothing is left of what was deleted, after dropping the threads of which no mail is left."""
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        mail_threads.forget_empty(connection)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('wipe_by', ?)", (math.inf,))
        _set(connection, {"generation": generation})


def empty_log(catalogue: Catalogue) -> None:
    """Empty the write-ahead log; while somebody reads it, it stays until the next time."""
    with plain_errors(catalogue.path):
        catalogue.connection.execute(TRUNCATE)


def _document_row(doc_id: int, file: StoredFile, document: PreparedDocument) -> tuple[Any, ...]:
    modified = document.modified
    if modified is None or not math.isfinite(modified):
        modified = file.entry.modified_ns / 1e9
    return (
        doc_id, file.file_id, storable(document.part), storable(document.title), document.type,
        storable(document.author), storable(document.recipients), _stored_pairs(document.properties),
        modified, document.language, document.truncated, document.n_words, document.content_hash,
        msgspec.msgpack.encode(document.starts),
    )  # fmt: skip


def _check(row: Iterable[object]) -> None:
    """Raise what SQLite would raise for `row`."""
    for value in row:
        if isinstance(value, str):
            value.encode()
        elif isinstance(value, int):
            value.to_bytes(8, "little", signed=True)
        elif not isinstance(value, bytes | float):
            raise TypeError(f"wanted a number, a text or bytes, got {type(value).__name__}")


def _stored_pairs(properties: Iterable[tuple[str, str]]) -> bytes:
    pairs = [(storable(name), storable(value)) for name, value in properties]
    return msgspec.msgpack.encode(pairs) if pairs else b""


def _file(file: StoredFile, now: float) -> tuple[Any, ...]:
    entry = file.entry
    reason = storable(file.reason)
    return (
        file.file_id, os.fsencode(entry.path), entry.size, entry.modified_ns, entry.device, entry.inode,
        entry.changed_ns, file.digest, file.state, file.kind, reason, file.reader, file.tries, now,
    )  # fmt: skip


def _delete_files(connection: Connection, file_ids: Sequence[int]) -> bool:
    """Delete files with their documents; returns whether any of them was there."""
    _delete_documents(connection, file_ids)
    deleted = connection.executemany("DELETE FROM files WHERE file_id = ?", ((file_id,) for file_id in file_ids))
    return deleted.rowcount > 0


def _delete_documents(connection: Connection, file_ids: Sequence[int]) -> None:
    """Delete documents with their texts and mails; the message ids that these tied into threads stay tied."""
    rows, of_file = [(file_id,) for file_id in file_ids], "(SELECT doc_id FROM documents WHERE file_id = ?)"
    for table in ("messages", "texts"):
        connection.executemany(f"DELETE FROM {table} WHERE doc_id IN {of_file}", rows)
    connection.executemany("DELETE FROM documents WHERE file_id = ?", rows)


def _set(connection: Connection, values: Mapping[str, object]) -> None:
    connection.executemany("UPDATE meta SET value = ? WHERE key = ?", ((value, key) for key, value in values.items()))
