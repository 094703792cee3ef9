"""Whoosh's table of contents, read without Whoosh: which segments make the newest commit.

The file `_v3_17.toc` is Whoosh's own, and Whoosh writes it (`whoosh_codec.write_contents`): sizes of C types, a
byte-order mark, versions and the pickled schema (its head), the commit's number, and the pickled segments. Who only
reads loads nothing of Whoosh, for that takes as long as twenty queries. Of the pickle nothing is made but segments and
sets, whatever it names.

Readers that list the folder while a commit replaces the table may find a name that is gone a moment later, and look
again.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from indexer.errors import IndexDamaged
from indexer.schema import VERSION

INDEX_NAME = f"v{VERSION}"
"""Whoosh's index name; holds the schema's version, so that another version is never misread"""
ATTEMPTS = 5
"""how often a reader looks again while commits replace what it wants to read"""
_SEGMENT = {("indexer.codec.whoosh_codec", "Segment"), ("indexer.whoosh_codec", "Segment")}
"""the class that the pickle names; the second in a table that no commit of this version has replaced yet"""
_NAME = re.compile(rf"_{INDEX_NAME}_(\d+)\.toc")
_SEGMENT_FILE = re.compile(rf"({INDEX_NAME}_[0-9a-z]+)\.\w+")
_SIZES = 3
"""numbers of C types, and of Whoosh's version, in the head"""
_BYTE_ORDER, _FORMAT = -12345, -111


class ListedSegment(Struct, frozen=True):
    """A segment as the table names it."""

    name: str
    n_documents: int
    deleted: frozenset[int]


class _Pickled:
    """Takes the state of a pickled segment."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _SEGMENT:
            return _Pickled
        if module in ("builtins", "__builtin__") and name == "set":
            return set
        raise pickle.UnpicklingError(f"wanted segments, got {module}.{name}")


def table_of(number: int) -> str:
    """The name of the file that is the table of commit `number`."""
    return f"_{INDEX_NAME}_{number}.toc"


def newest(folder: Path) -> int:
    """The number of the newest commit, -1 where there is none."""
    return max((int(match[1]) for name in os.listdir(folder) if (match := _NAME.fullmatch(name))), default=-1)


def read_contents(folder: Path) -> tuple[int, list[ListedSegment]]:
    """Number and segments of the newest commit; IndexDamaged when they cannot be read."""
    problem: Exception | None = None
    for attempt in range(ATTEMPTS):
        try:
            number = newest(folder)
            return number, _segments((folder / table_of(number)).read_bytes(), number)
        except FileNotFoundError as error:
            problem = error
            time.sleep(0.01 * attempt)
        except Exception as error:  # unpickling raises anything
            raise IndexDamaged(f"the index in {folder} cannot be read: {error}") from error
    raise IndexDamaged(f"the index in {folder} cannot be read: {problem}") from problem


def tidy(folder: Path, number: int, segments: Iterable[ListedSegment]) -> None:
    """Remove the files of commits other than `number`, also of one that was killed while it wrote."""
    kept = {segment.name for segment in segments}
    for name in os.listdir(folder):
        table, file = _NAME.match(name), _SEGMENT_FILE.fullmatch(name)
        if (table and (int(table[1]) != number or table.end() < len(name))) or (file and file[1] not in kept):
            with contextlib.suppress(OSError):  # Windows keeps what a reader has mapped
                os.unlink(folder / name)


def _pass_head(stream: io.BytesIO) -> None:
    for _ in range(_SIZES):
        _varint(stream)
    marks = (_int(stream), _int(stream))
    if marks != (_BYTE_ORDER, _FORMAT):
        raise ValueError(f"wanted a table of contents that begins with {(_BYTE_ORDER, _FORMAT)}, got {marks}")
    for _ in range(_SIZES):
        _varint(stream)
    stream.seek(_varint(stream), os.SEEK_CUR)


def _segments(content: bytes, number: int) -> list[ListedSegment]:
    stream = io.BytesIO(content)
    _pass_head(stream)
    found = _int(stream)
    if found != number:
        raise ValueError(f"wanted commit {number}, got {found}")
    _int(stream)
    return [_listed(vars(one)) for one in _Unpickler(stream).load()]


def _listed(state: dict[str, Any]) -> ListedSegment:
    return ListedSegment(
        f"{state['indexname']}_{state['segid']}", int(state["_doccount"]), frozenset(state["_deleted"] or ())
    )


def _int(stream: io.BytesIO) -> int:
    return int.from_bytes(_exactly(stream, 4), "big", signed=True)


def _varint(stream: io.BytesIO) -> int:
    """Seven bits a byte, the lowest first; the last byte has its highest bit clear."""
    number = shift = 0
    while True:
        byte = _exactly(stream, 1)[0]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number
        shift += 7


def _exactly(stream: io.BytesIO, n_bytes: int) -> bytes:
    found = stream.read(n_bytes)
    if len(found) < n_bytes:
        raise ValueError("it ends early")
    return found
