"""Reports of an update while it runs, and its summary."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from console.printable import display_path

Phase = Literal["scanning", "indexing", "merging", "meaning", "recognising", "idle", "watching", "polling"]

REPORT_SECONDS = 0.1
"""between two reports of the same phase"""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where an update stands; also one line of JSON from the background process."""

    phase: Phase
    what: str = ""
    """what is recognised in phase "recognising": "text in pictures" or another kind"""
    n_done: int = 0
    """files that are up to date, those included that had not changed; in phase "meaning" documents with vectors,
    in phase "recognising" files that were tried in this run"""
    n_total: int = 0
    bytes_done: int = 0
    """of the files that are read in this run"""
    bytes_total: int = 0
    rate_mb_s: float = 0.0
    """10^6 bytes per second since the run began"""
    eta_seconds: float | None = None
    """None until it can be estimated to a factor of about two"""
    current: str = ""
    """the file that was read last, fit to be printed"""
    last_error: str = ""
    n_failed: int = 0
    generation: int = 0
    """of the index; a new one means that there is something new to find"""
    note: str = ""
    """one line for a person that should stay in sight: polling instead of watching, a rebuilt index"""


class UpdateSummary(msgspec.Struct, frozen=True, kw_only=True):
    n_new: int = 0
    n_changed: int = 0
    n_moved: int = 0
    n_removed: int = 0
    n_failed: int = 0
    n_unchanged: int = 0
    n_documents: int = 0
    """added to the index"""
    n_skipped: int = 0
    n_bytes: int = 0
    seconds: float = 0.0
    generation: int = 0
    stopped: bool = False
    """ended early; what was done is kept, and the next run goes on from there"""
    unavailable: tuple[str, ...] = ()
    """a line for each folder whose files are out of sight and kept, fit to be printed"""
    note: str = ""

    @property
    def changed_anything(self) -> bool:
        return bool(self.n_new or self.n_changed or self.n_moved or self.n_removed or self.n_failed)


OnProgress = Callable[[Progress], None]


class Meter:
    """Counts the work of one update and reports it, at most ten times a second."""

    def __init__(self, on_progress: OnProgress, *, generation: int, note: str = "") -> None:
        self._on_progress = on_progress
        self._made = time.monotonic()
        self._began: float | None = None
        """when the first file was about to be read"""
        self._first: float | None = None
        """when it had been read: the time that workers take to start says nothing about what is left"""
        self._n_before = 0
        """files that were up to date before"""
        self._reported = 0.0
        self.now = Progress(phase="idle", generation=generation, note=note)

    def begin(self, phase: str, **values: int | str) -> None:
        """Enter `phase`, with new totals, and report it at once."""
        if phase == "indexing" and self._began is None:
            self._began = time.monotonic()
            self._n_before = int(values.get("n_done", 0))
        self.report(phase=phase, **values)

    def count(self, path: str, size: int, error: str = "") -> None:
        """One more file of `size` bytes was read, or failed with `error`."""
        now, moment = self.now, time.monotonic()
        bytes_done = now.bytes_done + size
        seconds = max(moment - (self._began or 0.0), 1e-3)
        self._first = moment if self._first is None else self._first
        files = WorkDone(now.n_done + 1 - self._n_before, now.n_total - self._n_before)
        shown = display_path(path)
        self.now = msgspec.structs.replace(
            now,
            n_done=now.n_done + 1,
            bytes_done=bytes_done,
            rate_mb_s=bytes_done / 1e6 / seconds,
            eta_seconds=remaining_seconds(moment - self._first, files, WorkDone(bytes_done, now.bytes_total)),
            current=shown,
            last_error=f"{shown}: {error}" if error else now.last_error,
            n_failed=now.n_failed + bool(error),
        )
        if moment - self._reported >= REPORT_SECONDS:
            self.report()

    def seen(self, n_files: int) -> None:
        """The scan has found `n_files` up to now."""
        if time.monotonic() - self._reported >= REPORT_SECONDS:
            self.report(n_total=n_files)

    @property
    def seconds(self) -> float:
        """Seconds since this meter was made."""
        return time.monotonic() - self._made

    def report(self, **changes: int | str | float | None) -> None:
        """Report now, with `changes`."""
        self.now = msgspec.structs.replace(self.now, **changes)
        self._reported = time.monotonic()
        self._on_progress(self.now)


MEASURED_SECONDS, MEASURED_FILES = 2.0, 8
"""of work before the time left is estimated at all"""
AGREEMENT, SLACK_SECONDS = 3.0, 3.0
"""The estimates by files and by bytes may differ by this factor plus these seconds; beyond, none is given."""


class WorkDone(msgspec.Struct, frozen=True):
    """How much of the work is done, and how much there is in total."""

    done: int
    total: int

    def left(self, seconds: float) -> float:
        """The time for the rest at the speed of what was done in `seconds`; infinity when nothing was."""
        return seconds * max(self.total - self.done, 0) / self.done if self.done > 0 else math.inf


def remaining_seconds(seconds: float, files: WorkDone, n_bytes: WorkDone) -> float | None:
    """sqrt(left by files * left by bytes), `seconds` after the first file was done; None while they disagree.

    Files come in no order of size: each estimate alone may be wrong a hundredfold, mostly in opposite directions.
    """
    if seconds < MEASURED_SECONDS or files.done < MEASURED_FILES:
        return None
    low, high = sorted((files.left(seconds), n_bytes.left(seconds)))
    return math.sqrt(low * high) if high <= AGREEMENT * low + SLACK_SECONDS else None
