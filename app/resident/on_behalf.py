"""Working on behalf of another process: searches that stay open between questions, and what the asking process must do.

Commands get their search here, and learn whether they run for another process. That state is global
(`_process`), as variables, folder and streams are (app.resident.command_runner): click passes commands nothing, so the
one thread that answers sets it around each question.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from app.paths import Paths
from app.settings import Settings

if TYPE_CHECKING:
    from app.external_programs import Invocation
    from app.search.search import Search

MAX_KEPT = 4
"""searches kept open, each with settings of its own"""

Files = tuple[tuple[int, int] | None, ...]
"""device and inode of each file that a search has open"""


class NotHere(BaseException):
    """This command must run in the process that asked, from its beginning; no command catches it as an error."""


class LeftToAsker(Struct):
    """What the asking process must do itself, with its terminal, display and session."""

    program: Invocation | None = None
    opened: tuple[str, ...] = ()
    """the command line that records the opening once the program has started; () where nothing is recorded"""


class _OpenSearch(Struct):
    settings: Settings
    paths: Paths
    files: Files
    search: Search


class OpenSearches:
    """Searches that stay open between questions, the last used first."""

    def __init__(self) -> None:
        self._open: list[_OpenSearch] = []

    def take(self, settings: Settings, paths: Paths) -> Search:
        """A search with these settings that sees the newest commit; `give` it back unless it failed."""
        files = _files(paths)
        for held in [held for held in self._open if held.paths == paths and held.files != files]:
            self._drop(held)  # one of its files has been replaced since
        for held in self._open:
            if held.paths == paths and held.settings == settings:
                self._open.remove(held)
                held.search.refresh()
                return held.search
        return _new_search(settings, paths, resident=True)

    def give(self, search: Search, settings: Settings, paths: Paths) -> None:
        """Keep a search for the next question; one that cannot read or write is closed, so that the next tries anew."""
        if search.trouble or search.unkept:
            search.close()
            return
        self._open.insert(0, _OpenSearch(settings, paths, _files(paths), search))
        for held in self._open[MAX_KEPT:]:
            self._drop(held)

    def close(self) -> None:
        for held in list(self._open):
            self._drop(held)

    def _drop(self, held: _OpenSearch) -> None:
        self._open.remove(held)
        held.search.close()


def _files(paths: Paths) -> Files:
    found: list[tuple[int, int] | None] = []
    for path in (paths.catalogue, paths.state, paths.key, paths.device_keys):
        status = None
        with suppress(OSError):
            status = path.stat()
        found.append((status.st_dev, status.st_ino) if status else None)
    return tuple(found)


def _new_search(settings: Settings, paths: Paths, *, resident: bool = False) -> Search:
    from app.search.search import Search  # processes that follow changes need none

    return Search(settings, paths, resident=resident)


class _Process(Struct):
    searches: OpenSearches | None = None
    """of a process that answers one question at a time"""
    left: LeftToAsker | None = None
    """while it works for another one"""


_process = _Process()


@contextmanager
def keep_searches() -> Iterator[None]:
    """Within the block searches stay open; only a process that answers one question at a time may keep them."""
    _process.searches = kept = OpenSearches()
    try:
        yield
    finally:
        _process.searches = None
        kept.close()


@contextmanager
def on_behalf() -> Iterator[LeftToAsker]:
    """Within the block this process works for another one."""
    _process.left = left = LeftToAsker()
    try:
        yield left
    finally:
        _process.left = None


def is_on_behalf() -> bool:
    """Whether this process works for another one now."""
    return _process.left is not None


def only_alone() -> None:
    """Raise NotHere when this process works for another one."""
    if is_on_behalf():
        raise NotHere


def leave_to_asker(program: Invocation, opened: tuple[str, ...]) -> bool:
    """Leave starting a program, and recording it, to the process that asked; False when this is that process."""
    if _process.left is None:
        return False
    _process.left.program, _process.left.opened = program, opened
    return True


@contextmanager
def search_for_command(settings: Settings, paths: Paths) -> Iterator[Search]:
    """The search that a command asks: in the resident process one that stays open, elsewhere a new one."""
    searches = _process.searches
    search = searches.take(settings, paths) if searches else _new_search(settings, paths)
    try:
        yield search
    except BaseException:
        search.close()
        raise
    if searches:
        searches.give(search, settings, paths)
    else:
        search.close()
