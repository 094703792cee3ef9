"""The results that the user has marked, in the order of marking; they stay marked from one question to the next."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from app.search.results import Hit, ResultPage

Marked = tuple[ResultPage, Hit]
"""a hit, and the page on which it was marked: what is opened is learned from that one"""


class Marks:
    """A set of results that knows its order."""

    def __init__(self) -> None:
        self._marked: dict[tuple[str, str], Marked] = {}

    def __len__(self) -> int:
        return len(self._marked)

    def __iter__(self) -> Iterator[Marked]:
        return iter(tuple(self._marked.values()))

    def holds(self, hit: Hit) -> bool:
        return (hit.path, hit.part) in self._marked

    def turn(self, page: ResultPage, hit: Hit) -> None:
        """Mark a result, or take its mark away."""
        if self._marked.pop((hit.path, hit.part), None) is None:
            self._marked[hit.path, hit.part] = (page, hit)

    def clear(self, *, but: Collection[str] = ()) -> None:
        """Take the marks away, but for those of these paths."""
        self._marked = {key: marked for key, marked in self._marked.items() if key[0] in but}

    @property
    def paths(self) -> tuple[str, ...]:
        """Each file once."""
        return tuple(dict.fromkeys(path for path, _ in self._marked))
