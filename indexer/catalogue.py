"""The catalogue: what is indexed, what could not be read, and what was passed over; one SQLite file.

Any number of threads and processes may read at any time; only the holder of the index's write lock writes
(`CatalogueWriter` in `indexer.catalogue_writes`), after its documents are durable in the index.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from indexer.catalogue_schema import Connection, connect, make_tables, plain_errors, reset


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """What is known of one document, without its text."""

    doc_id: int
    path: str
    part: str
    title: str
    type: str
    author: str
    recipients: str
    modified: float
    """seconds since the epoch"""
    size: int
    """bytes of the whole file"""
    language: str
    truncated: str
    n_words: int
    content_hash: bytes
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    n_files: int
    """files that were read"""
    n_documents: int
    n_failures: int
    n_skipped: int


@dataclass(frozen=True, slots=True)
class Failure:
    """One file that could not be read."""

    path: str
    kind: str
    reason: str


class KnownFile(NamedTuple):
    """One file as it was when it was last read."""

    file_id: int
    size: int
    modified_ns: int
    device: int
    inode: int
    state: str
    """indexed, failed or pending"""
    reader: str


@dataclass(frozen=True, slots=True)
class FileRow:
    """All that is known of one file."""

    path: str
    known: KnownFile
    kind: str
    reason: str
    indexed_at: float
    """seconds since the epoch"""
    n_documents: int
    truncated: str


_KNOWN = "path, file_id, size, modified_ns, device, inode, state, reader"
_DOCUMENT = (
    "doc_id, path, part, title, type, author, recipients, modified, size, language, truncated, n_words, content_hash"
)


class Catalogue:
    """The catalogue in one file; safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()

    @classmethod
    def open(cls, path: Path) -> Catalogue:
        """Open the catalogue, creating an empty one where there is none; IndexDamaged when it must be rebuilt."""
        catalogue = cls(path)
        with plain_errors(path):
            make_tables(catalogue.connection, path)
        return catalogue

    @staticmethod
    def destroy(path: Path) -> None:
        """Empty the catalogue, so that everything is indexed again."""
        reset(path)

    @property
    def connection(self) -> Connection:
        """This thread's own connection."""
        found: Connection | None = self._local.__dict__.get("connection")
        if found is None:
            found = self._local.connection = connect(self.path)
            self._connections.add(found)
        return found

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in list(self._connections):
            connection.close()
        self._local = threading.local()

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with plain_errors(self.path):
            return self.connection.execute(query, values).fetchall()

    def meta(self, key: str) -> Any:
        """One value of the table `meta`."""
        return self._rows("SELECT value FROM meta WHERE key = ?", key)[0][0]

    @property
    def generation(self) -> int:
        """The commit of the index that this catalogue describes."""
        return int(self.meta("generation"))

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders that the last scan went through."""
        return tuple(os.fsdecode(root) for root in msgspec.msgpack.decode(self.meta("roots"), type=list[bytes]))

    @property
    def last_update(self) -> float:
        """When a scan or an update last ended, in seconds since the epoch; 0 for never."""
        return float(self.meta("last_update"))

    def documents(self, doc_ids: Iterable[int]) -> dict[int, DocumentRow]:
        """The documents by id; one that was removed meanwhile is missing."""
        wanted = json.dumps([int(doc_id) for doc_id in doc_ids])
        rows = self._rows(
            f"SELECT {_DOCUMENT}, pages FROM documents JOIN files USING (file_id)"
            " WHERE doc_id IN (SELECT value FROM json_each(?))",
            wanted,
        )
        return {row[0]: _document(row) for row in rows}

    def text(self, doc_id: int) -> str:
        """The text of a document; "" when it was removed meanwhile."""
        rows = self._rows("SELECT text_z FROM texts WHERE doc_id = ?", doc_id)
        return zlib.decompress(rows[0][0]).decode("utf-8") if rows else ""

    def doc_ids_of(self, path: str) -> tuple[int, ...]:
        """The documents of one file, in their order in it."""
        query = "SELECT doc_id FROM documents JOIN files USING (file_id) WHERE path = ? ORDER BY doc_id"
        return tuple(row[0] for row in self._rows(query, os.fsencode(path)))

    def doc_ids(self) -> set[int]:
        """All documents."""
        return {row[0] for row in self._rows("SELECT doc_id FROM documents")}

    def doc_ids_of_files(self, file_ids: Iterable[int]) -> list[int]:
        """The documents of some files."""
        query = "SELECT doc_id FROM documents WHERE file_id IN (SELECT value FROM json_each(?))"
        return [row[0] for row in self._rows(query, json.dumps(list(file_ids)))]

    def counts(self) -> Counts:
        """How much there is of everything."""
        states = dict(self._rows("SELECT state, count(*) FROM files GROUP BY state"))
        n_documents = self._rows("SELECT count(*) FROM documents")[0][0]
        n_failures = states.pop("failed", 0)
        return Counts(sum(states.values()), n_documents, n_failures, sum(self.skipped_by_rule().values()))

    def failures(self) -> list[Failure]:
        """Every file that could not be read, by path."""
        rows = self._rows("SELECT path, kind, reason FROM files WHERE state = 'failed' ORDER BY path")
        return [Failure(os.fsdecode(path), kind, reason) for path, kind, reason in rows]

    def partial_failures(self) -> list[Failure]:
        """Files that were read, but not every part of them (kind "part", one line for each part)."""
        rows = self._rows("SELECT path, reason FROM files WHERE state = 'indexed' AND reason <> '' ORDER BY path")
        return [Failure(os.fsdecode(path), "part", reason) for path, reason in rows]

    def skipped_by_rule(self) -> dict[str, int]:
        """How many paths each rule passed over in the last scan; a folder counts as one."""
        return msgspec.msgpack.decode(self.meta("skipped"), type=dict[str, int])

    def skipped(self, rule: str | None = None) -> list[Failure]:
        """Paths that the last scan passed over (the first 10,000), the rule as `kind`."""
        rows = self._rows("SELECT path, rule, reason FROM skipped WHERE rule = ?1 OR ?1 IS NULL ORDER BY path", rule)
        return [Failure(os.fsdecode(path), kind, reason) for path, kind, reason in rows]

    def file(self, path: str) -> FileRow | None:
        """What is known of one file; None when it is not in the catalogue."""
        query = (
            f"SELECT {_KNOWN}, kind, reason, indexed_at,"
            " (SELECT count(*) FROM documents d WHERE d.file_id = f.file_id),"
            " coalesce((SELECT max(truncated) FROM documents d WHERE d.file_id = f.file_id), '')"
            " FROM files f WHERE path = ?"
        )
        for row in self._rows(query, os.fsencode(path)):
            return FileRow(path, KnownFile(*row[1:8]), *row[8:])
        return None

    def known(self, below: str | None = None) -> dict[str, KnownFile]:
        """All files by path, or `below` and what lies in it."""
        if below is None:
            rows = self._rows(f"SELECT {_KNOWN} FROM files")
        else:
            path = os.fsencode(below)
            first = path.removesuffix(os.fsencode(os.sep)) + os.fsencode(os.sep)
            after = first[:-1] + bytes((first[-1] + 1,))
            query = f"SELECT {_KNOWN} FROM files WHERE path = ? OR (path >= ? AND path < ?)"
            rows = self._rows(query, path, first, after)
        return {os.fsdecode(row[0]): KnownFile(*row[1:]) for row in rows}

    def paths(self) -> list[str]:
        """All files."""
        return [os.fsdecode(row[0]) for row in self._rows("SELECT path FROM files")]

    def purge(self, path: str) -> None:
        """Note that a search found `path` gone; the next update looks and removes it."""
        with plain_errors(self.path):
            self.connection.execute("INSERT OR IGNORE INTO suspects VALUES (?)", (os.fsencode(path),))

    def suspects(self) -> list[str]:
        """Paths that searches found gone."""
        return [os.fsdecode(row[0]) for row in self._rows("SELECT path FROM suspects")]


def _document(row: tuple[Any, ...]) -> DocumentRow:
    values = list(row)
    values[1], values[-1] = os.fsdecode(row[1]), msgspec.msgpack.decode(row[-1], type=tuple[int, ...])
    return DocumentRow(*values)
