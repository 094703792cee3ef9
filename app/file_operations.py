"""Copying and moving a user's files to a folder, and putting them into the trash: nothing is ever overwritten.

Each file is done or refused by itself, with one line that says why. A copy gets its name once it is complete, unless
another program has taken it meanwhile: a copy that is cut off, as by leaving the program, is none. A moved file stays
until its new copy is complete.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from app.paths import typed_path
from console.durable import UNFINISHED, sync, take_name
from console.printable import display_path
from indexer.extract.sources.known import source_of


class Filed(Struct, frozen=True):
    path: str
    target: str = ""
    """where it is now; "" for the trash, and where nothing was done"""
    error: str = ""
    """why nothing was done, as one line; "" when it was"""


class FileOperationError(Exception):
    """The folder cannot be used; the message says what was wanted and what came."""


def folder_of(text: str) -> str:
    """The folder that a user typed, absolute; it may be a new one in a folder that is there.

    Raises FileOperationError where there is none that can be written to, or made.
    """
    path = typed_path(text.strip())
    if not text.strip():
        raise FileOperationError("wanted the path of a folder, got nothing")
    is_new = not os.path.lexists(path) and os.path.isdir(path.parent)
    if not os.path.isdir(path) and not is_new:
        raise FileOperationError(f"wanted a folder, and there is none: {display_path(str(path))}")
    if not os.access(path.parent if is_new else path, os.W_OK | os.X_OK):
        raise FileOperationError(f"wanted a folder that can be written to, got {display_path(str(path))}")
    return str(path)


def taken(paths: Sequence[str], folder: str) -> list[str]:
    """Those of `paths` that would be refused: their name is in the folder already, or an earlier one has it."""
    seen: set[str] = set()
    found = []
    for path in paths:
        target = _target(path, folder)
        if target in seen or os.path.lexists(target):
            found.append(path)
        seen.add(target)
    return found


def copy_to(paths: Sequence[str], folder: str) -> list[Filed]:
    """Copy files with their times and permissions; a folder that is not there is made."""
    _make(folder)
    return [_put(path, folder, _copy) for path in paths]


def move_to(paths: Sequence[str], folder: str) -> list[Filed]:
    """Move files, across devices by a copy; a folder that is not there is made."""
    _make(folder)
    return [_put(path, folder, _move) for path in paths]


def _make(folder: str) -> None:
    with contextlib.suppress(OSError):  # where it cannot be made, each file says so
        os.mkdir(folder)


def trash(paths: Sequence[str]) -> list[Filed]:
    """Put files into the system's trash, from which a file manager brings them back."""
    from send2trash import send2trash

    found = []
    for path in paths:
        try:
            _want_file(path)
            if _is_kept_by_another(path):
                raise PermissionError(errno.EPERM, _KEPT)
            send2trash(path)
            found.append(Filed(path))
        except OSError as error:
            found.append(Filed(path, error=_reason(error)))
    return found


_KEPT = "another program keeps all its data in that file"


def _is_kept_by_another(path: str) -> bool:
    found = source_of(path)
    return found is not None and found.is_own


def _want_file(path: str) -> None:
    if not os.path.isfile(path):  # a folder may have its name by now
        raise FileNotFoundError(errno.ENOENT, "it is gone" if not os.path.lexists(path) else "it is no file")


def _target(path: str, folder: str) -> str:
    return os.path.join(folder, os.path.basename(path))


def _put(path: str, folder: str, act: Callable[[str, str], None]) -> Filed:
    target = _target(path, folder)
    if act is _move and _is_kept_by_another(path):
        return Filed(path, error=_KEPT)
    try:
        _want_file(path)
        if os.path.lexists(target):  # known before gigabytes are copied
            raise FileExistsError
        act(path, target)
    except FileExistsError:
        return Filed(path, error="the folder has a file of that name already")
    except OSError as error:
        return Filed(path, error=_reason(error))
    return Filed(path, target)


def _copy(path: str, target: str) -> None:
    beside = Path(f"{target}{UNFINISHED}{os.urandom(4).hex()}")
    try:
        shutil.copyfile(path, beside)
        sync([beside])  # before a move removes the old name, and before permissions that may forbid opening it
        shutil.copystat(path, beside)
        take_name(beside, Path(target))
    finally:
        beside.unlink(missing_ok=True)


def _move(path: str, target: str) -> None:
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        os.replace(path, target)
        return
    except OSError as error:
        os.unlink(target)
        if error.errno != errno.EXDEV:
            raise
    _copy(path, target)
    try:
        os.unlink(path)
    except OSError:
        os.unlink(target)
        raise


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
