"""What a scan asks of the catalogue for each file: is it as it was when it was indexed?

A crawl gives files in the order of their paths, so that one pass over the catalogue, in the same order, answers for
all of them, and neither side is held in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from indexer.storage.catalogue import AS_SOURCE, UNREAD, Catalogue

Stamp = tuple[bytes, int, int, int, int, int, int]
"""(path, file id, size, modified_ns, inode, changed_ns, mark) of one file; the mark is 0 where more must be asked"""
BY_NAME = 2
"""the mark of a file that is not read, as it was indexed; 1 of one that was"""
_AHEAD = 100
"""files that are passed over before the next one is looked up instead"""


class Stamps:
    """Answers for one path after the other, in whatever order; fastest in that of their bytes.

    For one thread, which does not write to the catalogue before it has asked for the `others`.
    """

    def __init__(self, catalogue: Catalogue, reader: str) -> None:
        """Nothing of the files marked is left to do for `reader` while they stay as they are."""
        self._catalogue, self._reader = catalogue, reader
        self._query = (
            "SELECT path, file_id, size, modified_ns, inode, changed_ns, CASE"
            f" WHEN instr(reader, '{AS_SOURCE}') THEN 0"
            " WHEN state = 'indexed' OR (state = 'named' AND reader = ? AND kind = '') THEN 1"
            f" WHEN reader = '{UNREAD}' AND state <> 'pending' THEN {BY_NAME} ELSE 0 END"
            " FROM files WHERE path >= ? ORDER BY path"
        )
        (last,) = catalogue.connection.execute("SELECT coalesce(max(file_id), 0) FROM files").fetchone()
        self._asked = bytearray(last + 1)
        """by file id"""
        self._passed_over: dict[str, int] = {}
        """files of folders of which nothing is asked"""
        self._from(b"")

    def _from(self, path: bytes) -> None:
        """Go on at the first file at or after `path`."""
        self._rows: Iterator[Stamp] = self._catalogue.connection.execute(self._query, (self._reader, path))
        self._row: Stamp | None = next(self._rows, None)
        self._last = path

    def find(self, path: str) -> Stamp | None:
        """The stamp of the file at `path`; None when it is not known."""
        wanted = os.fsencode(path)
        if wanted < self._last:
            self._from(wanted)
        self._last, row = wanted, self._row
        for _ in range(_AHEAD):
            if row is None or row[0] >= wanted:
                self._row = row
                break
            row = next(self._rows, None)
        else:
            self._from(wanted)
            row = self._row
        if row is None or row[0] != wanted:
            return None
        self._asked[row[1]] = True
        return row

    def pass_over(self, folder: str, n_files: int) -> None:
        """The `n_files` that are known in `folder` itself count as asked for."""
        self._passed_over[folder] = n_files

    def others(self) -> list[str]:
        """The files that were not asked for; nothing can be asked afterwards."""
        self._rows, self._row = iter(()), None
        execute = self._catalogue.connection.execute
        (n_files,) = execute("SELECT count(*) FROM files").fetchone()
        if n_files == self._asked.count(True) + sum(self._passed_over.values()):
            return []
        left = (os.fsdecode(path) for path, one in execute("SELECT path, file_id FROM files") if not self._was(one))
        return [path for path in left if os.path.dirname(path) not in self._passed_over]

    def _was(self, file_id: int) -> bool:
        return file_id < len(self._asked) and bool(self._asked[file_id])
