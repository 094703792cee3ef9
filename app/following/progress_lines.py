"""How far indexing is, on stderr: a live line on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, TextIO

from console.wording import columns, count, fit, fit_left

if TYPE_CHECKING:
    from io import TextIOBase

    from indexer.progress import Progress, UpdateSummary


PLAIN_SECONDS = 5.0
"""seconds between two lines where there is no terminal, as in a log"""
LIVE_SECONDS = 0.1
MARGIN = 4
"""columns left free at the right, so that the ^C that a terminal echoes breaks no line"""
_ERASE_REST, _ERASE_BELOW, _UP = "\x1b[K", "\x1b[J", "\x1b[1A"


class ProgressWriter:
    """Writes progress as it comes; a context manager that leaves a clean line behind."""

    def __init__(self, stream: TextIO | TextIOBase | None = None, *, quiet: bool = False, columns: int = 0) -> None:
        """`columns` of the terminal; 0: as many as this process's own terminal has."""
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._quiet, self._columns = quiet, columns
        self._written = 0.0
        self._phase = ""
        self._n_lines = 0
        self._told = ""

    def __enter__(self) -> ProgressWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._erase()

    def show(self, progress: Progress) -> None:
        """Show one report; one that comes too soon after another is skipped, unless it begins a new phase."""
        if self._quiet:
            return
        if progress.note and progress.note != self._told:
            self._told = progress.note
            self._erase()
            print(f"foltr-search: {progress.note}", file=self._stream, flush=True)
        now = time.monotonic()
        pause = LIVE_SECONDS if self._live else PLAIN_SECONDS
        if progress.phase == self._phase and now - self._written < pause:
            return
        self._phase, self._written = progress.phase, now
        if self._live:
            self._redraw(progress)
        elif progress.phase != "idle" and progress.n_total:
            parts = [describe(progress), progress.current, _last_error(progress)]
            print("; ".join(part for part in parts if part), file=self._stream, flush=True)

    def _redraw(self, progress: Progress) -> None:
        """One line of numbers with the current file, and below it the last error if there was one."""
        width = (self._columns or shutil.get_terminal_size().columns) - MARGIN
        numbers = fit(describe(progress), width)
        room = width - columns(numbers) - 2
        lines = [f"{numbers}  {fit_left(progress.current, room)}" if progress.current and room > 9 else numbers]
        if progress.last_error:
            lines.append(fit(_last_error(progress), width))
        # Over the old text and in one go, or it would flicker.
        self._stream.write(self._back() + "\n".join(line + _ERASE_REST for line in lines) + _ERASE_BELOW)
        self._stream.flush()
        self._n_lines = len(lines)

    def _erase(self) -> None:
        if self._n_lines:
            self._stream.write(self._back() + _ERASE_BELOW)
            self._stream.flush()
            self._n_lines = 0

    def _back(self) -> str:
        return "\r" + _UP * max(self._n_lines - 1, 0)


def describe(progress: Progress) -> str:
    """The numbers of one report on one line."""
    if progress.phase == "scanning":
        return f"scanning: {count(progress.n_total, 'file')}"
    if progress.phase == "meaning":
        left = f", {duration(progress.eta_seconds)} left" if progress.eta_seconds is not None else ""
        of_all = f"{progress.n_done:,} of {count(progress.n_total, 'document')}"
        return f"words can be searched; reading for meaning: {of_all}{left}"
    if progress.phase == "recognising":
        return f"recognising {progress.what}: {progress.n_done:,} of {progress.n_total:,}"
    if progress.phase != "indexing":
        return progress.phase
    parts = [
        f"indexing: {progress.n_done:,} of {count(progress.n_total, 'file')}",
        f"{progress.bytes_done / 1e6:,.0f} of {progress.bytes_total / 1e6:,.0f} MB",
        f"{progress.rate_mb_s:.1f} MB/s",
    ]
    if progress.eta_seconds is not None:
        parts.append(f"{duration(progress.eta_seconds)} left")
    if progress.n_failed:
        parts.append(f"{progress.n_failed:,} failed")
    return ", ".join(parts)


MAX_UNAVAILABLE = 5
"""most unavailable folders that are named after an update"""


def summarise(summary: UpdateSummary) -> list[str]:
    """What an update did, in one line, and a line for each further thing worth knowing."""
    counts = {
        "new": summary.n_new,
        "changed": summary.n_changed,
        "moved": summary.n_moved,
        "removed": summary.n_removed,
        "failed": summary.n_failed,
        "unchanged": summary.n_unchanged,
    }
    said = ", ".join(f"{n:,} {what}" for what, n in counts.items() if n) or "nothing to index"
    lines = [f"files: {said} ({summary.n_bytes / 1e6:,.1f} MB, {duration(summary.seconds)})"]
    if summary.n_failed:
        lines.append("`foltr-search status --failures` lists what could not be read")
    lines += summary.unavailable[:MAX_UNAVAILABLE]
    if others := summary.unavailable[MAX_UNAVAILABLE:]:
        lines.append(f"and {len(others):,} more, which `foltr-search status` lists")
    if summary.stopped:
        lines.append("stopped early; what was done is kept, and the next run goes on from there")
    return lines


def duration(seconds: float) -> str:
    """Seconds for a person: "0.4 s", "12 s", "3:05", "1:02:03"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _last_error(progress: Progress) -> str:
    return f"last error: {progress.last_error}" if progress.last_error else ""
