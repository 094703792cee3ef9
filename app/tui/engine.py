"""What the screen needs of `app.search.search.Search`, `app.indexing.BackgroundIndexer` and the store, as protocols.

The screen knows no more than this, so its tests can put in an engine that answers slowly, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.search.results import Explanation, Hit, IndexStatus, Preview, ResultPage, SearchRequest, Snippet


class Engine(Protocol):
    """The one query path, as in `app.search.search.Search`; every method may take its time and runs in a worker."""

    def search(self, request: SearchRequest) -> ResultPage: ...
    def snippet(self, page: ResultPage, hit: Hit, width: int = 160) -> Snippet: ...
    def preview(self, page: ResultPage, hit: Hit) -> Preview: ...
    def opened(self, page: ResultPage, hit: Hit) -> None: ...
    def leave(self, page: ResultPage) -> str | None: ...
    def explain(self, page: ResultPage, hit: Hit) -> Explanation: ...
    def status(self) -> IndexStatus: ...
    def refresh(self) -> bool: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that may be indexed."""

    path: str
    counted: str = ""
    """as in "4,210 files"; "" where nobody has counted"""


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """How far indexing is, in words."""

    text: str
    generation: int
    busy: bool
    details: tuple[str, ...] = ()
    """what is read now, and the last error: for whoever wonders whether it is stuck"""


class Indexing(Protocol):
    """Indexing in the background while the screen is up."""

    def start(self, folders: Sequence[str], report: Callable[[ProgressLine], None]) -> None:
        """Index what changed, add `folders`, follow changes, and report until `stop`."""

    def suggest(self) -> Sequence[Folder]:
        """Folders that exist and are worth indexing, with their file counts."""

    def has_index(self) -> bool:
        """Whether anything was ever indexed or chosen for it; quick, for it is asked before the first frame."""

    def stop(self) -> None: ...


class SyncNews(Protocol):
    """What became of a sync with the group, as in `app.federation.background_sync.News`."""

    @property
    def text(self) -> str: ...
    @property
    def important(self) -> bool:
        """Whether it is worth a notification."""


class GroupSync(Protocol):
    """Syncing with the group now and then, as in `app.federation.background_sync`; every method runs in a worker."""

    def question(self) -> Sequence[str]:
        """What to ask before the first sync: a question, then what it means; nothing when there is none to ask."""

    def answer(self, *, agreed: bool) -> None: ...

    def sync_when_due(self) -> SyncNews | None:
        """Sync when the time has come; None when there was nothing to do."""


class History(Protocol):
    """Past queries, newest first; empty where the user keeps none."""

    def queries(self) -> Sequence[str]: ...

    def add(self, query: str) -> None:
        """Keep a query something was opened for; does nothing where the user keeps none."""
