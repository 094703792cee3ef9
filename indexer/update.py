"""Bring the index up to date: crawl, compare with the catalogue, read what changed, commit.

What is to be done is found without the index's write lock, and done under it (`UpdateSession`).
"""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from console.printable import display_path
from indexer.documents import FileEntry, Listing, Skipped
from indexer.errors import IndexDamaged, IndexerError, LockedError
from indexer.extract.workers.pool import WorkerPool
from indexer.files.changes import ChangePlan, FileComparison, OutOfSight, is_settled, said_of
from indexer.files.crawl import Crawl, is_below
from indexer.files.ignore import IGNORE_FILES
from indexer.prepare import PreparedFile
from indexer.progress import Meter, OnProgress, UpdateSummary
from indexer.storage.catalogue import AWAY, Catalogue, plain_errors
from indexer.storage.catalogue_tables import reset
from indexer.storage.catalogue_writing import MAX_SKIPPED_ROWS, empty_log, note_scan, note_update
from indexer.storage.index import Index, lock_holder
from indexer.storage.unchanged import SettledFolders, Stamps
from indexer.update_session import Job, Moves, UpdateSession


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn a full disk into one line; the index stays at its last commit."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise IndexerError(f"the disk is full: {folder} cannot grow; what was committed before is kept") from error


class _Scan:
    """One walk through everything: what it began with, and what it finds."""

    def __init__(self, catalogue: Catalogue, job: Job) -> None:
        self.suspects = catalogue.suspects()
        rules = b"%s %s" % (job.rules.identity(), job.reader.encode())
        self.settled = SettledFolders(catalogue.connection, rules)
        self.settled.doubtful.update(map(os.path.dirname, self.suspects))
        self.crawl = Crawl(job.roots, job.rules, settled=self.settled)
        self.skipped: list[Skipped] = []
        """up to a bound"""


Planning = Callable[[], ChangePlan | None]
"""what is to be done; None when it was stopped before that was known"""


def _nothing(*_: object) -> None:
    """What is told is not wanted."""


@dataclass(slots=True)
class Updater:
    """Updates one index; for one thread at a time. The pool stays with the caller and may serve many updates."""

    job: Job
    pool: WorkerPool[PreparedFile]
    on_progress: OnProgress = _nothing
    on_moves: Callable[[Moves], None] = _nothing
    forget: Callable[[bool], None] = _nothing
    """called by each scan, to forget elsewhere what is old, and with True what is not in the catalogue any more"""
    stop: threading.Event = field(default_factory=threading.Event)
    folders: list[str] = field(default_factory=list)
    """the folders that the last scan or update listed: those to watch"""
    _indexed: Counter[str] = field(default_factory=Counter)
    """as the last session says"""
    _away: list[Skipped] = field(default_factory=list)
    """folders of the last plan whose files are kept"""

    def scan(
        self, *, retry_failures: bool = False, optimize: bool = False, note: str = "", wipe_all: bool = False
    ) -> UpdateSummary:
        """Look at everything below the roots and index what changed; what lies outside them is removed.

        Of deleted files nothing is left then; of words that changed files no longer have where that was an hour ago,
        or with `wipe_all`.
        Raises LockedError when another process is writing, IndexDamaged when the index must be rebuilt first.
        """
        meter = Meter(self.on_progress, generation=self.job.catalogue.generation, note=note)
        meter.begin("scanning")
        catalogue = self.job.catalogue
        scan: _Scan | None = None

        def planned() -> ChangePlan | None:
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
        note_scan(
            catalogue, roots=crawl.roots, skipped=[*self._away, *scan.skipped], by_rule=crawl.by_rule,
            settled=None if summary.stopped else scan.settled, listings=crawl.listings,
        )  # fmt: skip
        note_update(catalogue, scan.suspects)
        empty_log(catalogue)
        return msgspec.structs.replace(summary, n_skipped=crawl.by_rule.total())

    def _compared(self, scan: _Scan, meter: Meter, *, retry_failures: bool) -> ChangePlan | None:
        """The plan of a whole scan; None when it was stopped.

        Each file is compared as it is seen, and nothing is kept of one that is as it was.
        """
        catalogue, crawl = self.job.catalogue, scan.crawl
        comparison = FileComparison(self.job.reader, retry_failures=retry_failures, is_scan=True)
        stamps, n_settled, n_seen = Stamps(catalogue, self.job.reader), 0, 0
        for item in crawl:
            if self.stop.is_set():
                return None
            if isinstance(item, Skipped):
                if len(scan.skipped) < MAX_SKIPPED_ROWS:
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
            if stamp is not None and is_settled(item, stamp):
                n_settled += 1
            else:
                scan.settled.doubtful[os.path.dirname(item.path)] += 1
                comparison.see(item, catalogue.known_of([item.path]).get(item.path) if stamp is not None else None)
        comparison.plan.n_unchanged += n_settled
        return comparison.finish(
            catalogue.known_of(stamps.others()), OutOfSight(set(crawl.unread), crawl.bare, catalogue)
        )

    def update(self, paths: Iterable[str]) -> UpdateSummary:
        """Look only at `paths`, each a file or a folder with all that it holds; they may be gone.

        A changed ignore file stands for its folder. Paths that the rules pass over cost a look and nothing else.
        Raises what `scan` raises.
        """
        wanted = outermost(os.path.dirname(path) if path.endswith(IGNORE_FILES) else path for path in paths)
        crawl = Crawl(self.job.roots, self.job.rules)
        seen = {item.path: item for path in wanted for item in crawl.below(path) if isinstance(item, FileEntry)}

        def planned() -> ChangePlan:
            known = {path: file for one in wanted for path, file in self.job.catalogue.known(one).items()}
            comparison = FileComparison(self.job.reader)
            for path, entry in seen.items():
                comparison.see(entry, known.pop(path, None))
            return comparison.finish(known, OutOfSight(set(crawl.unread), crawl.bare, self.job.catalogue))

        self.folders = crawl.folders
        meter = Meter(self.on_progress, generation=self.job.catalogue.generation)
        summary = self._apply(planned, meter) or UpdateSummary()
        if summary.changed_anything or set(wanted) & set(self.job.catalogue.suspects()):
            note_update(self.job.catalogue, wanted)
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
                    plan = planned()  # another process was at work before the lock was ours, or there was loss to mend
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
            Skipped(folder, AWAY, said_of(folder, why, n_files, job.roots))
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
    reset(catalogue)
    Index.destroy(index)
    Index.open(index)
    return Catalogue.open(catalogue), note
