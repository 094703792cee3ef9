"""The index on disk: one small interface over Whoosh's table of contents and our segments.

Readers never wait: they open a `Snapshot` of the newest commit and keep it. One writer at a time holds a lock
that names it. A commit writes new segments, makes them durable, and then replaces the table of contents in one
rename; killed before that, nothing has happened, and the next commit removes what was left.
"""

from __future__ import annotations

import fcntl
import os
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.codec import SegmentFiles, write_segment
from indexer.documents import FileEntry
from indexer.errors import IndexDamaged, LockedError
from indexer.lists import FieldBuffer, merged_lists, renumber
from indexer.prepare_path import document_row, path_fields
from indexer.schema import DOCUMENT, FIELDS, VERSION, whoosh_schema
from indexer.snapshot import Snapshot
from indexer.whoosh_codec import ArrayCodec, Segment

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh.filedb.filestore import FileStorage
    from whoosh.index import TOC, clean_files

if TYPE_CHECKING:
    from indexer.prepare import PreparedDocument

NAME = f"v{VERSION}"
"""Whoosh's index name; holds the schema's version, so that another version is never misread"""
MAX_SEGMENTS = 12
"""above this the small ones are merged even when they are of like size"""


class Index:
    """An index folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._storage = FileStorage(str(folder))

    @classmethod
    def open(cls, folder: Path) -> Index:
        """Open the index in `folder`, creating an empty one where there is none.

        IndexDamaged when it was made by another version or cannot be read: destroy it and index again.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.chmod(folder, 0o700)
        others = [p.name for p in folder.glob("_*.toc") if not p.name.startswith(f"_{NAME}_")]
        if others:
            raise IndexDamaged(f"the index was made by another version of the program ({others[0]})")
        index = cls(folder)
        if not any(folder.glob(f"_{NAME}_*.toc")):
            TOC.create(index._storage, whoosh_schema(), NAME)
        index._read()
        return index

    @staticmethod
    def destroy(folder: Path) -> None:
        """Remove every file of the index; the lock stays."""
        for path in folder.glob("*"):
            if path.is_file() and path.name != "writer.lock":
                path.unlink()

    @staticmethod
    def bytes_on_disk(folder: Path) -> int:
        """The size of all files of the index."""
        return sum(p.stat().st_size for p in folder.glob("*") if p.is_file())

    def _read(self) -> Any:
        try:
            return TOC.read(self._storage, NAME, schema=whoosh_schema())
        except Exception as error:  # Whoosh raises whatever unpickling and mapping raise
            raise IndexDamaged(f"the index in {self.folder} cannot be read: {error}") from error

    @property
    def generation(self) -> int:
        """The number of the newest commit."""
        return int(TOC._latest_generation(self._storage, NAME))

    def snapshot(self) -> Snapshot:
        """Open the newest commit for reading."""
        for attempt in range(5):
            toc = self._read_newest(attempt)
            try:
                files = [(SegmentFiles(self.folder, s.segment_id()), frozenset(s.deleted_docs())) for s in toc.segments]
            except FileNotFoundError:
                continue  # a commit replaced the segments between the two reads
            except Exception as error:
                raise IndexDamaged(f"a segment in {self.folder} cannot be read: {error}") from error
            return Snapshot(files, generation=int(toc.generation))
        raise IndexDamaged(f"a segment that the index in {self.folder} names is not there")

    def _read_newest(self, attempt: int) -> Any:
        try:
            return self._read()
        except IndexDamaged:
            if attempt == 4:
                raise
            time.sleep(0.01)  # the table of contents is being replaced
            return self._read()

    def writer(self, holder: str) -> IndexWriter:
        """Begin to write; LockedError names the process that already does."""
        return IndexWriter(self, _lock(self.folder, holder))


