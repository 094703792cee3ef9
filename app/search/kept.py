"""The search that a command asks: in the resident process one that stays open, elsewhere one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from app.paths import Paths
from app.search.search import Search
from app.settings import Settings

MAX_KEPT = 4
"""searches kept open, each with settings of its own"""

Files = tuple[tuple[int, int] | None, ...]
"""device and inode of what a search has open"""


@dataclass(slots=True)
class _Kept:
    settings: Settings
    paths: Paths
    files: Files
    search: Search


class KeptSearches:
    """Searches that stay open between questions, the last asked first."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []

    def take(self, settings: Settings, paths: Paths) -> Search:
        """A search with these settings that sees the newest commit; `give` it back unless it failed."""
        files = _files(paths)
        for kept in [one for one in self._kept if one.paths == paths and one.files != files]:
            self._drop(kept)  # a file was made anew since it was opened
        for kept in self._kept:
            if kept.paths == paths and kept.settings == settings:
                self._kept.remove(kept)
                kept.search.refresh()
                return kept.search
        return Search(settings, paths)

    def give(self, search: Search, settings: Settings, paths: Paths) -> None:
        """Keep a search for the next question; one that cannot read or write all is closed, so that it tries anew."""
        if search.trouble or search.unkept:
            search.close()
            return
        self._kept.insert(0, _Kept(settings, paths, _files(paths), search))
        for kept in self._kept[MAX_KEPT:]:
            self._drop(kept)

    def close(self) -> None:
        for kept in list(self._kept):
            self._drop(kept)

    def _drop(self, kept: _Kept) -> None:
        self._kept.remove(kept)
        kept.search.close()


def _files(paths: Paths) -> Files:
    found: list[tuple[int, int] | None] = []
    for path in (paths.catalogue, paths.state, paths.key):
        status = None
        with suppress(OSError):
            status = path.stat()
        found.append((status.st_dev, status.st_ino) if status else None)
    return tuple(found)


_kept: KeptSearches | None = None


def keep_searches() -> KeptSearches:
    """From now on this process keeps its searches open; only one that answers one question at a time may."""
    global _kept
    _kept = _kept or KeptSearches()
    return _kept


@contextmanager
def asked(settings: Settings, paths: Paths) -> Iterator[Search]:
    """A search for one command."""
    kept = _kept
    search = kept.take(settings, paths) if kept else Search(settings, paths)
    try:
        yield search
    except BaseException:
        search.close()
        raise
    if kept:
        kept.give(search, settings, paths)
    else:
        search.close()
