"""Indexing in the background for the screen: starts and stops it, and puts its progress into words."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec import Struct

from app.chosen_folders import chosen_to_index, forget_chosen, index_roots
from app.settings import Paths, Settings
from console.printable import safe_line
from console.wording import count

if TYPE_CHECKING:
    from app.following.background import BackgroundIndexer
    from app.suggested_folders import RootSuggestion
    from indexer.progress import Progress


class ProgressLine(Struct, frozen=True):
    """How far indexing is, in words."""

    text: str
    generation: int
    busy: bool
    details: tuple[str, ...] = ()
    """the file being read and the last error, to show that it is not stuck"""


class Background:
    """Indexing while the screen is up: starts and stops the process, and words its progress."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings, self._paths = settings, paths
        self._indexer: BackgroundIndexer | None = None

    def has_index(self) -> bool:
        return bool(chosen_to_index(self._settings, self._paths))

    def suggest(self) -> Sequence[RootSuggestion]:
        from app.suggested_folders import suggest_roots

        return suggest_roots(searched=chosen_to_index(self._settings, self._paths))

    def folders(self) -> Sequence[tuple[str, str]]:
        """The folders and sources that are searched, each with what is in it."""
        from indexer.storage.catalogue import Catalogue

        names = chosen_to_index(self._settings, self._paths)
        if not self._paths.catalogue.exists():
            return [(name, "not read yet") for name in names]
        with closing(Catalogue.open(self._paths.catalogue)) as catalogue:
            about = [contents_line(catalogue.types_below(name)) if os.path.isabs(name) else "" for name in names]
        return list(zip(names, about, strict=True))

    def forget(self, name: str) -> bool:
        """No longer search a folder or source; False for one that the settings name, which stays."""
        return forget_chosen(self._paths, name)

    def start(
        self, folders: Sequence[str], report: Callable[[ProgressLine], None], *, retry_failures: bool = False
    ) -> None:
        """Remember `folders`, then index all that is chosen and follow it; replaces a process that is running."""
        from app.chosen_folders import remember_choices
        from app.following.background import BackgroundIndexer

        remember_choices(self._paths, folders, covered=index_roots(self._settings, self._paths))
        self.stop()
        if not self.has_index() and not folders:
            if self._paths.catalogue.exists():  # no process runs that would remove what was read
                from app.following.indexing import update_index

                update_index(self._settings, self._paths, roots=())
            return
        self._indexer = BackgroundIndexer(
            self._paths,
            lambda progress: report(progress_line(progress)),
            arguments=("--retry-failures",) if retry_failures else (),
        )
        self._indexer.start()

    def stop(self) -> None:
        indexer, self._indexer = self._indexer, None
        if indexer is not None:
            indexer.stop()


def contents_line(types: Mapping[str, int]) -> str:
    """How many documents of which types: "412 documents: 300 mail, 112 pdf"; the commonest first, six of them."""
    named = sorted(types.items(), key=lambda one: (-one[1], one[0]))[:6]
    more = ", …" if len(types) > len(named) else ""
    listed = ", ".join(f"{count(n)} {name}" for name, n in named)
    return count(sum(types.values()), "document") + (f": {listed}{more}" if listed else "")


_BY_ANOTHER = re.compile(r".*\(process \d+\) follows")


def progress_line(progress: Progress) -> ProgressLine:
    """One report as a status line and, while there is work, details for the empty screen."""
    busy = progress.phase in ("scanning", "indexing", "merging")
    parts = [_phase(progress)]
    if progress.phase == "indexing":
        parts += [f"{progress.rate_mb_s:.1f} MB/s" if progress.rate_mb_s else "", _left(progress.eta_seconds)]
    if progress.phase == "meaning":
        parts.append(_left(progress.eta_seconds))
    if busy and progress.n_failed:
        parts.append(f"{count(progress.n_failed)} failed")
    parts.append(_BY_ANOTHER.sub("another foltr-search follows", safe_line(progress.note)))
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
    if progress.phase == "meaning":
        return f"reading for meaning {count(progress.n_done)} of {count(progress.n_total)}"
    if progress.phase == "recognising":
        return f"recognising {progress.what} {count(progress.n_done)} of {count(progress.n_total)}"
    return {"merging": "tidying the index", "polling": "looking for changes from time to time"}.get(progress.phase, "")


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{max(1, round(seconds))} s left" if seconds < 90 else f"{round(seconds / 60)} min left"
