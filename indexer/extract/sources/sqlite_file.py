"""An SQLite file that another program is using, read without a lock, without a copy on disk, and never written.

The file and what its write-ahead log holds beyond it are put together in memory. The log is a header of 32 bytes and
frames: 24 bytes, the first words the page's number and, in the last frame of a transaction, the pages of the file
(https://sqlite.org/fileformat2.html, section 4).
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from indexer.confined.given_files import open_file, status_of
from indexer.errors import ExtractionError
from indexer.extract.source import Source
from indexer.extract.sources.known import log_of

MAGIC = b"SQLite format 3\0"
LOG_MAGICS = (0x377F0682, 0x377F0683)
MAX_ATTEMPTS = 3
"""readings of a file that is being written just then"""


@contextmanager
def opened(source: Source) -> Iterator[sqlite3.Connection]:
    """A connection to what the file held at one moment; raises ExtractionError where it is no SQLite file."""
    data = with_log(*_content(source))
    if not data.startswith(MAGIC):
        raise ExtractionError("malformed", "not an SQLite file")
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(data)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
        yield connection
    except sqlite3.Error as error:
        raise ExtractionError("malformed", f"cannot be read as SQLite: {error}") from error
    finally:
        connection.close()


def _content(source: Source) -> tuple[bytes, bytes]:
    """The file and its log, both of one moment."""
    if source.data is not None:
        return source.data, b""
    log = log_of(source.path)
    for _ in range(MAX_ATTEMPTS):
        before = _state(source.path), _state(log)
        found = _whole(source.path), _whole(log) if before[1] is not None else b""
        if before == (_state(source.path), _state(log)):
            return found
    raise ExtractionError("unreadable", "another program was writing it all the time")


def _whole(path: str) -> bytes:
    with open_file(path) as stream:
        return stream.read()


def _state(path: str) -> tuple[int, int] | None:
    try:
        status = status_of(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def with_log(data: bytes, log: bytes) -> bytes:
    """The file with the finished transactions of its log, marked as one that has none."""
    pages = bytearray(data)
    if len(log) > 32 and struct.unpack_from(">I", log)[0] in LOG_MAGICS:
        size, salts = struct.unpack_from(">I", log, 8)[0], log[16:24]
        waiting: list[tuple[int, int]] = []
        for at in range(32, len(log) - 24 - size + 1, 24 + size):
            number, n_pages = struct.unpack_from(">II", log, at)
            if log[at + 8 : at + 16] != salts:
                break  # left over from before the log was begun anew
            waiting.append((number, at + 24))
            if n_pages:
                pages.extend(bytes(max(n_pages * size - len(pages), 0)))
                for page, begin in waiting:
                    pages[(page - 1) * size : page * size] = log[begin : begin + size]
                del pages[n_pages * size :]
                waiting = []
    if len(pages) > 20:
        pages[18:20] = b"\1\1"
    return bytes(pages)
