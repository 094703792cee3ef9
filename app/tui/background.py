"""Indexing while the screen is up: `app.indexing` in the screen's words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.settings import Paths, Settings, remember_root, remembered_roots
from app.tui.engine import Folder, ProgressLine


class Background:
    """Starts and stops the indexing process, and words its progress."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings, self._paths = settings, paths

    def has_index(self) -> bool:
        return bool(self._settings.index.roots or remembered_roots(self._paths))

    def suggest(self) -> Sequence[Folder]:
        return ()

    def start(self, folders: Sequence[str], report: Callable[[ProgressLine], None]) -> None:
        for folder in folders:
            remember_root(self._paths, folder)

    def stop(self) -> None:
        pass
