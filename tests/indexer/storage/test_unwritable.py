"""SQLite files that cannot be written are read all the same."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from indexer.storage.unwritable import connect_to_read, is_unwritable


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A file with a write-ahead log, closed, under a name that a URI must escape."""
    path = tmp_path / "a ?#%é.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (7)")
    return path


def test_it_is_read_and_not_written(written: Path) -> None:
    """Rows come out, nothing goes in, and the error of trying says so."""
    with closing(connect_to_read(written)) as connection:
        assert connection.execute("SELECT x FROM t").fetchall() == [(7,)]
        with pytest.raises(sqlite3.OperationalError) as refused:
            connection.execute("INSERT INTO t VALUES (8)")
    assert is_unwritable(refused.value)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Reading makes nothing."""
    with pytest.raises(sqlite3.OperationalError):
        connect_to_read(tmp_path / "none.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_which_errors_say_that_nothing_can_be_written() -> None:
    """A full disk, a read-only folder, a folder of somebody else; not a mistake in a statement."""
    assert is_unwritable(OSError(errno.ENOSPC, "full"))
    assert is_unwritable(OSError(errno.EROFS, "read-only"))
    assert not is_unwritable(OSError(errno.ENOENT, "none"))
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(sqlite3.OperationalError) as mistake:
        connection.execute("SELECT FROM")
    assert not is_unwritable(mistake.value)
    assert not is_unwritable(None)
