"""Bring the index up to date: crawl, compare with the catalogue, read what changed, commit.

A session writes under the index's write lock. Order of durability: the index commits first (and syncs), then one
transaction of the catalogue records the files with the index's new generation. Killed anywhere, the next session sees
that the generations differ and makes both sides agree (`Session.reconcile`): nothing that was acknowledged is lost,
nothing dead stays.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from indexer.documents import FileEntry, Skipped
from indexer.errors import ExtractionError, IndexDamaged, IndexerError, LockedError
from indexer.extract.pool import WorkerPool
from indexer.files.changes import ChangePlan, FilesRead, Survey, compare, in_doubt, reader_of
from indexer.files.crawl import Crawl, CrawlRules, is_below
from indexer.files.fingerprint import fingerprint
from indexer.files.ignore import IGNORE_FILES
from indexer.prepare import PreparedDocument, PreparedFile, prepare_name
from indexer.progress import Meter, OnProgress, UpdateSummary
from indexer.storage.catalogue import (
    UNREAD,
    Batch,
    Catalogue,
    CatalogueWriter,
    StoredFile,
    compact,
    note_scan,
    note_update,
)
from indexer.storage.index import Index, IndexWriter, lock_holder
from indexer.text.printable import display_path

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
        self._done: list[FilesRead] = []
        self.moves: Moves = []
        """files found under another path, after `run`"""

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
        self._commit(merge=True)

    def run(self, plan: ChangePlan, *, stop: threading.Event, optimize: bool = False) -> UpdateSummary:
        """Carry out `plan`; when `stop` is set, what was done until then is committed."""
        self._batch.replaced.extend(plan.removed.values())
        self._writer.remove(self._job.catalogue.doc_ids_of_files(plan.removed.values()))
        # The newest files come first: they are the likeliest to be wanted while the rest is still being read.
        # What failed before comes last.
        again = self._read_again(plan.touched, stop)
        readings = sorted(
            (*plan.readings, *again), key=lambda reading: (reading.tries == 0, reading.entry.modified_ns), reverse=True
        )
        n_unchanged = plan.n_unchanged + len(plan.touched) - len(again)
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
        return self._summary(plan, n_unchanged, stopped=len(self._done) < len(readings))

    def _read_again(self, touched: list[FilesRead], stop: threading.Event) -> list[FilesRead]:
        """Those whose content has changed; of the others the new ctime is noted."""
        changed: list[FilesRead] = []
        for reading in touched:
            if stop.is_set() or fingerprint(reading.entry.path) != reading.digest or reading.file_id is None:
                changed.append(reading)
            else:
                self._batch.touched.append((reading.entry.changed_ns, reading.file_id))
        return changed

    def _read(self, readings: list[FilesRead], n_unchanged: int, stop: threading.Event) -> None:
        by_path = {reading.entry.path: reading for reading in readings}
        to_read = [reading.entry for reading in readings if not reading.entry.unread]
        merge = len(readings) < BULK_FILES
        self._meter.begin(
            "indexing",
            n_done=n_unchanged,
            n_total=n_unchanged + len(readings),
            bytes_total=sum(entry.size for entry in to_read),
        )
        for reading in readings:
            if reading.entry.unread:
                self._store_name(reading)
        for entry, outcome in self._pool.run(to_read, stop):
            self._store(by_path[entry.path], outcome)
            if stop.is_set():
                return
            policy, now = self._job.commits, time.monotonic()
            if policy.is_due(
                began=self._began, last=self._last_commit, now=now,
                n_postings=self._writer.pending_postings, n_text_bytes=self._batch.n_text_bytes,
            ):  # fmt: skip
                self._commit(merge=merge)
                self._meter.begin("indexing")

    def _store_name(self, reading: FilesRead) -> None:
        """Store a file of which nothing is read but its name."""
        entry = reading.entry
        state = "failed" if entry.failure else "named"
        stored = StoredFile(self._file_id(reading), entry, state, entry.failure, entry.unread, UNREAD)
        self._add(stored, (prepare_name(entry.path),))
        self._meter.count(entry.path, 0, entry.unread if entry.failure else "")
        self._done.append(reading)

    def _store(self, reading: FilesRead, outcome: PreparedFile | ExtractionError) -> None:
        entry, reader = reading.entry, reader_of(reading.entry, self._job.reader)
        file_id = self._file_id(reading)
        if not isinstance(outcome, ExtractionError):
            documents = outcome.documents or self._name_of(entry)
            stored = StoredFile(file_id, entry, "indexed", "", "\n".join(outcome.notes), reader, outcome.digest)
            outcome = self._add(stored, documents) or outcome
        if isinstance(outcome, ExtractionError) and not os.path.lexists(entry.path):
            self._batch.replaced.append(file_id)  # it went before it was read: no failure of its own
            self._meter.count(entry.path, entry.size)
        elif isinstance(outcome, ExtractionError):
            reason, documents = str(outcome), self._name_of(entry)
            is_named = bool(documents) and outcome.kind == "unsupported"
            state, kind = ("named", "") if is_named else ("failed", outcome.kind)
            stored = StoredFile(file_id, entry, state, kind, reason, reader, tries=reading.tries + 1)
            if self._add(stored, documents) is not None:
                self._batch.files.append(stored)
            self._meter.count(entry.path, entry.size, "" if is_named else reason)
        else:
            self._meter.count(entry.path, entry.size)
        self._done.append(reading)

    def _file_id(self, reading: FilesRead) -> int:
        """The number of the file; the documents that it had go."""
        if reading.file_id is None:
            return self._catalogue.new_file_id()
        self._writer.remove(self._job.catalogue.doc_ids_of_files([reading.file_id]))
        return reading.file_id

    def _name_of(self, entry: FileEntry) -> tuple[PreparedDocument, ...]:
        """The document of a file of which nothing could be read, if such files are to be found."""
        return (prepare_name(entry.path),) if self._job.rules.names else ()

    def _add(self, stored: StoredFile, documents: Sequence[PreparedDocument]) -> ExtractionError | None:
        """Add a file and its documents; one that the index refuses adds nothing and says why."""
        doc_ids = list[int]()
        try:
            for document in documents:
                doc_ids.append(self._catalogue.new_doc_id())
                self._writer.add(doc_ids[-1], stored.entry, document)
        except Exception as error:  # whatever a document does to the index, its neighbours go on
            self._writer.remove(doc_ids)
            return ExtractionError("crashed", f"could not be added to the index: {type(error).__name__}: {error}")
        self._batch.files.append(stored)
        for doc_id, document in zip(doc_ids, documents, strict=True):
            self._batch.add_document(doc_id, stored, document)
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

    def _summary(self, plan: ChangePlan, n_unchanged: int, *, stopped: bool) -> UpdateSummary:
        done = self._done
        self.moves = [(reading.old_path, reading.entry.path) for reading in done if reading.old_path]
        n_new = sum(1 for reading in done if reading.file_id is None)
        return UpdateSummary(
            n_new=n_new,
            n_moved=len(self.moves),
            n_changed=len(done) - n_new - len(self.moves),
            n_removed=len(plan.removed),
            n_failed=self._meter.now.n_failed,
            n_unchanged=n_unchanged,
            n_documents=self._n_documents,
            n_bytes=self._meter.now.bytes_done,
            generation=self._job.catalogue.generation,
            stopped=stopped,
        )


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn a full disk into one line; the index stays at its last commit."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise IndexerError(f"the disk is full: {folder} cannot grow; what was committed before is kept") from error


Planning = Callable[[], ChangePlan]


def _nothing(*_: object) -> None:
    """What is told is not wanted."""


@dataclass(slots=True)
class Updater:
    """Updates one index; for one thread at a time. The pool stays with the caller and may serve many updates."""

    job: Job
    pool: WorkerPool[PreparedFile]
    on_progress: OnProgress = _nothing
    on_moves: Callable[[Moves], None] = _nothing
    stop: threading.Event = field(default_factory=threading.Event)
    folders: list[str] = field(default_factory=list)
    """the folders that the last scan or update listed: those to watch"""

    def scan(self, *, retry_failures: bool = False, optimize: bool = False, note: str = "") -> UpdateSummary:
        """Look at everything below the roots and index what changed; what lies outside them is removed.

        Raises LockedError when another process is writing, IndexDamaged when the index must be rebuilt first.
        """
        meter = Meter(self.on_progress, generation=self.job.catalogue.generation, note=note)
        meter.begin("scanning")
        crawl = Crawl(self.job.roots, self.job.rules)
        survey, skipped = Survey(unread=crawl.unread, empty=crawl.empty), list[Skipped]()
        for item in crawl:
            if isinstance(item, Skipped):
                skipped.append(item)
            else:
                survey.files[item.path] = item
                meter.seen(len(survey.files))
            if self.stop.is_set():
                return UpdateSummary(stopped=True, generation=self.job.catalogue.generation)
        self.folders = crawl.folders

        def planned() -> ChangePlan:
            job = self.job
            left, others, n_unchanged = in_doubt(survey, job.catalogue.stamps(job.reader))
            known = job.catalogue.known_of(others)
            plan = compare(left, known, reader=job.reader, retry_failures=retry_failures, is_scan=True)
            plan.n_unchanged += n_unchanged
            return plan

        summary = self._apply(planned, meter, optimize=optimize)
        note_scan(self.job.catalogue, roots=crawl.roots, skipped=skipped, by_rule=crawl.by_rule)
        note_update(self.job.catalogue, self.job.catalogue.suspects())
        return msgspec.structs.replace(summary, n_skipped=crawl.by_rule.total())

    def update(self, paths: Iterable[str]) -> UpdateSummary:
        """Look only at `paths`, each a file or a folder with all that it holds; they may be gone.

        A changed ignore file stands for its folder. Paths that the rules pass over cost a look and nothing else.
        Raises what `scan` raises.
        """
        wanted = outermost(os.path.dirname(path) if path.endswith(IGNORE_FILES) else path for path in paths)
        crawl = Crawl(self.job.roots, self.job.rules)
        survey = Survey(unread=crawl.unread, empty=crawl.empty)
        for path in wanted:
            survey.files.update((item.path, item) for item in crawl.below(path) if isinstance(item, FileEntry))

        def planned() -> ChangePlan:
            known = {path: file for one in wanted for path, file in self.job.catalogue.known(one).items()}
            return compare(survey, known, reader=self.job.reader)

        self.folders = crawl.folders
        summary = self._apply(planned, Meter(self.on_progress, generation=self.job.catalogue.generation))
        if summary.changed_anything or set(wanted) & set(self.job.catalogue.suspects()):
            note_update(self.job.catalogue, wanted)
        return summary

    def _apply(self, planned: Planning, meter: Meter, *, optimize: bool = False) -> UpdateSummary:
        job = self.job
        index = Index.open(job.index)
        before = (index.generation, job.catalogue.generation)
        plan = planned()
        if plan or optimize or before[0] != before[1]:
            with disk_errors(job.index), index.writer(job.holder) as writer:
                session = UpdateSession(job, self.pool, writer, meter)
                session.reconcile()
                if before != (writer.generation, job.catalogue.generation) or before[0] != before[1]:
                    plan = planned()  # another process was at work before the lock was ours, or there was loss to mend
                summary = session.run(plan, stop=self.stop, optimize=optimize)
            if session.moves:
                self.on_moves(session.moves)
        else:
            summary = UpdateSummary(n_unchanged=plan.n_unchanged, generation=index.generation)
            meter.report(n_done=plan.n_unchanged, n_total=plan.n_unchanged)
        kept = tuple(sorted(display_path(folder) for folder in plan.kept))
        meter.report(phase="idle", generation=summary.generation, current="", eta_seconds=None)
        return msgspec.structs.replace(summary, unavailable=kept, seconds=meter.seconds, note=meter.now.note)


def outermost(paths: Iterable[str]) -> list[str]:
    """`paths` without those that lie in another one of them."""
    found: list[str] = []
    for path in sorted(set(paths), key=lambda path: path + os.sep):
        if not found or not is_below(path, found[-1]):
            found.append(path)
    return found


def open_catalogue(index: Path, catalogue: Path, *, rebuild: bool = False) -> tuple[Catalogue, str]:
    """The catalogue of the index in `index`, and a line to show: "" or why both begin anew, empty.

    Raises LockedError when they must be rebuilt and another process is writing.
    """
    try:
        Index.open(index)
        opened = Catalogue.open(catalogue)
        if not rebuild:
            return opened, ""
        opened.close()
        note = "everything is indexed again, as asked"
    except IndexDamaged as error:
        note = f"{error}; everything is indexed again"
    if holder := lock_holder(index):
        raise LockedError(f"the index must be rebuilt and is being written by {holder}")
    Catalogue.destroy(catalogue)
    Index.destroy(index)
    Index.open(index)
    return Catalogue.open(catalogue), note