def lock_holder(folder: Path) -> str:
    """Who holds the write lock: "foltr-search watch (process 4711, since 10:02)", or ""."""
    path = folder / "writer.lock"
    try:
        with open(path, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return ""
    except BlockingIOError:
        return path.read_text(errors="replace").strip() or "another process"
    return ""


def _lock(folder: Path, holder: str) -> int:
    handle = os.open(folder / "writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        name = os.read(handle, 500).decode(errors="replace").strip() or "another process"
        os.close(handle)
        raise LockedError(f"the index is being written by {name}") from error
    os.ftruncate(handle, 0)
    os.write(handle, f"{holder} (process {os.getpid()}, since {time.strftime('%H:%M')})".encode())
    return handle


class IndexWriter:
    """Adds and removes documents; nothing shows until `commit`. Leaving the context without one discards."""

    def __init__(self, index: Index, lock: int) -> None:
        self._index = index
        self._lock: int | None = lock
        try:
            toc = index._read()
            self.generation = int(toc.generation)
            self._segments: list[Segment] = list(toc.segments)
            self._files = {s.segment_id(): SegmentFiles(index.folder, s.segment_id()) for s in self._segments}
            clean_files(index._storage, NAME, self.generation, self._segments)
            for unfinished in index.folder.glob(f"_{NAME}_*.toc.*"):  # a commit was killed while it wrote this
                unfinished.unlink()
        except OSError as error:
            self.close()
            raise IndexDamaged(f"the index in {index.folder} cannot be read: {error}") from error
        except BaseException:
            self.close()
            raise
        self._forget_pending()

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Discard what was not committed and release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _forget_pending(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._buffers = {field: FieldBuffer() for field in FIELDS}
        self._removed: set[int] = set()

    @property
    def pending_postings(self) -> int:
        """How many postings wait for the next commit (about 40 bytes of memory each)."""
        return sum(buffer.n_postings for buffer in self._buffers.values())

    def add(self, doc_id: int, entry: FileEntry, document: PreparedDocument) -> None:
        """Add one document under an id that was never used before."""
        fields = {**document.fields, **path_fields(entry.path, document)}
        row = document_row(doc_id, entry, document, fields)
        for field, postings in fields.items():
            self._buffers[field].add(len(self._rows), postings)
        self._rows.append(row)

    def remove(self, doc_ids: Iterable[int]) -> None:
        """Remove documents with the next commit; unknown ids are passed over."""
        self._removed.update(doc_ids)

    def doc_ids(self) -> set[int]:
        """The ids of all committed, living documents."""
        found: set[int] = set()
        for segment in self._segments:
            ids = self._files[segment.segment_id()].documents["doc_id"]
            alive = np.ones(ids.size, dtype=bool)
            alive[list(segment.deleted_docs())] = False
            found.update(ids[alive].tolist())
        return found

    def commit(self, *, merge: bool = True) -> int:
        """Make all additions and removals durable and visible; returns the new generation.

        `merge=False` leaves segments of like size alone, for bulk indexing.
        """
        self._delete_pending()
        if self._rows:
            self._write_new()
        self._merge(self._worth_merging(merge))
        return self._publish()

    def optimize(self) -> int:
        """Commit and merge everything into one segment without dead documents."""
        self._delete_pending()
        if self._rows:
            self._write_new()
        if len(self._segments) > 1 or any(s.has_deletions() for s in self._segments):
            self._merge(list(self._segments))
        return self._publish()

    def _delete_pending(self) -> None:
        if not self._removed:
            return
        removed = np.fromiter(self._removed, dtype=np.int64, count=len(self._removed))
        for segment in self._segments:
            ids = self._files[segment.segment_id()].documents["doc_id"]
            for docnum in np.flatnonzero(np.isin(ids, removed)).tolist():
                segment.delete_document(docnum)

    def _new_segment(self, n_documents: int) -> Segment:
        segment = ArrayCodec().new_segment(self._index._storage, NAME)
        segment.set_doc_count(n_documents)
        return segment

    def _write_new(self) -> None:
        segment = self._new_segment(len(self._rows))
        lists = {field: [buffer.lists()] for field, buffer in self._buffers.items() if buffer.n_postings}
        rows = np.array(self._rows, dtype=DOCUMENT)
        for docnum in np.flatnonzero(np.isin(rows["doc_id"], list(self._removed))).tolist():
            segment.delete_document(docnum)
        self._add_segment(segment, rows, lists)

    def _add_segment(self, segment: Segment, rows: Any, lists: dict[str, Any]) -> None:
        write_segment(self._index.folder, segment.segment_id(), documents=rows, fields=lists)
        self._files[segment.segment_id()] = SegmentFiles(self._index.folder, segment.segment_id())
        self._segments.append(segment)

    def _worth_merging(self, merge: bool) -> list[Segment]:
        """The smallest segments, as long as each is less than three times all smaller ones together; and dead ones."""
        mostly_dead = [s for s in self._segments if s.deleted_count() * 4 > s.doc_count_all()]
        by_size = sorted(self._segments, key=lambda s: s.doc_count_all())
        chosen: list[Segment] = []
        total = 0
        for segment in by_size:
            crowded = len(self._segments) - len(chosen) >= MAX_SEGMENTS
            if chosen and not crowded and not (merge and segment.doc_count_all() < 3 * total):
                break
            chosen.append(segment)
            total += segment.doc_count_all()
        if len(chosen) < 2:
            chosen = []
        return chosen + [s for s in mostly_dead if s not in chosen]

    def _merge(self, chosen: list[Segment]) -> None:
        if not chosen:
            return
        files = [self._files[s.segment_id()] for s in chosen]
        maps, n = renumber((len(f.documents) for f in files), (set(s.deleted_docs()) for s in chosen))
        self._segments = [s for s in self._segments if s not in chosen]
        if n == 0:
            return
        fields = sorted({field for f in files for field in f.fields})
        lists = {field: merged_lists(field, files, maps) for field in fields}
        rows = np.concatenate([f.documents[new >= 0] for f, new in zip(files, maps, strict=True)])
        self._add_segment(self._new_segment(n), rows, lists)

    def _publish(self) -> int:
        folder = self._index.folder
        for segment in self._segments:
            if segment.segment_id() not in self._durable():
                _sync(folder / f"{segment.segment_id()}{ext}" for ext in (".doc", ".trm", ".pst"))
        self.generation += 1
        toc = TOC(whoosh_schema(), self._segments, self.generation)
        toc.write(self._index._storage, NAME)
        _sync([folder / TOC._filename(NAME, self.generation), folder])
        clean_files(self._index._storage, NAME, self.generation, self._segments)
        kept = {s.segment_id() for s in self._segments}
        self._files = {name: files for name, files in self._files.items() if name in kept}
        self._forget_pending()
        return self.generation

    def _durable(self) -> set[str]:
        return {s.segment_id() for s in self._index._read().segments}


def _sync(paths: Iterable[Path]) -> None:
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
