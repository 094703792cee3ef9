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
import struct
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
_HEAD = struct.Struct("!3xii3x")
"""sizes of three C types, two marks, and the three numbers of Whoosh's version"""
_MARKS = (-12345, -111)
"""of the order of bytes and of the format"""


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


def _segments(content: bytes, number: int) -> list[ListedSegment]:
    if (marks := _HEAD.unpack_from(content)) != _MARKS:
        raise ValueError(f"wanted a table of contents that begins with {_MARKS}, got {marks}")
    size, start = _varint(content, _HEAD.size)
    (found,) = struct.unpack_from("!i4x", content, start + size)
    if found != number:
        raise ValueError(f"wanted commit {number}, got {found}")
    return [
        ListedSegment(f"{own['indexname']}_{own['segid']}", int(own["_doccount"]), frozenset(own["_deleted"] or ()))
        for own in map(vars, _Unpickler(io.BytesIO(content[start + size + 8 :])).load())
    ]


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, all but its last byte marked; and where it ends."""
    number = shift = 0
    while content[at] >= 0x80:
        number, shift, at = number | (content[at] & 0x7F) << shift, shift + 7, at + 1
    return number | content[at] << shift, at + 1
