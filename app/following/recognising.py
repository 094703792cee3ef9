"""Recognising text in pictures and recordings with the user's settings: after everything else, one file after another.

Each text is stored under its file's content before the file is indexed again with it, so that a kill loses only the
file in hand, and a rebuilt index finds the texts already made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

import msgspec

from app.paths import Paths
from app.settings import OcrSettings, SpeechSettings
from console.printable import display_path
from indexer.confined.pool import WorkerPool
from indexer.documents import FileEntry
from indexer.errors import ExtractionError
from indexer.extract.media import recognised
from indexer.extract.media.recognition import Recognised, Recogniser, RecognitionOrder, choose, recognise_file
from indexer.extract.source import Limits
from indexer.progress import OnProgress, Phase, Progress
from indexer.storage.catalogue import Catalogue
from indexer.storage.catalogue_writing import read_anew

MEMORY_MB = 4_096
"""MB of address space that a file may add; rapidocr uses up to 1.2 GB of it, Whisper 0.9"""
STRETCH_SECONDS = 600.0
"""of processor time for a stretch of a recording: as long as the stretch lasts"""
READ_TOGETHER = 16
"""files with new texts that are indexed together"""
STILL_NEW_SECONDS = 60.0
"""most that a text waits for others, to be indexed with them"""


def medium_of(chosen: OcrSettings | SpeechSettings) -> recognised.Medium:
    """The medium that these settings are for."""
    return recognised.PICTURES if isinstance(chosen, OcrSettings) else recognised.RECORDINGS


def engine_for(chosen: OcrSettings | SpeechSettings) -> tuple[Recogniser | None, str]:
    """The engine that these settings want, or None and why there is none."""
    if isinstance(chosen, OcrSettings):
        return choose(chosen.engine, chosen.languages)
    from indexer.extract.media import speech  # few have it

    return speech.choose()


_Outcome = tuple[FileEntry, Recognised | ExtractionError]


class Recognising:
    """Recognises text step by step; nothing where there is no engine. For one thread."""

    def __init__(
        self, chosen: OcrSettings | SpeechSettings, paths: Paths, catalogue: Catalogue, on_progress: OnProgress, *,
        may_work: Callable[[], str] = lambda: "", may_be_suspended: bool = False,
    ) -> None:  # fmt: skip
        """`may_work` says why to pause now, or ""; `may_be_suspended` allows `suspend`."""
        self.medium = medium_of(chosen)
        if isinstance(chosen, OcrSettings):
            self._section, self._seconds, most = "ocr", chosen.seconds_per_file, chosen.max_pages
        else:
            self._section, self._seconds, most = "speech", STRETCH_SECONDS, chosen.max_minutes
        self._chosen, self._catalogue, self._on_progress, self._may_work = chosen, catalogue, on_progress, may_work
        self._store = paths.data_dir / recognised.FILE
        engine, self.why_none = engine_for(chosen)
        self._label = engine.label if engine else ""
        self._pool: WorkerPool[Recognised] | None = None
        if engine:
            order = RecognitionOrder(engine, self._seconds, most, may_be_suspended)
            function = partial(recognise_file, order=order)
            limits = Limits(recognised=str(self._store))
            self._pool = WorkerPool(function, n_workers=1, seconds=self._seconds, memory_mb=MEMORY_MB, limits=limits)
        self._waiting: list[recognised.Unrecognised] = []
        self._seen: set[bytes] = set()
        """contents that this run has tried, or given to the index"""
        self._generation = -1
        self._now: recognised.Unrecognised | None = None
        self._outcomes: Iterator[_Outcome | None] = iter(())
        self._new: list[tuple[str, float]] = []
        self.n_done = self.n_total = self.n_texts = 0

    def step(self) -> bool:
        """Do a little of the work; True while more is left that can be done now."""
        if self._pool is None:
            return False
        if why := self._may_work():
            if self._now is None:
                self.close()
            self.suspend()
            self._report("idle", note=f"recognising {self.medium.what} waits: {why}")
            return False
        if self._now is None and not self._begin():
            more = bool(self._new)
            self.close()
            return more
        self._pool.suspend(False)
        outcome = next(self._outcomes, None)
        if outcome is not None:
            self._keep(outcome[1])
            self._report_file(outcome[0].path)
        return True

    def spent_today(self) -> str:
        """Why to wait for another day, "" while there is processor time left of this one."""
        midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        minutes = self._chosen.minutes_per_day
        if not minutes or recognised.seconds_since(self._store, midnight, self._label) < minutes * 60:
            return ""
        return f"{minutes:g} minutes of processor time were used today ({self._section}.minutes_per_day)"

    def suspend(self) -> None:
        """Leave the processor to something else until the next step; the file in hand is kept."""
        if self._pool is not None:
            self._pool.suspend()

    def close(self) -> None:
        """Have the new texts indexed, and end the process; the next step begins the file in hand again."""
        self._hand_over()
        self._outcomes, self._now, self._generation = iter(()), None, -1
        if self._pool is not None:
            self._pool.close()

    def _begin(self) -> bool:
        """Give the worker the next file; False when none waits."""
        assert self._pool is not None
        if self._catalogue.generation != self._generation:
            self._look()
        if not self._waiting:
            return False
        self._now = self._waiting.pop()
        self._seen.add(self._now.digest)
        self._outcomes = self._pool.ticks([FileEntry(self._now.path, 0, 0, 0, 0)])
        self._report_file(self._now.path)
        return True

    def _look(self) -> None:
        """Find what waits now; hand over texts that a former run stored but did not see indexed."""
        self._generation = self._catalogue.generation
        attempts = recognised.tried(self._store)
        without = recognised.without_text(self._catalogue.connection, self.medium, self._chosen.max_bytes)
        unseen = [one for one in without if one.digest not in self._seen]
        attempts = {digest: one for digest, one in attempts.items() if not one.is_begun}
        with_text = [one for one in unseen if (attempt := attempts.get(one.digest)) and attempt.has_text]
        self._seen.update(one.digest for one in with_text)
        self._note_new([one.path for one in with_text])
        self._waiting = [
            one for one in reversed(unseen)
            if (attempt := attempts.get(one.digest)) is None or (not attempt.has_text and attempt.engine != self._label)
        ]  # fmt: skip
        self.n_total = self.n_done + len(self._waiting)

    def _keep(self, found: Recognised | ExtractionError) -> None:
        """Store the outcome for the file in hand under the content that was read."""
        assert self._now is not None
        now, self._now = self._now, None
        if isinstance(found, ExtractionError):
            if found.kind == "unreadable":  # it may become readable
                self.n_done += 1
                return
            found = self._given_up(now.digest, found)
        recognised.remember(
            self._store, found.digest, engine=self._label, pages=found.pages, reason=found.left_out,
            seconds=found.seconds,
        )  # fmt: skip
        if found.left_out.startswith(recognised.BEGUN):
            self._seen.discard(now.digest)
            self._waiting.append(now)
            return
        self.n_done += 1
        if any(found.pages):
            self.n_texts += 1
            self._note_new([now.path])
        if len(self._new) >= READ_TOGETHER or (self._new and time.monotonic() - self._new[0][1] > STILL_NEW_SECONDS):
            self._hand_over()

    def _given_up(self, digest: bytes, why: ExtractionError) -> Recognised:
        """What is stored for a file that failed: the reason, and the pages found if it had been begun before."""
        seconds = self._seconds if why.kind in ("timeout", "too-slow") else 0.0
        before = recognised.recall_pages(self._store, digest)
        if before is None or not before[2].startswith(recognised.BEGUN):
            return Recognised(digest, [], str(why), seconds)
        return Recognised(digest, before[1], f"{before[2].removeprefix(recognised.BEGUN)}: {why}", seconds)

    def _note_new(self, paths: list[str]) -> None:
        self._new += [(path, time.monotonic()) for path in paths]

    def _hand_over(self) -> None:
        """Have the files with new texts read again by the process that follows changes, or the next scan."""
        if self._new:
            read_anew(self._catalogue, [path for path, _ in self._new])
            self._new = []

    def _report_file(self, path: str) -> None:
        now = {"n_done": self.n_done, "n_total": self.n_total, "current": display_path(path)}
        self._report("recognising", what=self.medium.what, **now)

    def _report(self, phase: Phase, **values: object) -> None:
        report = Progress(phase=phase, generation=self._catalogue.generation)
        self._on_progress(msgspec.structs.replace(report, **values))
