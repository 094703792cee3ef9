"""What this program has made on a device, by name: to be counted, and removed when its user wants that.

Only names that the program itself gives are taken for its own; whatever else lies in its folders stays, and so do they.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.loose_mail import FOLDER
from app.paths import Paths
from foltr.errors import FoltrError
from indexer.storage.file_lock import FileLock
from indexer.storage.index import LOCK_FILE, lock_holder

_DATABASE = r"(-wal|-shm|-journal)?"
_OWN = re.compile(rf"(catalogue|state|ocr)\.sqlite{_DATABASE}|key|roots\.json|(key|roots\.json)\.\w+")
_INDEX = re.compile(
    r"_v\d+_\d+\.toc(\..*)?|v\d+_[0-9a-z]+\.\w+|(writer|meaning)\.lock(\.held(-journal)?)?|meaning\.vectors(\..*)?"
)
_UNITS = "foltr-search*.s*"


class InUseError(FoltrError):
    """The program runs elsewhere; the message says who."""


@dataclass(frozen=True, slots=True)
class Belonging:
    """One thing that the program has made."""

    what: str
    path: Path
    n_bytes: int


def belongings(paths: Paths, *, home: Path) -> list[Belonging]:
    """Everything that is there, in the order in which it is removed."""
    named = [
        ("the index", [path for path in _inside(paths.index) if _INDEX.fullmatch(path.name)]),
        (
            "the catalogue, what was learned, the folders",
            [p for p in _inside(paths.data_dir) if _OWN.fullmatch(p.name)],
        ),
        ("the resident process's place", [paths.data_dir / "resident"]),
        ("copies of mails that were opened", [paths.data_dir / FOLDER]),
        ("settings", [paths.config_file]),
        ("saved searches", [paths.saved]),
        ("a service of the user", sorted((home / ".config" / "systemd" / "user").glob(f"**/{_UNITS}"))),
    ]
    return [Belonging(what, path, _size(path)) for what, found in named for path in found if os.path.lexists(path)]


def strangers(paths: Paths) -> list[Path]:
    """What lies in the program's folders and is not its own."""
    own = {one.path for one in belongings(paths, home=Path("/nowhere"))} | {paths.index}
    inside = [*_inside(paths.index), *_inside(paths.data_dir), *_inside(paths.config_dir)]
    return [path for path in inside if path not in own]


def remove(found: list[Belonging], paths: Paths) -> None:
    """Delete these and the folders that are empty then; raises InUseError while a process writes the index."""
    if holder := lock_holder(paths.index):
        raise InUseError(f"{holder} is running; end it first")
    lock = FileLock(paths.index / LOCK_FILE) if paths.index.is_dir() else None
    try:
        if lock is not None and not lock.take():
            raise InUseError(f"{lock.read() or 'another process'} is running; end it first")
        for one in found:
            if one.path.is_dir() and not one.path.is_symlink():
                shutil.rmtree(one.path)
            else:
                one.path.unlink(missing_ok=True)
    finally:
        if lock is not None:
            lock.close()
    for folder in (paths.index, paths.data_dir, paths.config_dir):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _inside(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.iterdir())) if folder.is_dir() else iter(())


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        return sum(_size(inner) for inner in path.iterdir())
    return path.lstat().st_size
