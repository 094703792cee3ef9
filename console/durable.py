"""Files that are whole after a power cut, and stay once the call has returned; and small files read whole.

The content is synchronised before it gets its name, and the folder after. Until then it is in the same folder under
the name followed by UNFINISHED and eight characters; anybody may delete such a leftover.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from console.printable import display_path

UNFINISHED = ".foltr-unfinished-"
MOST_BYTES = 4_000_000
"""most bytes of a small file: parsing this much TOML takes two seconds"""


def content_of(place: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """The content of a small file; OSError also for more than `most` bytes, and for a pipe, which might block."""
    at_once = getattr(os, "O_NONBLOCK", 0)
    with open(place, "rb", opener=lambda path, flags: os.open(path, flags | at_once)) as file:
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is a pipe", str(place))
        if len(content := file.read(most + 1) or b"") > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(place))
    return content


def write_beside(place: Path, content: bytes | Iterable[bytes], *, mode: int = 0o600) -> Path:
    """Write `content` durably beside `place` under an unfinished name, by default readable by its owner only."""
    beside = place.with_name(f"{place.name}{UNFINISHED}{os.urandom(4).hex()}")
    try:
        with open(beside, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside


def replace_durably(place: Path, content: bytes | Iterable[bytes], *, mode: int = 0o600) -> None:
    """Make `content` the file at `place`, whatever was there; it holds the old content or the new, never half of it."""
    beside = write_beside(place, content, mode=mode)
    try:
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
    sync([place.parent])


def create_durably(place: Path, content: bytes) -> None:
    """The same for a new file; FileExistsError if there is one, even one just made by another process."""
    beside = write_beside(place, content)
    try:
        take_name(beside, place)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def changing(place: Path) -> Iterator[None]:
    """Within the block no other `changing` of this folder runs; without locks, as on Windows, nobody waits."""
    with ExitStack() as at_end:
        with suppress(ImportError, OSError):
            import fcntl

            folder = os.open(place.parent, os.O_RDONLY)
            at_end.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield


def take_name(beside: Path, place: Path) -> None:
    """Give an unfinished file its name, durably, without overwriting: FileExistsError if the name is taken."""
    try:
        os.link(beside, place)
    except OSError as error:  # the name is taken, or the file system has no links, as on a USB stick
        if isinstance(error, FileExistsError) or os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place)) from error
        os.rename(beside, place)
    sync([place.parent])


def sync(paths: Iterable[Path]) -> None:
    """Make files and folders durable."""
    for path in paths:
        is_folder = path.is_dir()
        if os.name == "nt" and is_folder:
            continue  # folders cannot be opened there; the file system's journal keeps names
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if not is_folder or error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise  # else the file system cannot synchronise folders
        finally:
            os.close(handle)


def what_failed(error: OSError) -> str:
    """What the system says, and for which file, by its intended name, fit to be printed."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    said = "the disk is full; free some space, then try again" if is_full else error.strerror or str(error)
    named = display_path(str(error.filename or "").partition(UNFINISHED)[0])
    return f"{said}: {named}" if named else said
