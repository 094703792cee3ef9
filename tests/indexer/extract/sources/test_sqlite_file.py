"""SQLite files in use."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from indexer.errors import ExtractionError
from indexer.extract.source import Source
from indexer.extract.sources.sqlite_file import opened


def rows(path: Path) -> list[int]:
    with opened(Source(name=str(path), path=str(path))) as file:
        return [row[0] for row in file.execute("SELECT x FROM t ORDER BY x")]


def test_finished_transactions_of_the_log_count_and_unfinished_ones_do_not(tmp_path: Path) -> None:
    """1 is in the file, 2 to 1001 in the log, 5000 was not committed; cut off after any frame it is a whole state."""
    path = tmp_path / "a.sqlite"
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("CREATE TABLE t (x INTEGER)")
    file.execute("INSERT INTO t VALUES (1)")
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert rows(path) == [1]
    for begin in (2, 502):
        file.execute("BEGIN")
        file.executemany("INSERT INTO t VALUES (?)", [(x,) for x in range(begin, begin + 500)])
        file.execute("COMMIT")
    file.execute("BEGIN")
    file.execute("INSERT INTO t VALUES (5000)")
    assert rows(path) == list(range(1, 1002))
    log = (tmp_path / "a.sqlite-wal").read_bytes()
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(path.read_bytes())
    for size in (40, len(log) // 2, len(log) - 1):
        (tmp_path / "cut.sqlite-wal").write_bytes(log[:size])
        assert len(rows(cut)) in (1, 501, 1001)
    file.close()


def test_what_is_no_database_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"no database")
    with pytest.raises(ExtractionError, match="not an SQLite file"):
        rows(tmp_path / "a.sqlite")
