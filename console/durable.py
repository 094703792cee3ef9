"""Files that are whole after a power cut, and there once the call has returned; and small ones read whole.

The content is synchronised before it gets its name, and the folder after. Until then it lies in the same folder under
the name with UNFINISHED and eight characters behind it; anybody may delete such a leftover.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

UNFINISHED = ".foltr-unfinished-"
MOST_BYTES = 4_000_000
"""of a small file: to parse so much TOML takes two seconds"""


def content_of(place: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """What a small file holds; OSError also for more bytes than `most`, and for a pipe, which would be waited for."""
    at_once = getattr(os, "O_NONBLOCK", 0)
    with open(place, "rb", opener=lambda path, flags: os.open(path, flags | at_once)) as file:
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is a pipe", str(place))
        if len(content := file.read(most + 1) or b"") > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(place))
    return content


def write_beside(place: Path, content: bytes | Iterable[bytes], *, mode: int = 0o600) -> Path:
    """A durable file of `content`, by default for its owner alone, beside `place` under an unfinished name."""
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
    """The same for a new file; FileExistsError where there is one, also one that another process has just made."""
    beside = write_beside(place, content)
    try:
        take_name(beside, place)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def changing(place: Path) -> Iterator[None]:
    """Within the block nobody else changes files of this folder so; without locks, as on Windows, nobody waits."""
    with ExitStack() as at_end:
        with suppress(ImportError, OSError):
            import fcntl

            folder = os.open(place.parent, os.O_RDONLY)
            at_end.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield


def take_name(beside: Path, place: Path) -> None:
    """Give an unfinished file its name, durably, over nothing: FileExistsError where the name is taken."""
    try:
        os.link(beside, place)
    except OSError as error:  # the name is taken, or the disk knows no links, as a stick's
        if isinstance(error, FileExistsError) or os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place)) from error
        os.rename(beside, place)
    sync([place.parent])


def sync(paths: Iterable[Path]) -> None:
    """Make files and folders durable."""
    for path in paths:
        is_folder = path.is_dir()
        if os.name == "nt" and is_folder:
            continue  # there folders cannot be opened, and names are kept by the file system's own journal
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if not is_folder or error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise  # else its file system synchronises no folders
        finally:
            os.close(handle)


def what_failed(error: OSError) -> str:
    """What the system says, and of which file, by the name that it was to have."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    said = "the disk is full; free some space, then try again" if is_full else error.strerror or str(error)
    named = str(error.filename or "").partition(UNFINISHED)[0]
    return f"{said}: {named}" if named else said
