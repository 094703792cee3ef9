"""Files are whole or not there, and their names are on disk when the call returns."""

from __future__ import annotations

import errno
import os
import resource
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from console import durable
from console.durable import UNFINISHED, content_of, create_durably, replace_durably, sync, what_failed, write_beside


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_only_a_small_file_is_read_whole_and_no_pipe_is_waited_for(tmp_path: Path) -> None:
    """A file without an end, as /dev/zero, is read no further than it may be."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"heron")
    assert content_of(tmp_path / "file", 5) == b"heron"
    assert content_of(os.devnull) == b""
    for place, most in ((tmp_path / "pipe", 5), (tmp_path / "file", 4), ("/dev/zero", 5)):
        with pytest.raises(OSError, match=r"it is a pipe|more than \d bytes"):
            content_of(place, most)


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    """The new content, mode 0600 whatever the umask and the former mode, and nothing beside it."""
    os.umask(0)
    (tmp_path / "a").write_bytes(b"old")
    replace_durably(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert names(tmp_path) == ["a"]


def test_of_several_that_create_at_once_one_does(tmp_path: Path) -> None:
    """The others are told; nobody's content is replaced or mixed, and nothing unfinished stays."""

    def create(number: int) -> bool:
        try:
            create_durably(tmp_path / "a", bytes([number]) * 32)
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(create, range(8)))
    assert made.count(True) == 1
    assert (tmp_path / "a").read_bytes() == bytes([made.index(True)]) * 32
    assert names(tmp_path) == ["a"]


def test_a_disk_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a stick; a name that is taken is refused there too."""

    def no_link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(durable.os, "link", no_link)
    create_durably(tmp_path / "a", b"1")
    with pytest.raises(FileExistsError):
        create_durably(tmp_path / "a", b"2")
    assert ((tmp_path / "a").read_bytes(), names(tmp_path)) == (b"1", ["a"])


def test_what_cannot_be_written_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk; a folder in the place of a file is refused too."""
    (tmp_path / "a").write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            replace_durably(tmp_path / "a", bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (tmp_path / "b").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_durably(tmp_path / "b", b"new")
    assert ((tmp_path / "a").read_bytes(), names(tmp_path)) == (b"old", ["a", "b"])


def test_an_unfinished_file_says_so_by_its_name(tmp_path: Path) -> None:
    """So that whoever finds it knows what it was to be, and may delete it."""
    beside = write_beside(tmp_path / "a", b"1")
    assert beside.name.startswith(f"a{UNFINISHED}")
    assert len(beside.name) == len(f"a{UNFINISHED}") + 8


def test_each_name_is_synchronised_after_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content, name, folder, in this order: else a power cut leaves an empty file, or takes the name back."""
    seen: list[str] = []

    def fsync(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        seen.append(f"{'folder' if is_folder else 'content'} {'a' in names(tmp_path)}")

    monkeypatch.setattr(durable.os, "fsync", fsync)
    for write in (create_durably, replace_durably):
        seen.clear()
        (tmp_path / "a").unlink(missing_ok=True)
        write(tmp_path / "a", b"1")
        assert seen == ["content False", "folder True"]


def test_a_file_that_cannot_be_synchronised_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems synchronise no folders, which cannot be helped; a disk that fails is told."""

    def fail(number: int) -> None:
        def fsync(handle: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(durable.os, "fsync", fsync)

    (tmp_path / "a").write_bytes(b"")
    fail(errno.EINVAL)
    sync([tmp_path])
    with pytest.raises(OSError, match="Invalid"):
        sync([tmp_path / "a"])
    fail(errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        sync([tmp_path])


def test_content_then_name_then_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order: else a power cut leaves an empty key, or takes its name back. For the owner alone."""
    seen: list[tuple[bool, bytes]] = []

    def fsync(handle: int) -> None:
        seen.append((stat.S_ISDIR(os.fstat(handle).st_mode), (tmp_path / "a").read_bytes()))

    monkeypatch.setattr(durable.os, "fsync", fsync)
    (tmp_path / "a").write_bytes(b"old")
    replace_durably(tmp_path / "a", b"new")
    assert seen == [(False, b"old"), (True, b"new")]
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_failed_is_told_by_the_name_that_was_meant() -> None:
    """A full disk in plain words, anything else in the system's; no number, and no unfinished name."""
    full = OSError(errno.ENOSPC, "No space left on device", f"/a/b{UNFINISHED}0a1b")
    assert what_failed(full) == "the disk is full; free some space, then try again: /a/b"
    assert what_failed(PermissionError(errno.EACCES, "Permission denied")) == "Permission denied"
    assert what_failed(OSError("cannot listen")) == "cannot listen"
    assert what_failed(OSError(errno.EIO, "Bad", "a\x1b[31mb")) == "Bad: a\N{REPLACEMENT CHARACTER}[31mb"


def test_what_comes_in_parts_replaces_the_file_whole_or_not_at_all(tmp_path: Path) -> None:
    """Also where the parts end in an error: then the old content stays, and nothing beside it."""
    place = tmp_path / "a"
    replace_durably(place, iter([b"one, ", b"", b"two"]))
    assert place.read_bytes() == b"one, two"

    def broken() -> Iterator[bytes]:
        yield b"three"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        replace_durably(place, broken())
    assert place.read_bytes() == b"one, two"
    assert list(tmp_path.iterdir()) == [place]
