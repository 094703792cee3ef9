"""Files that are out of sight though nobody removed them, as on a disk that is not mounted: they stay indexed.

Their folder cannot be listed; or it is empty and on another device than they were, as the place of a disk that is not
mounted now; or another file system is mounted over it and not entered. Some file systems get another number each time
they are mounted, so a number alone says nothing: where other files of the old number have the new one, it is the same
disk, and an empty folder on it was emptied.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct, field

from indexer.files.crawl import storable_identity
from indexer.storage.catalogue import Catalogue, KnownFile

CANNOT_BE_READ = "cannot be read now"
NOT_MOUNTED = "is empty, and what was indexed of it was on another disk, which seems not to be mounted"
COVERED = "has another file system mounted over it"
NEIGHBOURS = 100
"""files of a device that are asked whether it has another number now"""


class OutOfSight(Struct):
    """What one scan or update could not see."""

    unread: Collection[str]
    """folders that could not be listed, and files that could not be asked"""
    bare: Mapping[str, int]
    """folders in which nothing was seen, and the devices they are on"""
    catalogue: Catalogue | None = None
    """whose files tell whether a device has another number now; None: none has"""
    _renumbered: dict[tuple[str, int, int], bool] = field(default_factory=dict)

    def above(self, path: str, old: KnownFile) -> tuple[str, str] | None:
        """The folder above `path` (or itself) and why what is in it is out of sight; None for a file that is gone."""
        if not self.unread and not self.bare:
            return None
        folder = path
        while folder:
            if folder in self.unread:
                return folder, CANNOT_BE_READ
            now = self.bare.get(folder, old.device)
            if now != old.device and not (self._is_renumbered(folder, old.device, now) or os.path.lexists(path)):
                return folder, COVERED if os.path.ismount(folder) else NOT_MOUNTED
            folder = folder.rpartition(os.sep)[0]
        return (os.sep, CANNOT_BE_READ) if os.sep in self.unread else None

    def _is_renumbered(self, folder: str, before: int, now: int) -> bool:
        """Whether files that were on the device `before`, outside of `folder`, are on the device `now`."""
        if self.catalogue is None:
            return False
        asked = folder, before, now
        if asked not in self._renumbered:
            neighbours = self.catalogue.on_device(before, outside=folder, limit=NEIGHBOURS)
            self._renumbered[asked] = any(_is_at(path, inode, now) for path, inode in neighbours)
        return self._renumbered[asked]


def _is_at(path: str, inode: int, device: int) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return (storable_identity(status.st_ino), storable_identity(status.st_dev)) == (inode, device)


def line_about_folder(folder: str, why: str, n_files: int, roots: Iterable[str]) -> str:
    """What a person is told of a folder that is out of sight, and how to let its files go; the folder aside."""
    way = f"`foltr-search index --forget {folder}`" if folder in roots else "naming it in index.exclude"
    if why == NOT_MOUNTED:
        way += ", or removing the empty folder,"
    files, them = ("1 file is kept", "it") if n_files == 1 else (f"{n_files:,} files are kept", "them")
    return f"{why}; {files}; {way} removes {them} from the index"
