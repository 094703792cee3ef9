"""Bring the index up to date: crawl, compare with the catalogue, read what changed, commit.

`indexer.update_session` does the writing and says how it survives a kill.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from indexer.catalogue import Catalogue, KnownFile
from indexer.catalogue_writes import note_scan, note_update
from indexer.changes import Survey, compare
from indexer.crawl import Crawl
from indexer.documents import FileEntry, Skipped, display_path
from indexer.errors import IndexDamaged, LockedError
from indexer.extract.pool import WorkerPool
from indexer.ignore import IGNORE_FILES
from indexer.index import Index, lock_holder
from indexer.prepare import PreparedFile
from indexer.progress import Meter, OnProgress, Summary
from indexer.roots import is_below
from indexer.update_session import Job, Moves, Session, disk_errors

Known = Callable[[], dict[str, KnownFile]]


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

    def scan(self, *, retry_failures: bool = False, optimize: bool = False, note: str = "") -> Summary:
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
                return Summary(stopped=True, generation=self.job.catalogue.generation)
        self.folders = crawl.folders
        summary = self._apply(survey, self.job.catalogue.known, meter, retry_failures=retry_failures, optimize=optimize)
        note_scan(self.job.catalogue, roots=crawl.roots, skipped=skipped, by_rule=crawl.by_rule)
        note_update(self.job.catalogue, self.job.catalogue.suspects())
        return msgspec.structs.replace(summary, n_skipped=crawl.by_rule.total())

    def update(self, paths: Iterable[str]) -> Summary:
        """Look only at `paths`, each a file or a folder with all that it holds; they may be gone.

        A changed ignore file stands for its folder. Paths that the rules pass over cost a look and nothing else.
        Raises what `scan` raises.
        """
        wanted = outermost(os.path.dirname(path) if path.endswith(IGNORE_FILES) else path for path in paths)
        crawl = Crawl(self.job.roots, self.job.rules)
        survey = Survey(unread=crawl.unread, empty=crawl.empty)
        for path in wanted:
            survey.files.update((item.path, item) for item in crawl.below(path) if isinstance(item, FileEntry))

        def known() -> dict[str, KnownFile]:
            return {path: file for one in wanted for path, file in self.job.catalogue.known(one).items()}

        self.folders = crawl.folders
        summary = self._apply(survey, known, Meter(self.on_progress, generation=self.job.catalogue.generation))
        if summary.changed_anything or set(wanted) & set(self.job.catalogue.suspects()):
            note_update(self.job.catalogue, wanted)
        return summary

    def _apply(
        self, survey: Survey, known: Known, meter: Meter, *, retry_failures: bool = False, optimize: bool = False
    ) -> Summary:
        job = self.job
        index = Index.open(job.index)
        plan = compare(survey, known(), reader=job.reader, retry_failures=retry_failures)
        if plan or optimize or index.generation != job.catalogue.generation:
            with disk_errors(job.index), index.writer(job.holder) as writer:
                session = Session(job, self.pool, writer, meter)
                session.reconcile()
                # Another process may have been at work before the lock was ours.
                plan = compare(survey, known(), reader=job.reader, retry_failures=retry_failures)
                summary = session.run(plan, stop=self.stop, optimize=optimize)
            if session.moves:
                self.on_moves(session.moves)
        else:
            summary = Summary(n_unchanged=plan.n_unchanged, generation=index.generation)
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
