"""Bring the index up to date: crawl, compare with the catalogue, read what changed, commit.

Planning takes no lock; only the work itself is done under the index's write lock (`UpdateSession`).

Order of durability: the index commits first (and syncs), then one transaction of the catalogue records the files with
the index's new generation. Killed anywhere, the next session sees that the generations differ and makes both sides
agree (`UpdateSession.reconcile`): nothing acknowledged is lost, and no document of a removed file stays.
"""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from console.printable import display_path
from indexer.confined.pool import WorkerPool
from indexer.documents import FileEntry, Listing, Skipped
from indexer.errors import ExtractionError, IndexDamaged, IndexerError, LockedError
from indexer.extract.source import fingerprint
from indexer.files import absent_disks, changes
from indexer.files.crawl import Crawl, CrawlRules, is_below
from indexer.files.ignore_rules import IGNORE_FILES
from indexer.prepare import PreparedDocument, PreparedFile, prepare_name
from indexer.progress import Meter, OnProgress, UpdateSummary
from indexer.storage import catalogue_writing
from indexer.storage.catalogue import AWAY, UNREAD, Catalogue, plain_errors
from indexer.storage.catalogue_tables import reset
from indexer.storage.index import Index, IndexWriter, lock_holder
from indexer.storage.unchanged import SettledFolders, Stamps

Moves = list[tuple[str, str]]
"""(old path, new path)"""

BULK_FILES = 200
"""With this many files or more, segments of like size are left apart until the end, which saves most merging."""


class CommitPolicy(msgspec.Struct, frozen=True):
    """When what was read is committed; a commit makes it findable and safe, and costs some merging."""

    first_seconds: tuple[float, ...] = (3.0, 15.0, 40.0)
    """early commits, this long after the start, so that something can be found while the rest is being read"""
    seconds: float = 120.0
    """at most this long between commits: no more work than this is lost when the process is killed"""
    max_postings: int = 600_000
    max_text_bytes: int = 16_000_000
    """of compressed texts waiting in memory"""

    def is_due(self, *, began: float, last: float, now: float, n_postings: int, n_text_bytes: int) -> bool:
        """Whether to commit at `now` when the run began at `began` and committed at `last` (monotonic seconds)."""
        if n_postings >= self.max_postings or n_text_bytes >= self.max_text_bytes:
            return True
        early = any(last - began < mark <= now - began for mark in self.first_seconds)
        return early or now - last >= self.seconds


class Job(msgspec.Struct, frozen=True):
    """Which index is updated, from which folders, and by whom."""

    index: Path
    """the folder of the index"""
    catalogue: Catalogue
    roots: tuple[str, ...]
    rules: CrawlRules
    holder: str
    """whom to name to other processes that find the index locked"""
    reader: str
    """version and limits of the extractors, kept with each file: when it changes, failed files are read again"""
    commits: CommitPolicy = msgspec.field(default_factory=CommitPolicy)


