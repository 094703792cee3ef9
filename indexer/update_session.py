"""One writer's work on the index: read what a plan names, and commit it.

Order of durability: the index commits first (and syncs), then one transaction of the catalogue records the files with
the index's new generation. Killed anywhere, the next session sees that the generations differ and makes both sides
agree (`UpdateSession.reconcile`): nothing that was acknowledged is lost, nothing dead stays.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from indexer.documents import FileEntry
from indexer.errors import ExtractionError
from indexer.extract.source import fingerprint
from indexer.extract.workers.pool import WorkerPool
from indexer.files.changes import ChangePlan, FilesRead, Readings, reader_of
from indexer.files.crawl import CrawlRules
from indexer.prepare import PreparedDocument, PreparedFile, prepare_name
from indexer.progress import Meter, UpdateSummary
from indexer.storage.catalogue import UNREAD, Catalogue
from indexer.storage.catalogue_writing import Batch, CatalogueWriter, StoredFile, compact, note_wiped, wipe_soon
from indexer.storage.index import IndexWriter

Moves = list[tuple[str, str]]
"""(old path, new path)"""

BULK_FILES = 200
"""With this many files or more, segments of like size are left apart until the end, which saves most merging."""


@dataclass(frozen=True, slots=True)
class CommitPolicy:
    """When what was read is committed; a commit makes it findable and safe, and costs some merging."""

    first_seconds: tuple[float, ...] = (3.0, 15.0, 40.0)
    """Soon after the start, so that there is something to find while the rest is still being read,"""
    seconds: float = 120.0
    """and then at the latest after this long: all that a kill can undo"""
    max_postings: int = 600_000
    max_text_bytes: int = 16_000_000
    """compressed texts that wait in memory"""

    def is_due(self, *, began: float, last: float, now: float, n_postings: int, n_text_bytes: int) -> bool:
        """Whether to commit at `now` when the run began at `began` and committed at `last` (monotonic seconds)."""
        if n_postings >= self.max_postings or n_text_bytes >= self.max_text_bytes:
            return True
        early = any(last - began < mark <= now - began for mark in self.first_seconds)
        return early or now - last >= self.seconds


@dataclass(frozen=True, slots=True)
class Job:
    """What is updated, and for whom."""

    index: Path
    """the folder of the index"""
    catalogue: Catalogue
    roots: tuple[str, ...]
    rules: CrawlRules
    holder: str
    """who to name to others that find the index locked"""
    reader: str
    """version and limits of the extractors, kept with each file: another one reads failed files again"""
    commits: CommitPolicy = field(default_factory=CommitPolicy)


class UpdateSession:
    """One writer's work, from taking the lock to the last commit."""

    def __init__(self, job: Job, pool: WorkerPool[PreparedFile], writer: IndexWriter, meter: Meter) -> None:
        self._job, self._pool, self._writer, self._meter = job, pool, writer, meter
        self._catalogue = CatalogueWriter(job.catalogue)
        self._batch = Batch()
        self._began = self._last_commit = time.monotonic()
        self._n_documents = 0
        self._n_done = self._n_new = 0
        self.moves: Moves = []
        """files found under another path"""
        self.indexed: Counter[str] = Counter()
        """how many files of each folder were read, and are now known as they were seen"""

    def reconcile(self) -> None:
        """After a kill or a loss: remove documents that only the index has, have those read again that it lacks."""
        catalogue = self._job.catalogue
        if self._writer.generation == catalogue.generation:
            return
        alive, known = self._writer.doc_ids(), catalogue.doc_ids()
        self._catalogue.pass_over_doc_ids(alive | known)
        lost = known - alive
        gone = self._catalogue.read_again(lost, generation=catalogue.generation) if lost else []
        self._writer.remove({*(alive - known), *gone})
        wipe_soon(catalogue)
        self._commit(merge=True)

    def run(self, plan: ChangePlan, *, stop: threading.Event, optimize: bool = False) -> UpdateSummary:
        """Carry out `plan`; when `stop` is set, what was done until then is committed."""
        self._batch.replaced.extend(plan.removed.values())
        self._writer.remove(self._job.catalogue.doc_ids_of_files(plan.removed.values()))
        n_unchanged = plan.n_unchanged + self._read_again(plan, stop)
        readings = plan.readings
        self._read(readings, n_unchanged, stop)
        bulk = len(readings) >= BULK_FILES
        if bulk:
            self._pool.close()  # its memory is needed for merging; it starts again when there is more to read
        if self._batch.changes_documents or bulk:
            self._commit(merge=not stop.is_set())
        elif self._batch:
            self._catalogue.commit(self._batch, generation=self._writer.generation)
        if optimize and not stop.is_set():
            self._optimize()
        return self._summary(plan, n_unchanged, stopped=self._n_done < len(readings))

    def _read_again(self, plan: ChangePlan, stop: threading.Event) -> int:
        """Have the touched files read whose content has changed; of the others, so many, the new ctime is noted."""
        n_same = 0
        for reading in plan.touched:
            if stop.is_set() or fingerprint(reading.entry.path) != reading.digest or reading.file_id is None:
                plan.readings.append(reading)
            else:
                self._batch.touched.append((reading.entry.changed_ns, reading.file_id))
                n_same += 1
        return n_same

    def _read(self, readings: Readings, n_unchanged: int, stop: threading.Event) -> None:
        merge = len(readings) < BULK_FILES
        n_total = n_unchanged + len(readings)
        self._meter.begin("indexing", n_done=n_unchanged, n_total=n_total, bytes_total=readings.n_bytes)
        for reading in readings.named():
            self._store_name(reading)
            self._commit_if_due(merge=merge)
        ahead: dict[str, FilesRead] = {}

        def entries() -> Iterator[FileEntry]:
            for reading in readings.read():
                ahead[reading.entry.path] = reading
                yield reading.entry

        for entry, outcome in self._pool.run(entries(), stop):
            self._store(ahead.pop(entry.path), outcome)
            if stop.is_set():
                return
            self._commit_if_due(merge=merge)

    def _commit_if_due(self, *, merge: bool) -> None:
        if self._job.commits.is_due(
            began=self._began, last=self._last_commit, now=time.monotonic(),
            n_postings=self._writer.pending_postings, n_text_bytes=self._batch.n_text_bytes,
        ):  # fmt: skip
            self._commit(merge=merge)
            self._meter.begin("indexing")

    def _store_name(self, reading: FilesRead) -> None:
        """Store a file of which nothing is read but its name."""
        entry = reading.entry
        state = "failed" if entry.failure else "named"
        stored = StoredFile(self._file_id(reading), entry, state, entry.failure, entry.unread, UNREAD)
        stored = self._add_name(stored)
        self._meter.count(entry.path, 0, stored.reason if stored.state == "failed" else "")
        self._note_done(reading)

    def _note_done(self, reading: FilesRead) -> None:
        self._n_done += 1
        self._n_new += reading.file_id is None
        if reading.old_path:
            self.moves.append((reading.old_path, reading.entry.path))

    def _store(self, reading: FilesRead, outcome: PreparedFile | ExtractionError) -> None:
        entry, reader = reading.entry, reader_of(reading.entry, self._job.reader)
        file_id = self._file_id(reading)
        if not isinstance(outcome, ExtractionError):
            prepared = outcome
            stored = StoredFile(file_id, entry, "indexed", "", "\n".join(outcome.notes), reader, outcome.digest)
            outcome = self._add(stored, lambda: prepared.documents or self._name_of(entry)) or outcome
        if isinstance(outcome, ExtractionError) and not os.path.lexists(entry.path):
            self._batch.replaced.append(file_id)  # it went before it was read: no failure of its own
            self._meter.count(entry.path, entry.size)
        elif isinstance(outcome, ExtractionError):
            reason, is_named = str(outcome), self._job.rules.names and outcome.kind == "unsupported"
            state, kind = ("named", "") if is_named else ("failed", outcome.kind)
            stored = StoredFile(file_id, entry, state, kind, reason, reader, tries=reading.tries + 1)
            stored = self._add_name(stored)
            self._meter.count(entry.path, entry.size, stored.reason if stored.state == "failed" else "")
        else:
            self.indexed[os.path.dirname(entry.path)] += not entry.source
            self._meter.count(entry.path, entry.size)
        self._note_done(reading)

    def _file_id(self, reading: FilesRead) -> int:
        """The number of the file; the documents that it had go."""
        if reading.file_id is None:
            return self._catalogue.new_file_id()
        self._writer.remove(self._job.catalogue.doc_ids_of_files([reading.file_id]))
        return reading.file_id

    def _name_of(self, entry: FileEntry) -> tuple[PreparedDocument, ...]:
        """The document of a file of which nothing could be read, if such files are to be found."""
        return (prepare_name(entry.path),) if self._job.rules.names else ()

    def _add_name(self, stored: StoredFile) -> StoredFile:
        """Add a file that is found by its name, or not even by that; what was stored of it."""
        error = self._add(stored, lambda: self._name_of(stored.entry))
        if error is not None:
            if stored.state != "failed":
                stored = msgspec.structs.replace(stored, state="failed", kind=error.kind, reason=str(error))
            self._batch.add(stored)
        return stored

    def _add(self, stored: StoredFile, documents: Callable[[], Sequence[PreparedDocument]]) -> ExtractionError | None:
        """Add a file and its documents; one that the index or the catalogue refuses adds nothing and says why."""
        doc_ids = list[int]()
        try:
            made = documents()
            for document in made:
                doc_ids.append(self._catalogue.new_doc_id())
                self._writer.add(doc_ids[-1], stored.entry, document)
            self._batch.add(stored, zip(doc_ids, made, strict=True))
        except Exception as error:  # whatever a document does to the index, its neighbours go on
            self._writer.remove(doc_ids)
            reason = f"could not be added to the index: {type(error).__name__}: {error}"
            return ExtractionError("crashed", reason[:300])
        self._n_documents += len(doc_ids)
        return None

    def _commit(self, *, merge: bool) -> None:
        self._meter.begin("merging")
        generation = self._writer.commit(merge=merge)
        self._catalogue.commit(self._batch, generation=generation)
        self._batch = Batch()
        self._last_commit = time.monotonic()
        self._meter.report(generation=generation)

    def _optimize(self) -> None:
        self._meter.begin("merging")
        self._catalogue.commit(self._batch, generation=self._writer.optimize())
        compact(self._job.catalogue)

    def wipe(self, forget: Callable[[bool], None]) -> None:
        """Leave nothing of what was deleted, here and where `forget` looks; begun again after a kill."""
        self._meter.begin("merging")
        if not self._writer.has_room_to_wipe():
            self._meter.report(note="what was deleted is not wiped yet: the disk has no room to write the index anew")
            return
        if self._job.catalogue.wipe_by is None:
            compact(self._job.catalogue)
        generation = self._writer.wipe()
        forget(True)
        note_wiped(self._job.catalogue, generation=generation)

    def _summary(self, plan: ChangePlan, n_unchanged: int, *, stopped: bool) -> UpdateSummary:
        return UpdateSummary(
            n_new=self._n_new,
            n_moved=len(self.moves),
            n_changed=self._n_done - self._n_new - len(self.moves),
            n_removed=len(plan.removed),
            n_failed=self._meter.now.n_failed,
            n_unchanged=n_unchanged,
            n_documents=self._n_documents,
            n_bytes=self._meter.now.bytes_done,
            generation=self._job.catalogue.generation,
            stopped=stopped,
        )
