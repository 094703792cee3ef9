"""What one commit writes to the catalogue: all of it or nothing, after the index's own commit."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from indexer.catalogue import Catalogue
from indexer.catalogue_schema import Connection, plain_errors, transaction
from indexer.documents import FileEntry, Skipped

if TYPE_CHECKING:
    from indexer.prepare import PreparedDocument

MAX_SKIPPED_ROWS = 10_000
"""Paths listed one by one; the counts by rule go on."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file that was read, or could not be: the row to write."""

    file_id: int
    entry: FileEntry
    state: str
    kind: str
    reason: str
    reader: str


@dataclass(slots=True)
class Batch:
    """What waits for the next commit."""

    files: list[StoredFile] = field(default_factory=list)
    documents: list[tuple[Any, ...]] = field(default_factory=list)
    texts: list[tuple[int, bytes]] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)
    """file ids whose old rows go"""
    n_text_bytes: int = 0

    def add_document(self, doc_id: int, file: StoredFile, document: PreparedDocument) -> None:
        """Add a document of `file`; its postings are not kept."""
        modified = document.modified
        if modified is None or not math.isfinite(modified):
            modified = file.entry.modified_ns / 1e9
        self.documents.append(
            (
                doc_id, file.file_id, _storable(document.part), _storable(document.title), document.type,
                _storable(document.author), _storable(document.recipients), modified, document.language,
                document.truncated, document.n_words, document.content_hash, msgspec.msgpack.encode(document.pages),
            )
        )  # fmt: skip
        self.texts.append((doc_id, document.text_z))
        self.n_text_bytes += len(document.text_z)

    def __bool__(self) -> bool:
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
            _delete_files(connection, [*batch.replaced, *(file.file_id for file in batch.files)])
            now = time.time()
            connection.executemany(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (_file(file, now) for file in batch.files)
            )
            connection.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", batch.documents
            )
            connection.executemany("INSERT INTO texts VALUES (?, ?)", batch.texts)
            _set(connection, {"next_doc_id": self._next_doc_id, "next_file_id": self._next_file_id})
            _set(connection, {"generation": generation})

    def read_again(self, doc_ids: Iterable[int], *, generation: int) -> list[int]:
        """Mark the files of `doc_ids` as pending and forget their documents; gives all doc ids of those files."""
        path = self._catalogue.path
        with plain_errors(path), transaction(self._catalogue.connection) as connection:
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS lost (doc_id INTEGER PRIMARY KEY)")
            connection.execute("DELETE FROM lost")
            connection.executemany("INSERT INTO lost VALUES (?)", ((doc_id,) for doc_id in doc_ids))
            rows = connection.execute("SELECT DISTINCT file_id FROM documents JOIN lost USING (doc_id)").fetchall()
            known = connection.executemany("UPDATE files SET state = 'pending' WHERE file_id = ?", rows)
            known.close()
            gone = [
                doc_id
                for row in rows
                for (doc_id,) in connection.execute("SELECT doc_id FROM documents WHERE file_id = ?", row)
            ]
            _delete_documents(connection, [row[0] for row in rows])
            _set(connection, {"generation": generation, "next_doc_id": self._next_doc_id})
        return gone


def note_scan(
    catalogue: Catalogue, *, roots: Sequence[str], skipped: Sequence[Skipped], by_rule: Mapping[str, int]
) -> None:
    """Keep what a whole scan passed over, if that changed, and when the scan was."""
    shown = skipped[:MAX_SKIPPED_ROWS]
    rows = [(os.fsencode(one.path), one.rule, _storable(one.reason)) for one in shown]
    digest = hashlib.blake2b(repr((rows, sorted(by_rule.items()))).encode(), digest_size=16).digest()
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        if catalogue.meta("skipped_hash") != digest:
            connection.execute("DELETE FROM skipped")
            connection.executemany("INSERT INTO skipped VALUES (?, ?, ?)", rows)
            _set(connection, {"skipped": msgspec.msgpack.encode(dict(by_rule)), "skipped_hash": digest})
        _set(connection, {"roots": msgspec.msgpack.encode([os.fsencode(root) for root in roots])})
        _set(connection, {"last_update": time.time()})


def note_update(catalogue: Catalogue, checked: Sequence[str]) -> None:
    """Keep when an update of single paths was, and that the suspects among them were looked at."""
    with plain_errors(catalogue.path), transaction(catalogue.connection) as connection:
        connection.executemany("DELETE FROM suspects WHERE path = ?", ((os.fsencode(path),) for path in checked))
        _set(connection, {"last_update": time.time()})


def compact(catalogue: Catalogue) -> None:
    """Give the space of removed documents back to the disk."""
    with plain_errors(catalogue.path):
        catalogue.connection.execute("VACUUM")
        catalogue.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _storable(text: str) -> str:
    """`text` as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _file(file: StoredFile, now: float) -> tuple[Any, ...]:
    entry = file.entry
    reason = _storable(file.reason)
    return (
        file.file_id, os.fsencode(entry.path), entry.size, entry.modified_ns, entry.device, entry.inode,
        file.state, file.kind, reason, file.reader, now,
    )  # fmt: skip


def _delete_files(connection: Connection, file_ids: Sequence[int]) -> None:
    _delete_documents(connection, file_ids)
    connection.executemany("DELETE FROM files WHERE file_id = ?", ((file_id,) for file_id in file_ids))


def _delete_documents(connection: Connection, file_ids: Sequence[int]) -> None:
    of_file = "(SELECT doc_id FROM documents WHERE file_id = ?)"
    connection.executemany(f"DELETE FROM texts WHERE doc_id IN {of_file}", ((file_id,) for file_id in file_ids))
    connection.executemany("DELETE FROM documents WHERE file_id = ?", ((file_id,) for file_id in file_ids))


def _set(connection: Connection, values: Mapping[str, object]) -> None:
    connection.executemany("UPDATE meta SET value = ? WHERE key = ?", ((value, key) for key, value in values.items()))
