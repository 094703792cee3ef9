"""Walking through past queries from the search box."""

from __future__ import annotations

from collections.abc import Sequence


class Recall:
    """A place in a list of past queries, newest first; -1 stands before the newest."""

    def __init__(self) -> None:
        self._queries: list[str] = []
        self._at = -1

    def fill(self, queries: Sequence[str]) -> None:
        """Take the list over, and stand before its newest entry."""
        self._queries = list(queries)
        self._at = -1

    def add(self, query: str) -> None:
        """A query was asked just now; it moves to the front when it was there already."""
        self._queries = [query, *(old for old in self._queries if old != query)]
        self._at = -1

    def step(self, *, back: bool) -> str | None:
        """The query before or after; "" after the newest; None where there is no further one."""
        at = self._at + (1 if back else -1)
        if not -1 <= at < len(self._queries):
            return None
        self._at = at
        return self._queries[at] if at >= 0 else ""
