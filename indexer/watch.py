"""Follow the changes of the indexed folders as they happen; where the system cannot say, look every few minutes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from indexer.errors import IndexDamaged, IndexerError, LockedError
from indexer.notifier import CannotWatch, FolderVanished, Notifier
from indexer.pacing import Pacer
from indexer.progress import Progress
from indexer.roots import is_below
from indexer.update import Updater

SAFETY_SECONDS = 3600.0
"""a whole scan, however quiet it was: some changes go unreported (network drives, a full event queue)"""
LOOK_SECONDS = 60.0
"""between two looks at what searches found gone, and at the battery"""
PAUSED_SECONDS = 20.0
LOCKED_SECONDS = 2.0
REFUSED_SECONDS = 60.0
"""before trying again when the index cannot be written, for the disk is full"""
MANY_PATHS = 2_000
"""with more changes than this at once, a whole scan is quicker"""
FIRST_TROUBLE, LONGEST_TROUBLE = 0.5, 60.0
"""seconds before watching again after a report that cannot be used; doubled while that goes on"""


@dataclass(slots=True)
class Follower:
    """Keeps one index up to date until it is stopped."""

    updater: Updater
    scan_seconds: float
    """between whole scans where changes cannot be watched"""
    on_progress: Callable[[Progress], None]
    stop: threading.Event
    may_work: Callable[[], str] = lambda: ""
    """says why to pause now ("on battery"), or "" to go on"""
    on_quiet: Callable[[], None] = lambda: None
    """called after some minutes without work"""
    note: str = ""
    """to show with the first scan"""
    _folders: set[str] = field(default_factory=set)
    _pacer: Pacer = field(default_factory=Pacer)
    _notifier: Notifier | None = None
    _late: list[str] = field(default_factory=list)
    """what former watches had seen when new ones took their place"""
    _note: str = ""
    _cannot_watch: bool = False
    _trouble: float = FIRST_TROUBLE
    _last: Progress = field(default_factory=lambda: Progress(phase="idle"))
    _scanned: float = 0.0
    _worked: float = 0.0

    def run(self) -> None:
        """Scan, then follow changes until `stop` is set; waits out every IndexerError, and raises IndexDamaged."""
        self.updater.on_progress, self.updater.stop = self._relay, self.stop
        try:
            self._scan(self.note)
            self._watch_anew()
            self._scan()  # what changed between the first scan and the first watch
            while not self.stop.is_set():
                self._pause_if_asked()
                self._turn()
        finally:
            self._close()

    def _turn(self) -> None:
        """Wait for changes and work them off."""
        changed = self._wait()
        now = time.monotonic()
        if self.stop.is_set():
            return
        if changed is None:
            self.stop.wait(self._trouble)
            self._trouble = min(2 * self._trouble, LONGEST_TROUBLE)
            self._watch_anew()
            self._scan()
            return
        self._trouble = FIRST_TROUBLE
        if len(changed) > MANY_PATHS or now - self._scanned >= self._scan_pause():
            self._scan()
        else:
            self._update([*self._pacer.changed(changed, now), *self.updater.job.catalogue.suspects()])
        if now - self._worked > LOOK_SECONDS * 5:
            self.on_quiet()

    def _scan_pause(self) -> float:
        watching = self._notifier is not None and not self._notifier.blind
        return SAFETY_SECONDS if watching else self.scan_seconds

    def _wait(self) -> list[str] | None:
        if self._late:
            late, self._late = self._late, []
            return late
        now = time.monotonic()
        until_scan = self._scanned + self._scan_pause() - now
        due = self._pacer.seconds_to_next(now)
        seconds = max(min(until_scan, LOOK_SECONDS, LOOK_SECONDS if due is None else due), 0.0)
        if self._notifier is not None:
            return self._notifier.wait(seconds, self.stop)
        self.stop.wait(seconds)
        return []

    def _scan(self, note: str = "") -> None:
        try:
            summary = self.updater.scan(note=note)
        except IndexDamaged:
            raise
        except IndexerError as error:
            self._postpone(error)
            return
        self._scanned = time.monotonic()
        if summary.changed_anything:
            self._worked = self._scanned
        fresh = set(self.updater.folders)
        if fresh != self._folders and not summary.stopped:
            self._folders = fresh
            if self._notifier is not None:
                self._watch_anew()
        self._say()

    def _update(self, paths: list[str]) -> None:
        """Update `paths`; folders that were found are watched from then on, and looked at once more."""
        while paths and not self.stop.is_set():
            try:
                summary = self.updater.update(paths)
            except IndexDamaged:
                raise
            except IndexerError as error:
                self._pacer.again(paths, time.monotonic())
                self._postpone(error)
                return
            if summary.changed_anything:
                self._worked = time.monotonic()
                self._say()
            gone = {path for path in paths if path in self._folders and not os.path.isdir(path)}
            if gone:
                self._folders = {one for one in self._folders if not any(is_below(one, path) for path in gone)}
            paths = [folder for folder in self.updater.folders if folder not in self._folders]
            if paths:
                self._folders.update(paths)
                self._watch_anew()

    def _postpone(self, error: IndexerError) -> None:
        """Somebody else is writing, or the disk is full: say so, and scan again after a pause."""
        pause = LOCKED_SECONDS if isinstance(error, LockedError) else REFUSED_SECONDS
        self._say(phase="idle", note=f"{error}; trying again soon")
        self.stop.wait(pause)
        self._scanned = time.monotonic() - self._scan_pause()

    def _watch_anew(self) -> None:
        """Watch the folders known now; the old watches end only when the new ones are there, and tell what they saw."""
        old, self._notifier = self._notifier, None
        try:
            self._notifier = self._new_notifier()
            self._note, self._cannot_watch = "", False
        except CannotWatch as error:
            self._cannot_watch = True
            minutes = self.scan_seconds / 60
            self._note = f"changes cannot be watched ({error}); looking for them every {minutes:g} minutes instead"
        finally:
            if old is not None:
                self._hear_out(old)
        self._say()

    def _hear_out(self, old: Notifier) -> None:
        """Keep what the old watches have not told yet: a folder may have been moved while the new ones were made."""
        seen = old.wait(0.0, self.stop)
        old.close()
        if seen is None:
            self._scanned = time.monotonic() - self._scan_pause()
        else:
            self._late += seen

    def _new_notifier(self) -> Notifier:
        for _ in range(5):
            try:
                return Notifier(self._folders, self.updater.job.roots)
            except FolderVanished:
                continue
        raise CannotWatch("folders come and go too fast")

    def _pause_if_asked(self) -> None:
        why = self.may_work()
        if not why:
            return
        self._close()
        self.on_quiet()
        while why and not self.stop.is_set():
            self._say(phase="idle", note=f"paused: {why}")
            self.stop.wait(PAUSED_SECONDS)
            why = self.may_work()
        self._watch_anew()
        self._scan()

    def _close(self) -> None:
        if self._notifier is not None:
            self._notifier.close()
            self._notifier = None

    def _relay(self, progress: Progress) -> None:
        """Pass on a report of the updater, with our own note where it has none; its end is not ours."""
        self._last = progress
        if progress.phase != "idle":
            self.on_progress(msgspec.structs.replace(progress, note=progress.note or self._note))

    def _say(self, *, phase: str = "", note: str = "") -> None:
        phase = phase or ("watching" if self._notifier else "polling" if self._cannot_watch else "idle")
        self.on_progress(msgspec.structs.replace(self._last, phase=phase, note=note or self._last.note or self._note))
