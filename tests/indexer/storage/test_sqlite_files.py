"""SQLite files of our own: private, opened by SQLite alone, and known to be gone when they are."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from indexer.storage.sqlite_files import (
    connect,
    connect_to_read,
    is_full,
    is_unwritable,
    transaction,
    use_write_ahead_log,
)

LAST_TO_LEAVE = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    print(database.execute("SELECT count(*) FROM t").fetchone()[0])
database.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.sqlite"


def test_the_file_and_what_lies_beside_it_belong_to_their_owner(path: Path) -> None:
    """0600 whatever the umask, also one that somebody has opened to others."""
    os.umask(0)
    for mode in (None, 0o644):
        if mode is not None:
            path.chmod(mode)
        with closing(connect(path)) as connection:
            use_write_ahead_log(connection, path)
            connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
            assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()} == {0o600}


def test_a_second_connection_that_is_closed_leaves_the_first_its_log(path: Path) -> None:
    """A process that comes and goes does not believe to be the last: what the first writes after that is there."""
    with closing(connect(path)) as first:
        use_write_ahead_log(first, path)
        first.execute("CREATE TABLE t (x)")
        connect(path).close()
        done = subprocess.run([sys.executable, "-c", LAST_TO_LEAVE, str(path)], capture_output=True, check=True)
        assert done.stdout == b"0\n"
        assert not first.is_stranded
        first.execute("INSERT INTO t VALUES (1)")
        with closing(connect(path)) as second:
            assert second.execute("SELECT count(*) FROM t").fetchone() == (1,)


@pytest.mark.parametrize("name", ["a.sqlite", "a.sqlite-wal"])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_is_taken_away_is_noticed(path: Path, name: str, is_replaced: bool) -> None:
    """The file or its log, removed or another one in its place; not when it is only written to."""
    with closing(connect(path)) as connection:
        use_write_ahead_log(connection, path)
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")
        assert not connection.is_stranded
        path.with_name(name).unlink()
        if is_replaced:
            path.with_name(name).write_bytes(b"")
        assert connection.is_stranded
    assert not connection.is_stranded


def test_what_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    """A folder is no file; nothing is made where there is no folder."""
    for path in (tmp_path, tmp_path / "none" / "a.sqlite"):
        with pytest.raises(sqlite3.OperationalError):
            connect(path)


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


def test_a_full_disk_is_what_a_transaction_says(path: Path) -> None:
    """SQLite ends the transaction itself then: that there is nothing to undo is not the news."""
    with closing(connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA max_page_count = 10")
        with pytest.raises(sqlite3.OperationalError) as failure, transaction(connection):
            connection.executemany("INSERT INTO t VALUES (?)", [(b"x" * 5_000,)] * 100)
        assert is_full(failure.value, path)
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
