"""Past queries, for those who want them: off by default, and kept apart from everything that is learned."""

from __future__ import annotations

from typing import NamedTuple

from app.settings import HistorySettings
from app.store import Store, trim


class PastQuery(NamedTuple):
    time: float
    """seconds since the epoch"""
    query: str


class SearchHistory:
    """The list of past queries in the state file."""

    def __init__(self, store: Store, settings: HistorySettings) -> None:
        self._store = store
        self._settings = settings

    def add(self, query: str, *, now: float) -> None:
        """Remember a query, once: an older entry of the same text goes. Does nothing when history is off."""
        text = query.strip().encode("utf-8", "replace").decode("utf-8")
        if not self._settings.enabled or not text:
            return
        with self._store.transaction(durable=False) as db:
            db.execute("DELETE FROM history WHERE query = ?", (text,))
            db.execute("INSERT INTO history (time, query) VALUES (?, ?)", (now, text))
            trim(db, "history", self._settings.max_entries)

    def list(self, *, limit: int = 1000) -> tuple[PastQuery, ...]:
        """The newest first; also what was kept before history was switched off."""
        found = self._store.rows("SELECT time, query FROM history ORDER BY id DESC LIMIT ?", (limit,))
        return tuple(map(PastQuery._make, found))

    def clear(self) -> None:
        """Forget all past queries."""
        self._store.erase("history")
