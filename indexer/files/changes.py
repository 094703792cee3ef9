"""What is new, changed, moved or gone: the files that a scan saw against those that the catalogue knows."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from indexer.documents import FileEntry
from indexer.storage.catalogue import AS_SOURCE, BY_NAME, UNREAD, KnownFile, Stamp


@dataclass(slots=True)
class Survey:
    """What a crawl saw of the files."""

    files: dict[str, FileEntry] = field(default_factory=dict)
    unread: Collection[str] = ()
    """folders that could not be listed: what is known below them stays"""
    empty: Mapping[str, int] = field(default_factory=dict)
    """empty folders and their devices; files known there from another device were on a disk now unmounted"""


@dataclass(frozen=True, slots=True)
class FilesRead:
    """One file to be read."""

    entry: FileEntry
    file_id: int | None = None
    """of the file whose documents it replaces; None for a new file"""
    old_path: str = ""
    """where it was known before; "" when it has not moved"""
    digest: bytes = b""
    """of its content as it was read, when only its ctime is another one: perhaps there is nothing to read"""
    tries: int = 0
    """how often it was read before, unchanged, and failed"""


@dataclass(slots=True)
class ChangePlan:
    """The work that brings the index up to date."""

    readings: list[FilesRead] = field(default_factory=list)
    touched: list[FilesRead] = field(default_factory=list)
    """files to be read if their content has another digest; else only their ctime is noted"""
    removed: dict[str, int] = field(default_factory=dict)
    """file ids by path"""
    kept: set[str] = field(default_factory=set)
    """folders that cannot be looked at now, with files that are kept"""
    n_unchanged: int = 0

    def __bool__(self) -> bool:
        return bool(self.readings or self.removed or self.touched)


PASSING = frozenset({"timeout", "memory"})
"""kinds of failures that may have been the moment's and not the file's"""
MAX_TRIES = 3
"""times that a file with such a failure is read, while it does not change"""


def in_doubt(survey: Survey, stamps: Iterable[Stamp]) -> tuple[Survey, list[str], int]:
    """What of a whole scan `compare` must look at: nearly every file is as it was, and only counted here.

    Gives the survey without those, the other paths of `stamps` (see `Catalogue.stamps`), and how many were left out.
    """
    left, others = dict(survey.files), list[str]()
    for name, size, modified_ns, inode, changed_ns, mark in stamps:
        path = os.fsdecode(name)
        entry = left.get(path)
        if (
            entry is not None
            and entry.modified_ns == modified_ns
            and entry.size == size
            and entry.inode == inode
            and mark
            and not entry.source
            and (mark == BY_NAME if entry.unread else mark != BY_NAME and entry.changed_ns == changed_ns)
        ):
            del left[path]
        else:
            others.append(path)
    return Survey(left, survey.unread, survey.empty), others, len(survey.files) - len(left)


def compare(
    survey: Survey, known: Mapping[str, KnownFile], *, reader: str, retry_failures: bool = False, is_scan: bool = False
) -> ChangePlan:
    """The plan from `known` to `survey`.

    A file is unchanged when its size, modification time, inode and ctime are; the device does not count, for a disk
    may get another number when it is mounted again. Another ctime alone may be another name or permission. A failed
    file is read again when it changed, when `reader` (the version and limits of the extractors) is another one, on
    `retry_failures`, and, in a scan, up to `MAX_TRIES` times when its failure may have passed. A file of which only the
    name was indexed is read when the crawl says that it may be, and the other way round; so is one whose source was
    named, or is named no longer.
    """
    plan = ChangePlan()
    fresh: list[FileEntry] = []
    for path, entry in survey.files.items():
        old = known.get(path)
        if old is None:
            fresh.append(entry)
        elif not _is_same(entry, old) or old.state == "pending" or _is_read_otherwise(entry, old):
            plan.readings.append(FilesRead(entry, old.file_id))
        elif entry.unread:
            plan.n_unchanged += 1
        elif entry.changed_ns != old.changed_ns and entry.changed_ns and old.changed_ns:
            touched = old.state == "indexed" and old.digest
            (plan.touched if touched else plan.readings).append(FilesRead(entry, old.file_id, digest=old.digest))
        elif (retry_failures and old.state == "failed") or _may_succeed(old, reader_of(entry, reader), is_scan=is_scan):
            plan.readings.append(FilesRead(entry, old.file_id, tries=old.tries))
        else:
            plan.n_unchanged += 1
    gone: dict[str, KnownFile] = {}
    for path, old in known.items():
        if path in survey.files:
            continue
        folder = _out_of_sight(path, old, survey)
        if folder is None:
            gone[path] = old
        else:
            plan.kept.add(folder)
    _match_moves(plan, fresh, gone)
    return plan


def reader_of(entry: FileEntry, reader: str) -> str:
    """What is kept of how a file was read: `reader`, and the source that it was read as."""
    return f"{reader}{AS_SOURCE}{entry.source}" if entry.source else reader


def _is_same(entry: FileEntry, old: KnownFile) -> bool:
    return entry.size == old.size and entry.modified_ns == old.modified_ns and entry.inode == old.inode


def _is_read_otherwise(entry: FileEntry, old: KnownFile) -> bool:
    """Whether only its name was indexed and it is to be read, or as another source, or the other way round."""
    if entry.unread or old.reader == UNREAD:
        return bool(entry.unread) != (old.reader == UNREAD)
    return entry.source != old.reader.partition(AS_SOURCE)[2]


def _may_succeed(old: KnownFile, reader: str, *, is_scan: bool) -> bool:
    if old.state == "indexed":
        return False
    return old.reader != reader or (is_scan and old.failure in PASSING and old.tries < MAX_TRIES)


def _out_of_sight(path: str, old: KnownFile, survey: Survey) -> str | None:
    """The unreadable folder or the bare mount point above `path`, None when there is none."""
    if not survey.unread and not survey.empty:
        return None
    folder = path
    while folder:
        if folder in survey.unread or survey.empty.get(folder, old.device) != old.device:
            return folder
        folder = folder.rpartition(os.sep)[0]
    return os.sep if os.sep in survey.unread else None


def _match_moves(plan: ChangePlan, fresh: list[FileEntry], gone: Mapping[str, KnownFile]) -> None:
    """A file that is gone and a new one with the same device, inode, size and time are one file that moved."""
    left = {(old.device, old.inode, old.size, old.modified_ns): path for path, old in gone.items()}
    moved: set[str] = set()
    for entry in fresh:
        old_path = left.pop((entry.device, entry.inode, entry.size, entry.modified_ns), None)
        if old_path is None:
            plan.readings.append(FilesRead(entry))
        else:
            plan.readings.append(FilesRead(entry, gone[old_path].file_id, old_path))
            moved.add(old_path)
    plan.removed.update((path, old.file_id) for path, old in gone.items() if path not in moved)
