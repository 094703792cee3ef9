"""An assistant's requests and answers, for its user to look up; kept only beside what the assistant taught.

Documents are named by keyed hashes, as picks are: once a file is deleted, nothing left here tells its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from app.learning.pick_keys import Hasher
from app.store import Store, trim
from indexer.storage.catalogue import DocumentRow

KEPT = 10_000
"""requests; the oldest go first"""


class PastRequest(NamedTuple):
    """One call of a tool."""

    time: float
    """seconds since the epoch"""
    tool: str
    query: str
    """"" for a tool that takes none"""
    given: tuple[bytes, ...]
    """the documents that were in the answer, hashed"""


class Requests:
    def __init__(self, store: Store, key: bytes) -> None:
        self._store, self._hasher = store, Hasher(key)

    def add(self, tool: str, query: str, given: Iterable[tuple[str, str]], *, now: float) -> None:
        """Keep one; `given` are the paths and parts of documents."""
        text = query.encode("utf-8", "replace").decode("utf-8")
        row = (now, tool, text, msgspec.msgpack.encode([self._name(path, part) for path, part in given]))
        with self._store.transaction(durable=False) as db:
            db.execute("INSERT INTO requests (time, tool, query, given) VALUES (?, ?, ?, ?)", row)
            trim(db, "requests", KEPT)

    def newest(self, limit: int) -> Iterator[PastRequest]:
        for time, tool, query, given in self._store.rows(
            "SELECT time, tool, query, given FROM requests ORDER BY id DESC LIMIT ?", (limit,)
        ):
            yield PastRequest(time, tool, query, msgspec.msgpack.decode(given, type=tuple[bytes, ...]))

    def names(self, rows: Sequence[DocumentRow]) -> dict[bytes, DocumentRow]:
        """Indexed documents by their hashes here."""
        return {self._name(row.path, row.part): row for row in rows}

    def _name(self, path: str, part: str) -> bytes:
        return self._hasher.document(self._hasher.path(path), self._hasher.part(part))


def count_requests(store: Store) -> int:
    return int(store.rows("SELECT count(*) FROM requests")[0][0])
