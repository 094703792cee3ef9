"""The data folder: whether it is this program's, and closed to other users.

The program uses only a folder that it made or that was empty: a file in it, written before anything else, says so. Any
other folder is left as it is, and in its own the program touches only the names that it gives itself.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.paths import Paths, SettingsError

MARKER = "made-by-foltr-search"
"""the name of the file that says whose the data folder is"""
MARKED = b"foltr-search made this folder and keeps its data here; `foltr-search purge` removes it.\n"
WANTED = "wanted a folder for the data"
_DATABASE = r"(-wal|-shm|-journal)?"
_LOCK = r"lock(\.held(-journal)?)?"
COPY_NAMES = r"([0-9a-f]{16}-)?[0-9a-f]{24}\.eml|far-[0-9a-f]{24}(\.\w+)?|tmp\w{8}\.part|.* - \w{8}\.txt"
"""names of a mail's copy, of a file from another machine, of one left unfinished by a kill, of a text for a pager"""
VECTOR_NAMES = rf"meaning\.{_LOCK}|meaning\.vectors(\..*)?"
INDEX_NAMES = rf"_v\d+_\d+\.toc(\..*)?|v\d+_[0-9a-z]+\.\w+|writer\.{_LOCK}|{VECTOR_NAMES}"
_SMALL = r"(key|roots\.json|screen\.json|devices\.(key|json))(\.\w+)?"
FILE_NAMES = rf"(catalogue|state|ocr)\.sqlite{_DATABASE}|{_SMALL}|(watch|devices)\.{_LOCK}"
RESIDENT_NAMES = rf"socket|index|{_LOCK}"
ASSISTANT = r"[a-z0-9][a-z0-9-]{0,31}"
ASSISTANT_NAMES = rf"{ASSISTANT}\.sqlite{_DATABASE}"
OWN_NAMES = {
    "": rf"{FILE_NAMES}|{MARKER}|index|languages|resident|mail|assistants", "index": INDEX_NAMES,
    "languages": VECTOR_NAMES, "resident": RESIDENT_NAMES, "mail": COPY_NAMES, "assistants": ASSISTANT_NAMES,
}  # fmt: skip
"""folder in the data folder -> the names that the program gives to files and folders there"""
_OF_NOBODY = frozenset({"lost+found", ".DS_Store"})
"""what the system puts into an empty folder"""
_OF_SETTINGS = frozenset({"config.toml", "searches.toml", "simulation.toml", "foltr-search"})
"""what may be there before the data, on systems with one folder for settings, data and caches"""


def create_data_folder(paths: Paths) -> None:
    """Make the data folder, or take an empty one: for its owner only (0700), and marked as this program's.

    Raises SettingsError for any other one, as `make_private` does.
    """
    refuse_foreign(paths)
    paths.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    _mark(paths.data_dir)
    if stat.S_IMODE(paths.data_dir.stat().st_mode) != 0o700:
        try:
            paths.data_dir.chmod(0o700)
        except PermissionError as error:
            raise SettingsError(f"{paths.data_dir}: {WANTED}, got one of another user; set FOLTR_DATA_DIR") from error


def make_private(paths: Paths) -> None:
    """Remove other users' access to the data folder, if there is one, and to what the program made in it."""
    refuse_foreign(paths)
    for path in list(open_to_others(paths)):
        _close(path)


def open_to_others(paths: Paths) -> Iterator[Path]:
    """What the program made in the data folder that other users can access; last the folder itself, if it is in use."""
    for name, own in OWN_NAMES.items():
        folder = paths.data_dir / name
        if not name or not folder.is_symlink():
            yield from (path for path in entries(folder) if _is_open(path) and re.fullmatch(own, path.name))
    if any(entries(paths.data_dir)) and _is_open(real := paths.data_dir.resolve()):
        yield real


def refuse_foreign(paths: Paths) -> None:
    """SettingsError where the data folder is not this program's, and not empty."""
    if os.path.exists(paths.data_dir / MARKER):
        return
    if paths.data_dir.is_symlink() and not paths.data_dir.exists():
        to = os.readlink(paths.data_dir)
        raise SettingsError(f"{paths.data_dir}: {WANTED}, got a link to {to}, which is not there; set FOLTR_DATA_DIR")
    if paths.data_dir.exists() and not paths.data_dir.is_dir():
        raise SettingsError(f"{paths.data_dir}: {WANTED}, got a file; set FOLTR_DATA_DIR")
    shared = _OF_SETTINGS if paths.config_dir.resolve() == paths.data_dir.resolve() else frozenset()
    names = {entry.name for entry in entries(paths.data_dir)} - _OF_NOBODY - shared
    # Another process may begin right now: it makes the marker first.
    if names and not os.path.exists(paths.data_dir / MARKER):
        raise SettingsError(
            f"{paths.data_dir}: wanted an empty folder for the data or one that foltr-search made, got one that "
            f"holds {min(names)!r}; it is left as it is: name another one by FOLTR_DATA_DIR"
        )


def _mark(folder: Path) -> None:
    with suppress(FileExistsError):  # an empty marker counts, too: a kill may come right after it is made
        try:
            handle = os.open(folder / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES):
                raise
            return  # searching needs no writing; whatever must write will say that it cannot
        with os.fdopen(handle, "wb") as file:
            file.write(MARKED)


def entries(folder: Path) -> tuple[Path, ...]:
    """What lies in a folder, by name; nothing where there is none."""
    try:
        return tuple(sorted(folder.iterdir()))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False  # a file of SQLite or of the index that has just gone
    return bool(mode & 0o077) and not stat.S_ISLNK(mode)


def _close(path: Path) -> None:
    try:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.EROFS:
            return  # nothing can be changed there, and searching needs no change
        if not isinstance(error, PermissionError):
            raise
        raise SettingsError(f"{path}: wanted a file of yours alone, got one of another user") from error