class UpdateSession:
    """One writer's work, from taking the lock to the last commit."""

    def __init__(self, job: Job, pool: WorkerPool[PreparedFile], writer: IndexWriter, meter: Meter) -> None:
        self._job, self._pool, self._writer, self._meter = job, pool, writer, meter
        self._catalogue = catalogue_writing.CatalogueWriter(job.catalogue)
        self._batch = catalogue_writing.Batch()
        self._began = self._last_commit = time.monotonic()
        self._n_documents = 0
        self._n_done = self._n_new = 0
        self.moves: Moves = []
        """files found under another path"""
        self.indexed: Counter[str] = Counter()
        """folder -> how many of its files were read, so that the catalogue knows them as the crawl saw them"""

    def reconcile(self) -> None:
        """After a kill or a loss: remove documents that only the index has; mark files it lacks to be read again."""
        catalogue = self._job.catalogue
        if self._writer.generation == catalogue.generation:
            return
        alive, known = self._writer.doc_ids(), catalogue.doc_ids()
        self._catalogue.pass_over_doc_ids(alive | known)
        lost = known - alive
        gone = self._catalogue.read_again(lost, generation=catalogue.generation) if lost else []
        self._writer.remove({*(alive - known), *gone})
        catalogue_writing.wipe_soon(catalogue)
        self._commit(merge=True)

    def run(self, plan: changes.ChangePlan, *, stop: threading.Event, optimize: bool = False) -> UpdateSummary:
        """Carry out `plan`; once `stop` is set, commit what was done so far and end."""
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
            self._meter.begin("merging")
            self._catalogue.commit(self._batch, generation=self._writer.optimize())
            catalogue_writing.compact(self._job.catalogue)
        return self._summary(plan, n_unchanged, stopped=self._n_done < len(readings))

    def _read_again(self, plan: changes.ChangePlan, stop: threading.Event) -> int:
        """Plan to read touched files whose content changed; note the new ctime of the others and return how many."""
        n_same = 0
        for reading in plan.touched:
            if stop.is_set() or fingerprint(reading.entry.path) != reading.digest or reading.file_id is None:
                plan.readings.append(reading)
            else:
                self._batch.touched.append((reading.entry.changed_ns, reading.file_id))
                n_same += 1
        return n_same

    def _read(self, readings: changes.Readings, n_unchanged: int, stop: threading.Event) -> None:
        merge = len(readings) < BULK_FILES
        n_total = n_unchanged + len(readings)
        self._meter.begin("indexing", n_done=n_unchanged, n_total=n_total, bytes_total=readings.n_bytes)
        for reading in readings.by_name_alone():
            self._store_name(reading)
            self._commit_if_due(merge=merge)
        ahead: dict[str, changes.FilesRead] = {}

        def entries() -> Iterator[FileEntry]:
            for reading in readings.newest_first():
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

    def _store_name(self, reading: changes.FilesRead) -> None:
        """Store a file of which only the name is read."""
        entry = reading.entry
        state = "failed" if entry.failure else "named"
        stored = catalogue_writing.StoredFile(self._file_id(reading), entry, state, entry.failure, entry.unread, UNREAD)
        stored = self._add_name(stored)
        self._meter.count(entry.path, 0, stored.reason if stored.state == "failed" else "")
        self._note_done(reading)

    def _note_done(self, reading: changes.FilesRead) -> None:
        self._n_done += 1
        self._n_new += reading.file_id is None
        if reading.old_path:
            self.moves.append((reading.old_path, reading.entry.path))

    def _store(self, reading: changes.FilesRead, outcome: PreparedFile | ExtractionError) -> None:
        entry, reader = reading.entry, changes.reader_of(reading.entry, self._job.reader)
        file_id = self._file_id(reading)
        if not isinstance(outcome, ExtractionError):
            prepared = outcome
            stored = catalogue_writing.StoredFile(
                file_id, entry, "indexed", "", "\n".join(outcome.notes), reader, outcome.digest
            )
            outcome = self._add(stored, lambda: prepared.documents or self._name_of(entry)) or outcome
        if isinstance(outcome, ExtractionError) and not os.path.lexists(entry.path):
            self._batch.replaced.append(file_id)  # deleted before it was read: not a failure
            self._meter.count(entry.path, entry.size)
        elif isinstance(outcome, ExtractionError):
            reason, is_named = str(outcome), self._job.rules.names and outcome.kind == "unsupported"
            state, kind = ("named", "") if is_named else ("failed", outcome.kind)
            stored = catalogue_writing.StoredFile(file_id, entry, state, kind, reason, reader, tries=reading.tries + 1)
            stored = self._add_name(stored)
            self._meter.count(entry.path, entry.size, stored.reason if stored.state == "failed" else "")
        else:
            self.indexed[os.path.dirname(entry.path)] += not entry.source
            self._meter.count(entry.path, entry.size)
        self._note_done(reading)

    def _file_id(self, reading: changes.FilesRead) -> int:
        """The number of the file, a new one if it has none; its previous documents are removed."""
        if reading.file_id is None:
            return self._catalogue.new_file_id()
        self._writer.remove(self._job.catalogue.doc_ids_of_files([reading.file_id]))
        return reading.file_id

    def _name_of(self, entry: FileEntry) -> tuple[PreparedDocument, ...]:
        """The name-only document of a file whose content could not be read; none unless the rules index names."""
        return (prepare_name(entry.path),) if self._job.rules.names else ()

    def _add_name(self, stored: catalogue_writing.StoredFile) -> catalogue_writing.StoredFile:
        """Add a file found by its name alone, or not at all; returns it as it was stored."""
        error = self._add(stored, lambda: self._name_of(stored.entry))
        if error is not None:
            if stored.state != "failed":
                stored = msgspec.structs.replace(stored, state="failed", kind=error.kind, reason=str(error))
            self._batch.add(stored)
        return stored

    def _add(
        self, stored: catalogue_writing.StoredFile, documents: Callable[[], Sequence[PreparedDocument]]
    ) -> ExtractionError | None:
        """Add a file and its documents; if the index or the catalogue refuses one, add nothing and return why."""
        doc_ids = list[int]()
        try:
            made = documents()
            for document in made:
                doc_ids.append(self._catalogue.new_doc_id())
                self._writer.add(doc_ids[-1], stored.entry, document)
            self._batch.add(stored, zip(doc_ids, made, strict=True))
        except Exception as error:  # whatever a document does to the index, other files are still added
            self._writer.remove(doc_ids)
            reason = f"could not be added to the index: {type(error).__name__}: {error}"
            return ExtractionError("crashed", reason[:300])
        self._n_documents += len(doc_ids)
        return None

    def _commit(self, *, merge: bool) -> None:
        self._meter.begin("merging")
        generation = self._writer.commit(merge=merge)
        self._catalogue.commit(self._batch, generation=generation)
        self._batch = catalogue_writing.Batch()
        self._last_commit = time.monotonic()
        self._meter.report(generation=generation)

    def wipe(self, forget: Callable[[bool], None]) -> None:
        """Erase every trace of what was deleted, here and where `forget` looks; if killed, it will begin anew."""
        self._meter.begin("merging")
        if not self._writer.has_room_to_wipe():
            self._meter.report(note="what was deleted is not wiped yet: the disk has no room to write the index anew")
            return
        generation = self._writer.wipe()
        forget(True)
        catalogue_writing.note_wiped(self._job.catalogue, generation=generation)

    def _summary(self, plan: changes.ChangePlan, n_unchanged: int, *, stopped: bool) -> UpdateSummary:
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


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn a full disk or a file-size limit into a one-line error; the index stays at its last commit."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        why = "a file may not be larger" if error.errno == errno.EFBIG else "the disk is full"
        raise IndexerError(f"{why}: {folder} cannot grow; what was committed before is kept") from error


