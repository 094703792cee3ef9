"""Indexing while the screen is up: `app.indexing` in the screen's words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from app.settings import Paths, Settings, index_roots, remember_root
from app.tui.engine import Folder, ProgressLine
from app.tui.wording import count, safe_line

if TYPE_CHECKING:
    from app.background import BackgroundIndexer
    from indexer.progress import Progress


class Background:
    """Starts and stops the indexing process, and words its progress."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings, self._paths = settings, paths
        self._indexer: BackgroundIndexer | None = None

    def has_index(self) -> bool:
        return bool(index_roots(self._settings, self._paths))

    def suggest(self) -> Sequence[Folder]:
        from app.folders import suggest_roots

        counts = [(one.path, one.shown_count) for one in suggest_roots()]
        return [Folder(path, f"{n} file" if n == "1" else f"{n} files") for path, n in counts]

    def start(self, folders: Sequence[str], report: Callable[[ProgressLine], None]) -> None:
        """Remember `folders`, then index all that is chosen and follow it; replaces the process that runs."""
        from app.background import BackgroundIndexer

        chosen = index_roots(self._settings, self._paths)
        for folder in folders:
            if not any(lies_in(folder, root) for root in chosen):
                remember_root(self._paths, folder)
        self.stop()
        self._indexer = BackgroundIndexer(self._paths, lambda progress: report(progress_line(progress)))
        self._indexer.start()

    def stop(self) -> None:
        indexer, self._indexer = self._indexer, None
        if indexer is not None:
            indexer.stop()


def lies_in(folder: str, root: str) -> bool:
    """Whether `folder` is `root` or below it."""
    return folder == root or folder.startswith(root.rstrip("/") + "/")


def progress_line(progress: Progress) -> ProgressLine:
    """One report as a line for the status and, while there is work, some more for the empty screen."""
    busy = progress.phase in ("scanning", "indexing", "merging")
    parts = [_phase(progress)]
    if progress.phase == "indexing":
        parts += [_rate(progress), _left(progress.eta_seconds)]
    if busy and progress.n_failed:
        parts.append(f"{count(progress.n_failed)} failed")
    parts.append(safe_line(progress.note))
    details = (progress.current, f"last error: {progress.last_error}" if progress.last_error else "")
    return ProgressLine(
        " · ".join(part for part in parts if part),
        progress.generation,
        busy,
        tuple(safe_line(line) for line in details if line and busy),
    )


def _phase(progress: Progress) -> str:
    if progress.phase == "scanning":
        return f"looking for files, {count(progress.n_total)} so far" if progress.n_total else "looking for files"
    if progress.phase == "indexing":
        return f"indexing {count(progress.n_done)} of {count(progress.n_total)}"
    return {"merging": "tidying the index", "polling": "looking for changes from time to time"}.get(progress.phase, "")


def _rate(progress: Progress) -> str:
    return f"{progress.rate_mb_s:.1f} MB/s" if progress.rate_mb_s else ""


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{max(1, round(seconds))} s left" if seconds < 90 else f"{round(seconds / 60)} min left"
