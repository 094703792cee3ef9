"""The index on disk: one small interface over Whoosh's table of contents and the segments of our codec.

Readers never wait: they open a `Snapshot` of the newest commit and keep it. One writer at a time holds a lock
that names it. A commit writes new segments, makes them durable, and then replaces the table of contents in one
rename; if it is killed before that, nothing has changed, and the next commit removes the leftovers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from console.durable import sync
from indexer.codec.segment_writing import Chosen, FieldBuffer, merged_lists, renumber, write_segment
from indexer.codec.segments import (
    ATTEMPTS,
    EXTENSIONS,
    INDEX_NAME,
    ListedSegment,
    SegmentFiles,
    newest,
    read_contents,
    tidy,
)
from indexer.documents import FileEntry
from indexer.errors import IndexDamaged
from indexer.meaning import vectors
from indexer.schema import DOCUMENT, FIELDS
from indexer.storage.file_lock import LOCK_FILE, FileLock, lock_holder, take_lock
from indexer.storage.snapshot import CommitName, Snapshot

if TYPE_CHECKING:
    from indexer.prepare import PreparedDocument


__all__ = ["INDEX_NAME", "LOCK_FILE", "MAX_SEGMENTS", "Index", "IndexWriter", "lock_holder"]

MAX_SEGMENTS = 12
"""above this the smallest are merged whatever their sizes"""


class Index:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: Path) -> Index:
        """Open the index in `folder`, or create an empty one; FileNotFoundError where there is no folder above.

        IndexDamaged when it was made by another version or cannot be read: destroy it and index again.
        """
        folder.mkdir(exist_ok=True, mode=0o700)
        if folder.stat().st_mode & 0o077:
            os.chmod(folder, 0o700)
        if other := cls.of_another_version(folder):
            raise IndexDamaged(f"the index was made by another version of the program ({other})")
        index = cls(folder)
        if index.generation < 0:
            with contextlib.suppress(FileNotFoundError):  # another process made it meanwhile, and tidied up
                _write_contents(folder, 0, [])
        read_contents(folder)
        return index

    @staticmethod
    def of_another_version(folder: Path) -> str:
        """The table of contents that another version of the program made; "" for none."""
        return next((p.name for p in folder.glob("_*.toc") if not p.name.startswith(f"_{INDEX_NAME}_")), "")

    @staticmethod
    def destroy(folder: Path) -> None:
        """Remove every file of the index, except the lock and the vectors of texts that may come back."""
        for path in folder.glob("*"):
            if path.is_file() and not path.name.startswith((LOCK_FILE, vectors.FILE, vectors.LOCK)):
                with contextlib.suppress(PermissionError):  # Windows keeps what a reader has mapped; a commit tidies
                    path.unlink(missing_ok=True)

    @staticmethod
    def bytes_on_disk(folder: Path) -> int:
        """The size of all files in a folder and its folders."""
        total = 0
        for path in folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # a commit may remove files meanwhile
                total += path.stat().st_size
        return total

    @property
    def generation(self) -> int:
        return newest(self.folder)

    @property
    def n_unwiped(self) -> int:
        """How many deleted documents are still in segments not rewritten since; 0 without a commit of this version."""
        return sum(len(one.deleted) for one in read_contents(self.folder)[1]) if self.generation >= 0 else 0

    @property
    def commit_name(self) -> CommitName:
        """Identifies the newest commit; see `Snapshot.commit_name`."""
        generation, segments = read_contents(self.folder)
        return generation, tuple(segment.name for segment in segments)

    def snapshot(self) -> Snapshot:
        """Open the newest commit for reading; IndexDamaged when it cannot be read."""
        for _ in range(ATTEMPTS):
            generation, segments = read_contents(self.folder)
            try:
                files = [(open_segment(self.folder, s.name, s.n_documents), s.deleted) for s in segments]
            except FileNotFoundError:
                continue  # a commit replaced the segments between the two reads
            return Snapshot(files, generation=generation)
        raise IndexDamaged(f"a segment that the index in {self.folder} names is not there")

    def writer(self, holder: str) -> IndexWriter:
        """Begin to write; LockedError names the process that already does."""
        return IndexWriter(self, take_lock(self.folder, holder))


def _write_contents(folder: Path, number: int, segments: Sequence[ListedSegment]) -> None:
    from indexer.codec.whoosh_codec import write_contents  # loads Whoosh, which reading does without

    write_contents(folder, number, segments)


def open_segment(folder: Path, name: str, n_documents: int) -> SegmentFiles:
    """The files of a segment; IndexDamaged when they are not what the table of contents says."""
    files = SegmentFiles(folder, name)
    if len(files.documents) != n_documents:
        raise IndexDamaged(f"segment {files.name} must have {n_documents} documents, not {len(files.documents)}")
    return files


class IndexWriter:
    """Adds and removes documents; nothing is visible until `commit`. Leaving the context without one discards all."""

    def __init__(self, index: Index, lock: FileLock) -> None:
        self._index = index
        self._lock = lock
        try:
            self.generation, self._segments = read_contents(index.folder)
            self._files = {s.name: open_segment(index.folder, s.name, s.n_documents) for s in self._segments}
            tidy(index.folder, self.generation, self._segments)
        except FileNotFoundError as error:
            self.close()
            raise IndexDamaged(f"a segment that the index in {index.folder} names is not there") from error
        except BaseException:
            self.close()
            raise
        self._durable = set(self._files)
        self._forget_pending()

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:  # above all on a full disk, which gets room by this
            with contextlib.suppress(IndexDamaged, OSError):
                tidy(self._index.folder, *read_contents(self._index.folder))
        self.close()

    def close(self) -> None:
        """Discard what was not committed and release the lock."""
        self._lock.close()

    def _forget_pending(self) -> None:
        self._rows: list[bytes] = []
        self._buffers = {field: FieldBuffer() for field in FIELDS}
        self._removed: set[int] = set()

    @property
    def pending_postings(self) -> int:
        """How many postings wait for the next commit (about 40 bytes of memory each)."""
        return sum(buffer.n_postings for buffer in self._buffers.values())

    def add(self, doc_id: int, entry: FileEntry, document: PreparedDocument) -> None:
        """Add one document under an id that was never used before.

        If this raises, the document is partly added and must be removed.
        """
        from indexer.prepare import document_row, path_fields  # loads what reads files

        fields = {**document.fields, **path_fields(entry.path, document)}
        self._rows.append(document_row(doc_id, entry, document, fields))  # from here on the number is taken
        for field, postings in fields.items():
            self._buffers[field].add(len(self._rows) - 1, postings)

    def remove(self, doc_ids: Iterable[int]) -> None:
        """Remove documents with the next commit; unknown ids are passed over."""
        self._removed.update(doc_ids)

    def doc_ids(self) -> set[int]:
        """The ids of all committed, living documents."""
        found: set[int] = set()
        for segment in self._segments:
            ids = self._files[segment.name].documents["doc_id"]
            alive = np.ones(ids.size, dtype=bool)
            alive[list(segment.deleted)] = False
            found.update(ids[alive].tolist())
        return found

    def commit(self, *, merge: bool = True) -> int:
        """Make all additions and removals durable and visible; returns the new generation.

        `merge=False` leaves segments of like size alone, for bulk indexing.
        """
        self._write_pending()
        self._merge(self._worth_merging(merge))
        return self._publish()

    def has_room_to_wipe(self) -> bool:
        """Whether the disk has room for what `wipe` writes before it can delete anything."""
        from shutil import disk_usage

        names = [segment.name for segment in self._segments if segment.deleted]
        files = (self._index.folder / f"{name}{extension}" for name in names for extension in EXTENSIONS)
        return disk_usage(self._index.folder).free > sum(file.stat().st_size for file in files)

    def wipe(self) -> int:
        """After a commit: rewrite the segments that hold deleted documents; returns the generation.

        Each is rewritten by itself, so that their sizes stay different.
        """
        holding = [segment for segment in self._segments if segment.deleted]
        for segment in holding:
            self._merge([segment])
        return self._publish() if holding else self.generation

    def optimize(self) -> int:
        """Commit and merge everything into one segment without dead documents."""
        self._write_pending()
        if len(self._segments) > 1 or any(s.deleted for s in self._segments):
            self._merge(list(self._segments))
        return self._publish()

    def _write_pending(self) -> None:
        removed = np.fromiter(self._removed, dtype=np.int64, count=len(self._removed))
        for i, segment in enumerate(self._segments if self._removed else ()):
            dead = np.flatnonzero(np.isin(self._files[segment.name].documents["doc_id"], removed)).tolist()
            self._segments[i] = msgspec.structs.replace(segment, deleted=segment.deleted.union(dead))
        if not self._rows:
            return
        lists = {field: [buffer.lists()] for field, buffer in self._buffers.items() if buffer.n_postings}
        rows = np.frombuffer(b"".join(self._rows), dtype=DOCUMENT)
        self._add_segment(rows, lists, np.flatnonzero(np.isin(rows["doc_id"], removed)).tolist())

    def _add_segment(self, rows: Any, lists: dict[str, Any], dead: Iterable[int] = ()) -> None:
        name = f"{INDEX_NAME}_{os.urandom(8).hex()}"
        write_segment(self._index.folder, name, documents=rows, fields=lists)
        files = self._files[name] = SegmentFiles(self._index.folder, name)
        self._segments.append(ListedSegment(name, len(files.documents), frozenset(dead)))

    def _worth_merging(self, merge: bool) -> list[ListedSegment]:
        """The smallest segments, as long as each is less than three times all smaller ones together; and dead ones.

        So a posting is merged about as often as the logarithm of the index's size, and few segments remain.
        """
        sizes = {s.name: self._files[s.name].n_bytes + 1 for s in self._segments}
        mostly_dead = [s for s in self._segments if len(s.deleted) * 4 > s.n_documents]
        chosen: list[ListedSegment] = []
        total = 0
        for segment in sorted(self._segments, key=lambda s: sizes[s.name]):
            crowded = len(self._segments) - len(chosen) >= MAX_SEGMENTS
            if chosen and not crowded and not (merge and sizes[segment.name] < 3 * total):
                break
            chosen.append(segment)
            total += sizes[segment.name]
        if len(chosen) < 2:
            chosen = []
        return chosen + [s for s in mostly_dead if s not in chosen]

    def _merge(self, chosen: list[ListedSegment]) -> None:
        if not chosen:
            return
        files = [self._files[s.name] for s in chosen]
        maps, n = renumber((len(f.documents) for f in files), (s.deleted for s in chosen))
        self._segments = [s for s in self._segments if s not in chosen]
        if n == 0:
            return
        fields = sorted({field for f in files for field in f.fields})
        lists = {field: merged_lists(field, files, maps) for field in fields}
        rows = Chosen([f.documents for f in files], [new >= 0 for new in maps])
        self._add_segment(rows, lists)

    def _publish(self) -> int:
        folder = self._index.folder
        names = {segment.name for segment in self._segments}
        sync(folder / f"{name}{extension}" for name in names - self._durable for extension in EXTENSIONS)
        _write_contents(folder, self.generation + 1, self._segments)
        tidy(folder, self.generation + 1, self._segments)
        self.generation += 1
        self._durable = names
        self._files = {name: files for name, files in self._files.items() if name in names}
        self._forget_pending()
        return self.generation