class _Scan:
    """One walk through all folders: what was known at its start, and what it finds."""

    def __init__(self, catalogue: Catalogue, job: Job) -> None:
        self.suspects = catalogue.suspects()
        rules = b"%s %s" % (job.rules.identity(), job.reader.encode())
        self.settled = SettledFolders(catalogue.connection, rules)
        self.settled.doubtful.update(map(os.path.dirname, self.suspects))
        self.crawl = Crawl(job.roots, job.rules, settled=self.settled)
        self.skipped: list[Skipped] = []
        """at most MAX_SKIPPED_ROWS"""


Planning = Callable[[], changes.ChangePlan | None]
"""makes the plan; gives None when it was stopped before the plan was complete"""


def _nothing(*_: object) -> None:
    """Ignores every report."""


class Updater(msgspec.Struct):
    """Updates one index; for one thread at a time. The pool stays with the caller and may serve many updates."""

    job: Job
    pool: WorkerPool[PreparedFile]
    on_progress: OnProgress = _nothing
    on_moves: Callable[[Moves], None] = _nothing
    forget: Callable[[bool], None] = _nothing
    """removes old copies kept outside the index; with True (after a wipe) also those of deleted files"""
    stop: threading.Event = msgspec.field(default_factory=threading.Event)
    folders: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    """the folders to watch: path -> (device, inode), as the last scan or update listed them"""
    _indexed: Counter[str] = msgspec.field(default_factory=Counter)
    """`indexed` of the last session"""
    _away: list[Skipped] = msgspec.field(default_factory=list)
    """folders out of sight in the last plan, whose files are kept"""

    def scan(
        self, *, retry_failures: bool = False, optimize: bool = False, note: str = "", wipe_all: bool = False
    ) -> UpdateSummary:
        """Look at everything below the roots and index what changed; what lies outside them is removed.

        It erases every trace of deleted files, and of words that changed files no longer hold if they changed an hour
        ago or with `wipe_all` or `optimize`.
        Raises LockedError when another process is writing, IndexDamaged when the index must be rebuilt first.
        """
        meter = Meter(self.on_progress, generation=self.job.catalogue.generation, note=note)
        meter.begin("scanning")
        catalogue = self.job.catalogue
        scan: _Scan | None = None

        def planned() -> changes.ChangePlan | None:
            nonlocal scan
            with plain_errors(catalogue.path):
                scan = _Scan(catalogue, self.job)
                return self._compared(scan, meter, retry_failures=retry_failures)

        self.forget(False)

        def is_to_be_wiped() -> bool:
            return catalogue.is_to_be_wiped(math.inf if wipe_all or optimize else time.time())

        summary = self._apply(planned, meter, optimize=optimize, is_to_be_wiped=is_to_be_wiped)
        if summary is None or scan is None:
            return UpdateSummary(stopped=True, generation=catalogue.generation)
        crawl = scan.crawl
        scan.settled.doubtful.subtract(self._indexed)
        self.folders = crawl.folders
        catalogue_writing.note_scan(
            catalogue, roots=crawl.roots, skipped=[*self._away, *scan.skipped], by_rule=crawl.by_rule,
            settled=None if summary.stopped else scan.settled, listings=crawl.listings,
        )  # fmt: skip
        catalogue_writing.note_update(catalogue, scan.suspects)
        catalogue_writing.empty_log(catalogue)
        return msgspec.structs.replace(summary, n_skipped=crawl.by_rule.total())

    def _compared(self, scan: _Scan, meter: Meter, *, retry_failures: bool) -> changes.ChangePlan | None:
        """The plan of a whole scan; None when it was stopped.

        Each file is compared as soon as it is seen, and nothing is kept in memory of an unchanged one.
        """
        catalogue, crawl = self.job.catalogue, scan.crawl
        comparison = changes.FileComparison(self.job.reader, retry_failures=retry_failures, is_scan=True)
        stamps, n_settled, n_seen = Stamps(catalogue, self.job.reader), 0, 0
        for item in crawl:
            if self.stop.is_set():
                return None
            if isinstance(item, Skipped):
                if len(scan.skipped) < catalogue_writing.MAX_SKIPPED_ROWS:
                    scan.skipped.append(item)
                continue
            if isinstance(item, Listing):
                stamps.pass_over(item.folder, item.n_files)
                n_settled, n_seen = n_settled + item.n_files, n_seen + item.n_files
                meter.seen(n_seen)
                continue
            n_seen += 1
            if n_seen % 100 == 0:
                meter.seen(n_seen)
            stamp = stamps.find(item.path)
            if stamp is not None and changes.is_settled(item, stamp):
                n_settled += 1
            else:
                scan.settled.doubtful[os.path.dirname(item.path)] += 1
                comparison.see(item, catalogue.known_of([item.path]).get(item.path) if stamp is not None else None)
        comparison.plan.n_unchanged += n_settled
        return comparison.finish(
            catalogue.known_of(stamps.others()), absent_disks.OutOfSight(set(crawl.unread), crawl.bare, catalogue)
        )

    def update(self, paths: Iterable[str]) -> UpdateSummary:
        """Look only at `paths`, each a file or a folder with everything in it; they may no longer exist.

        A changed ignore file stands for its folder. Ignored paths are looked at, not read. Raises what `scan` raises.
        """
        wanted = outermost(os.path.dirname(path) if path.endswith(IGNORE_FILES) else path for path in paths)
        crawl = Crawl(self.job.roots, self.job.rules)
        seen = {item.path: item for path in wanted for item in crawl.below(path) if isinstance(item, FileEntry)}

        def planned() -> changes.ChangePlan:
            known = {path: file for one in wanted for path, file in self.job.catalogue.known(one).items()}
            comparison = changes.FileComparison(self.job.reader)
            for path, entry in seen.items():
                comparison.see(entry, known.pop(path, None))
            return comparison.finish(known, absent_disks.OutOfSight(set(crawl.unread), crawl.bare, self.job.catalogue))

        self.folders = crawl.folders
        meter = Meter(self.on_progress, generation=self.job.catalogue.generation)
        summary = self._apply(planned, meter) or UpdateSummary()
        if summary.changed_anything or set(wanted) & set(self.job.catalogue.suspects()):
            catalogue_writing.note_update(self.job.catalogue, wanted)
        return summary

    def _apply(
        self, planned: Planning, meter: Meter, *, optimize: bool = False,
        is_to_be_wiped: Callable[[], bool] = lambda: False,
    ) -> UpdateSummary | None:  # fmt: skip
        job = self.job
        self._indexed = Counter()
        index = Index.open(job.index)
        before = (index.generation, job.catalogue.generation)
        plan = planned()
        if plan is None:
            return None
        if plan or optimize or before[0] != before[1] or is_to_be_wiped():
            with disk_errors(job.index), index.writer(job.holder) as writer:
                session = UpdateSession(job, self.pool, writer, meter)
                session.reconcile()
                if before != (writer.generation, job.catalogue.generation) or before[0] != before[1]:
                    plan = planned()  # another process wrote before we held the lock, or `reconcile` repaired a loss
                if plan is None:
                    return None
                summary = session.run(plan, stop=self.stop, optimize=optimize)
                if not summary.stopped and is_to_be_wiped():
                    session.wipe(self.forget)
                self._indexed = session.indexed
            if session.moves:
                self.on_moves(session.moves)
        else:
            summary = UpdateSummary(n_unchanged=plan.n_unchanged, generation=index.generation)
            meter.report(n_done=plan.n_unchanged, n_total=plan.n_unchanged)
        self._away = [
            Skipped(folder, AWAY, absent_disks.line_about_folder(folder, why, n_files, job.roots))
            for (folder, why), n_files in sorted(plan.kept.items())
        ]
        kept = tuple(display_path(f"{one.path} {one.reason}") for one in self._away)
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
    """The catalogue of the index in `index`, and a line to show: "", or why both were reset to empty.

    Raises LockedError when they must be rebuilt and another process is writing.
    """
    index.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
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
    reset(catalogue)
    Index.destroy(index)
    Index.open(index)
    return Catalogue.open(catalogue), note
