"""Follow changes in the indexed folders as they happen; where the system cannot report them, scan every few minutes.

A file that keeps changing is read at once the first time, then after growing pauses. A log that grows all day must
not keep the machine busy; a note saved every few seconds should be found soon: larger files may pause longer.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from indexer.errors import IndexDamaged, IndexerError, LockedError
from indexer.files.crawl import is_below
from indexer.progress import Progress, UpdateSummary
from indexer.update import Updater, outermost

DEBOUNCE_MS = 400
"""successive changes are collected for at most this long and reported together"""
REST_SECONDS = 0.5
"""between two checks for a request, where nothing can be watched"""
STEP_MS = 100
"""between two checks of the collected changes: the only cost of watching while nothing happens"""
ONE_WATCH_A_FOLDER = sys.platform == "linux"


class CannotWatch(Exception):
    """The system's limit for watches is reached, or there is nothing to watch with; the message says which."""


class FolderVanished(Exception):
    """A folder existed a moment ago; the change of its parent will be reported soon."""


class When(threading.Event):
    """Set while a condition holds."""

    def __init__(self, condition: Callable[[], bool]) -> None:
        super().__init__()
        self._condition = condition

    def is_set(self) -> bool:
        return self._condition()


class Notifier:
    """Reports changes in `folders`: one non-recursive watch for each on Linux, so that ignored ones cost nothing."""

    def __init__(self, folders: Iterable[str], roots: Iterable[str]) -> None:
        if os.environ.get("FOLTR_FORCE_POLL"):
            raise CannotWatch("FOLTR_FORCE_POLL is set")
        wanted = list(folders if ONE_WATCH_A_FOLDER else roots)
        targets = [one for one in wanted if one.encode("utf-8", "replace") == os.fsencode(one) and Path(one).is_dir()]
        self.blind = len(targets) < len(wanted)
        """some folders cannot be watched: their names are not UTF-8, or they no longer exist"""
        try:
            # If told to ignore permission errors, this class also ignores the limit on the number of watches.
            self._notify = RustNotify(targets, False, False, 0, not ONE_WATCH_A_FOLDER, False)
        except (OSError, WatchfilesRustInternalError) as error:
            if isinstance(error, (FileNotFoundError, PermissionError)):
                raise FolderVanished(str(error)) from error
            message = str(error).split(" about [", maxsplit=1)[0]  # what follows is for debugging
            raise CannotWatch(message.rstrip(".").lower()) from error

    def wait(self, seconds: float, stop: threading.Event) -> list[str] | None:
        """The paths that changed, [] when none did within `seconds`; None when changes were missed: scan everything."""
        try:
            found = self._notify.watch(DEBOUNCE_MS, STEP_MS, max(int(seconds * 1000), 1), stop)
        except WatchfilesRustInternalError:  # e.g. a name that is not UTF-8; the error never says which
            return None
        if found == "signal":  # the notifier swallowed a KeyboardInterrupt
            stop.set()
        return [path for _, path in found] if isinstance(found, set) else []

    def close(self) -> None:
        self._notify.close()


