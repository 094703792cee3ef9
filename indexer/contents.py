"""Whoosh's table of contents: which segments make the newest commit, read and replaced so that nothing is lost.

A commit writes the table under a passing name, makes it durable and renames it; only then is the former one removed.
Readers that list the folder in between may find a name that is gone a moment later, and look again.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from indexer.codec_write import private
from indexer.errors import IndexDamaged
from indexer.schema import VERSION, whoosh_schema
from indexer.whoosh_codec import Segment

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh.filedb.filestore import FileStorage
    from whoosh.filedb.structfile import StructFile
    from whoosh.index import TOC, EmptyIndexError, clean_files

NAME = f"v{VERSION}"
"""Whoosh's index name; holds the schema's version, so that another version is never misread"""
ATTEMPTS = 5
"""how often a reader looks again while commits replace what it wants to read"""


class Storage(FileStorage):  # type: ignore[misc]
    """A folder whose files are for their owner only, and durable before they get their name."""

    def create_file(self, name: str, excl: bool = False, mode: str = "wb", **options: Any) -> StructFile:
        """Open a new or emptied file for writing."""
        return StructFile(open(self._fpath(name), mode, opener=private), name=name, **options)

    def rename_file(self, oldname: str, newname: str, safe: bool = False) -> None:
        """Make the file durable, then rename it."""
        sync([Path(self._fpath(oldname))])
        super().rename_file(oldname, newname, safe=safe)


def sync(paths: Iterable[Path]) -> None:
    """Make files and folders durable."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def generation(storage: Storage) -> int:
    """The number of the newest commit, -1 where there is none."""
    return int(TOC._latest_generation(storage, NAME))


def create(storage: Storage) -> None:
    """Write the table of an empty index; another process may be doing the same."""
    try:
        TOC(whoosh_schema(), [], 0).write(storage, NAME)
    except (NameError, FileNotFoundError):
        return  # Whoosh's way to say that the table is already there, and ours when a writer has tidied up


def read(storage: Storage) -> tuple[int, list[Segment]]:
    """Generation and segments of the newest commit; IndexDamaged when they cannot be read."""
    problem: Exception | None = None
    for attempt in range(ATTEMPTS):
        try:
            toc = TOC.read(storage, NAME, schema=whoosh_schema())
        except (FileNotFoundError, EmptyIndexError) as error:
            problem = error
            time.sleep(0.01 * attempt)
        except Exception as error:  # Whoosh raises whatever unpickling and mapping raise
            raise IndexDamaged(f"the index in {storage.folder} cannot be read: {error}") from error
        else:
            return int(toc.generation), list(toc.segments)
    raise IndexDamaged(f"the index in {storage.folder} cannot be read: {problem}") from problem


def replace(storage: Storage, number: int, segments: Sequence[Segment]) -> None:
    """Make `segments` the newest commit, durably, and remove what it no longer names."""
    TOC(whoosh_schema(), list(segments), number).write(storage, NAME)
    sync([Path(storage.folder)])
    tidy(storage, number, segments)


def tidy(storage: Storage, number: int, segments: Sequence[Segment]) -> None:
    """Remove the files of other commits, also of one that was killed while it wrote."""
    clean_files(storage, NAME, number, segments)
    for unfinished in Path(storage.folder).glob(f"_{NAME}_*.toc.*"):
        unfinished.unlink(missing_ok=True)