def folder_at(path: str) -> tuple[int, int] | None:
    """The device and inode of what is at `path` now; None for nothing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


FIRST_PAUSE = 2.0
"""seconds after the first reading"""
LONGEST_PAUSE = 120.0
SECONDS_PER_MEGABYTE = 10.0
CALM = 4.0
"""a file unchanged for this many of its pauses counts as new again"""


class _Pace(msgspec.Struct):
    ready: float
    """when it may be read again"""
    pause: float
    waiting: bool = False
    """it changed during its pause"""


class Pacer:
    """Tells which of the changed paths to read now; times are seconds of one clock."""

    def __init__(self) -> None:
        self._paces: dict[str, _Pace] = {}

    def changed(self, paths: Iterable[str], now: float) -> list[str]:
        """Take note of changes; returns the paths to read now, those whose pause is over included."""
        due = self.due(now)
        for path in paths:
            pace = self._paces.get(path)
            if pace is None or not os.path.lexists(path):
                self._paces[path] = _Pace(now + FIRST_PAUSE, FIRST_PAUSE)
                due.append(path)
            elif now >= pace.ready:
                self._begin_pause(path, pace, now)
                due.append(path)
            else:
                pace.waiting = True
        return list(dict.fromkeys(due))

    def due(self, now: float) -> list[str]:
        """The waiting paths whose pause is over; paths long unchanged are forgotten."""
        for path in [path for path, pace in self._paces.items() if now > pace.ready + CALM * pace.pause]:
            if not self._paces[path].waiting:
                del self._paces[path]
        due = [path for path, pace in self._paces.items() if pace.waiting and now >= pace.ready]
        for path in due:
            self._begin_pause(path, self._paces[path], now)
        return due

    def again(self, paths: Iterable[str], now: float) -> None:
        """Paths that could not be read now: let them wait for a first pause."""
        for path in paths:
            self._paces[path] = _Pace(now + FIRST_PAUSE, FIRST_PAUSE, waiting=True)

    def seconds_to_next(self, now: float) -> float | None:
        """Seconds until the next waiting path is due; None when none waits."""
        return min((max(pace.ready - now, 0.0) for pace in self._paces.values() if pace.waiting), default=None)

    def _begin_pause(self, path: str, pace: _Pace, now: float) -> None:
        pace.pause = min(2 * pace.pause, longest_pause(path))
        pace.ready, pace.waiting = now + pace.pause, False


def longest_pause(path: str) -> float:
    """The most seconds that a change of `path` may wait, by its size."""
    try:
        size = os.lstat(path).st_size
    except OSError:
        return FIRST_PAUSE
    return min(FIRST_PAUSE + SECONDS_PER_MEGABYTE * size / 1e6, LONGEST_PAUSE)


SAFETY_SECONDS = 3600.0
"""between whole scans, even if nothing was reported: some changes are not (network drives, a full event queue)"""
LOOK_SECONDS = 60.0
"""between two checks of the battery and of files that searches found missing"""
PAUSED_SECONDS = 20.0
LOCKED_SECONDS = 2.0
REFUSED_SECONDS = 60.0
"""before trying again when the index cannot be written, as on a full disk"""
MANY_PATHS = 2_000
"""with more changes than this at once, a whole scan is quicker"""
FIRST_TROUBLE, LONGEST_TROUBLE = 0.5, 60.0
"""seconds before watching again after a report that cannot be used; doubled while that goes on"""

Scan = Callable[[threading.Event], UpdateSummary]


class Work:
    """Hooks for what else is done while an index is kept up to date; each does nothing here. For one thread."""

    def report(self, progress: Progress) -> None:
        """Show how far the update has come."""

    def why_to_pause(self) -> str:
        """ "on battery", or "" to go on."""
        return ""

    def do_a_little(self) -> bool:
        """Do some of the work that can wait for a quiet moment; True while more is left."""
        return False

    def rest(self) -> None:
        """Release memory and other resources, after some minutes without work."""

    def folders(self) -> tuple[str, ...] | None:
        """The folders to follow as now chosen, asked for before each scan; None to keep the previous ones."""
        return None

    def is_chosen_anew(self) -> bool:
        """Whether `folders` may have changed since it was last called; asked ten times a second."""
        return False

    def is_asked(self) -> bool:
        """Whether somebody waits for a whole scan."""
        return False

    def answer(self, scan: Scan) -> None:
        """Between two turns: scan for those who wait; the event passed to `scan` stops it."""

    def decline(self) -> None:
        """Turn away those who wait for a scan, while work is paused."""


class Follower(msgspec.Struct):
    """Keeps one index up to date until it is stopped."""

    updater: Updater
    work: Work
    scan_seconds: float
    """between whole scans where changes cannot be watched"""
    stop: threading.Event
    note: str = ""
    """to show with the first scan"""
    _folders: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    """watched path -> device and inode of the folder there: another folder that takes its place is not watched"""
    _roots: list[tuple[int, int] | None] = msgspec.field(default_factory=list)
    """device and inode of each root at the last whole scan; None for a missing one"""
    _pacer: Pacer = msgspec.field(default_factory=Pacer)
    _notifier: Notifier | None = None
    _late: list[str] = msgspec.field(default_factory=list)
    """changes that the previous watches had seen when new ones replaced them"""
    _note: str = ""
    _cannot_watch: bool = False
    _trouble: float = FIRST_TROUBLE
    _last: Progress = msgspec.field(default_factory=lambda: Progress(phase="idle"))
    _scanned: float = 0.0
    _wiped: float = msgspec.field(default_factory=time.monotonic)
    """when everything deleted was last wiped, or when this object was made"""
    _worked: float = 0.0
    _more_idle_work: bool = True
    """whether to go on with idle work at once, as at the beginning; else when nothing changes, or after LOOK_SECONDS"""
    _idled: float = 0.0

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
        """Wait for changes and process them."""
        changed = self._wait()
        now = time.monotonic()
        if self.stop.is_set():
            return
        if self.work.is_asked() and changed is not None:
            self._scan_soon()  # changes reported until now will not be reported again
            self.work.answer(self._scan_for)
            return
        if changed is None:
            self.stop.wait(self._trouble)
            self._trouble = min(2 * self._trouble, LONGEST_TROUBLE)
            self._watch_anew()
            self._scan()
            return
        self._trouble = FIRST_TROUBLE
        is_due = now - self._scanned >= self._scan_pause() or self._is_time_to_wipe() or self._roots != self._at_roots()
        if is_due or len(changed) > MANY_PATHS or self.work.is_chosen_anew():
            self._scan()
        else:
            with self._postponing():
                paths = [*self._pacer.changed(changed, now), *self.updater.job.catalogue.suspects()]
                self._doubt(path for path in paths if ONE_WATCH_A_FOLDER and path in self._folders)
                self._update(paths)
        if not changed or now - self._idled >= LOOK_SECONDS:
            self._work_while_idle()
        if now - self._worked > LOOK_SECONDS * 5:
            self.work.rest()

    def _at_roots(self) -> list[tuple[int, int] | None]:
        """Asked each time: no event tells that a root is back, as its watch went with it and its parent has none."""
        return [folder_at(root) for root in self.updater.job.roots]

    def _work_while_idle(self) -> None:
        before, self._more_idle_work, self._idled = self._more_idle_work, False, time.monotonic()
        with self._postponing():
            self._more_idle_work = self.work.do_a_little()
            if before and not self._more_idle_work:
                self._say()

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
        if self._more_idle_work:
            seconds = 0.0
        if self._notifier is not None:
            return self._notifier.wait(seconds, When(self._is_wanted))
        self._rest(seconds, self._is_wanted)
        return []

    def _is_called(self) -> bool:
        return self.stop.is_set() or self.work.is_asked()

    def _is_wanted(self) -> bool:
        return self._is_called() or self.work.is_chosen_anew()

    def _rest(self, seconds: float, until: Callable[[], bool]) -> None:
        """Wait for `seconds`, or less if `until` becomes true."""
        end = time.monotonic() + seconds
        while not until() and (left := end - time.monotonic()) > 0:
            self.stop.wait(min(left, REST_SECONDS))

    def _scan_for(self, stop: threading.Event) -> UpdateSummary:
        """Scan now for somebody who may stop it; raises what a scan raises."""
        self.updater.stop = When(lambda: self.stop.is_set() or stop.is_set())
        try:
            summary = self._scan_all()
        finally:
            self.updater.stop = self.stop
        if not summary.stopped:
            self._follow(summary)
        return summary

    def _scan_soon(self) -> None:
        self._scanned = time.monotonic() - self._scan_pause()

    def _scan_all(self, note: str = "") -> UpdateSummary:
        if (folders := self.work.folders()) is not None:
            self.updater.job = msgspec.structs.replace(self.updater.job, roots=folders)
        wipe_all, self._roots = self._is_time_to_wipe(), self._at_roots()
        summary = self.updater.scan(note=note, wipe_all=wipe_all)
        if wipe_all:
            self._wiped = time.monotonic()
        return summary

    def _is_time_to_wipe(self) -> bool:
        return time.monotonic() - self._wiped >= SAFETY_SECONDS

    def _scan(self, note: str = "") -> None:
        with self._postponing():
            self._follow(self._scan_all(note))

    def _follow(self, summary: UpdateSummary) -> None:
        """Watch the folders that a scan found."""
        self._scanned = time.monotonic()
        if summary.changed_anything:
            self._worked = self._scanned
        fresh = self.updater.folders
        if not summary.stopped and (self._cannot_watch or fresh != self._folders):
            new, self._folders = [folder for folder in fresh if folder not in self._folders], fresh
            if self._notifier is not None or self._cannot_watch:
                self._watch_anew()
                self._update(new)
        self._say()

    def _doubt(self, changed: Iterable[str]) -> None:
        """Forget watched folders at or below the changed paths: others may be there now, to be treated as new."""
        places = outermost(changed)
        self._folders = {
            folder: at for folder, at in self._folders.items() if not any(is_below(folder, one) for one in places)
        }

    def _update(self, paths: list[str]) -> None:
        """Update `paths`; newly found folders are watched from then on, and then looked at once more."""
        while paths and not self.stop.is_set():
            try:
                summary = self.updater.update(paths)
            except IndexerError:
                self._pacer.again(paths, time.monotonic())
                raise
            if summary.unavailable:
                self._scan_soon()  # which notes what is away
            if summary.changed_anything:
                self._worked = time.monotonic()
                self._say()
            paths = [folder for folder in self.updater.folders if folder not in self._folders]
            if paths:
                self._folders = {**self.updater.folders, **self._folders}
                self._watch_anew()

    @contextmanager
    def _postponing(self) -> Iterator[None]:
        """If another process is writing or the disk is full, say so, and scan again after a pause."""
        try:
            yield
        except IndexDamaged:
            raise
        except IndexerError as error:
            self._say(phase="idle", note=f"{error}; trying again soon")
            self._rest(LOCKED_SECONDS if isinstance(error, LockedError) else REFUSED_SECONDS, self._is_called)
            self._scan_soon()

    def _watch_anew(self) -> None:
        """Watch the folders known now; the old watches end only once the new ones work, and report what they saw."""
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
        """Keep what the old watches have yet to report: a folder may have been moved while the new ones were made."""
        seen = old.wait(0.0, self.stop)
        old.close()
        if seen is None:
            self._scan_soon()
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
        why = self.work.why_to_pause()
        if not why:
            return
        self._close()
        self.work.rest()
        while why and not self.stop.is_set():
            self._say(phase="idle", note=f"paused: {why}")
            self.work.decline()
            self._rest(PAUSED_SECONDS, self._is_called)
            why = self.work.why_to_pause()
        self._watch_anew()
        self._scan()

    def _close(self) -> None:
        if self._notifier is not None:
            self._notifier.close()
            self._notifier = None

    def _relay(self, progress: Progress) -> None:
        """Pass on a report of the updater, with our own note where it has none; an update's end is not reported."""
        self._last = progress
        if progress.phase != "idle":
            self.work.report(msgspec.structs.replace(progress, note=progress.note or self._note))

    def _say(self, *, phase: str = "", note: str = "") -> None:
        phase = phase or ("watching" if self._notifier else "polling" if self._cannot_watch else "idle")
        self.work.report(msgspec.structs.replace(self._last, phase=phase, note=note or self._last.note or self._note))
