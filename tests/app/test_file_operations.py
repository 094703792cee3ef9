"""Copying, moving and trashing real files in real folders."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.file_operations import Filed, FileOperationError, copy_to, folder_of, move_to, taken, trash
from console.durable import UNFINISHED

SHARED = Path("/dev/shm")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder of another device than `tmp_path`; one of the two is in memory."""
    for parent in (SHARED, Path("/var/tmp")):
        if parent.is_dir() and parent.stat().st_dev != tmp_path.stat().st_dev:
            with tempfile.TemporaryDirectory(dir=parent) as folder:
                yield Path(folder)
            return
    pytest.skip("one device")


def _files(folder: Path, *names: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f"this is {name}")
        os.utime(folder / name, (1_600_000_000, 1_600_000_000))
    return [str(folder / name) for name in names]


def test_copies_keep_text_and_time_and_the_files_stay(tmp_path: Path) -> None:
    """Two files in a folder, then four in two."""
    paths = _files(tmp_path / "a", "x.txt", "y.txt")
    (tmp_path / "b").mkdir()
    assert copy_to(paths, str(tmp_path / "b")) == [Filed(p, str(tmp_path / "b" / Path(p).name)) for p in paths]
    assert (tmp_path / "b" / "x.txt").read_text() == "this is x.txt"
    assert (tmp_path / "b" / "y.txt").stat().st_mtime == 1_600_000_000
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["x.txt", "y.txt"]


@pytest.mark.parametrize("act", [copy_to, move_to])
def test_nothing_is_overwritten_and_each_refusal_is_told(tmp_path: Path, act: object) -> None:
    """An existing name, two marked files of one name and a missing file are refused; the others are done."""
    paths = _files(tmp_path / "a", "x.txt", "y.txt")
    twin = _files(tmp_path / "c", "y.txt")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.txt").write_text("precious")
    asked = [*paths, *twin, str(tmp_path / "a" / "gone.txt")]
    assert taken(asked, str(tmp_path / "b")) == [paths[0], twin[0]]
    filed = act(asked, str(tmp_path / "b"))  # type: ignore[operator]
    there = "the folder has a file of that name already"
    assert [one.error for one in filed] == [there, "", there, "it is gone"]
    assert (tmp_path / "b" / "x.txt").read_text() == "precious"
    assert Path(paths[0]).read_text() == "this is x.txt"
    assert Path(twin[0]).exists()


def test_a_moved_file_is_there_and_no_longer_here(tmp_path: Path) -> None:
    """On one device it is the same file: its inode stays."""
    (path,) = _files(tmp_path / "a", "x.txt")
    (tmp_path / "b").mkdir()
    number = os.stat(path).st_ino
    (filed,) = move_to([path], str(tmp_path / "b"))
    assert (os.path.exists(path), os.stat(filed.target).st_ino) == (False, number)


def test_moving_to_another_device_copies_and_then_removes(tmp_path: Path, elsewhere: Path) -> None:
    """Text and time arrive; an existing name is refused here, too."""
    (path,) = _files(tmp_path / "a", "x.txt")
    (filed,) = move_to([path], str(elsewhere))
    assert filed == Filed(path, f"{elsewhere}/x.txt")
    assert Path(filed.target).read_text() == "this is x.txt"
    assert (Path(filed.target).stat().st_mtime, os.path.exists(path)) == (1_600_000_000, False)
    _files(tmp_path / "a", "x.txt")
    assert move_to([path], str(elsewhere))[0].error
    assert os.path.exists(path)


@pytest.mark.parametrize("act", [copy_to, move_to])
def test_a_copy_that_breaks_off_leaves_no_half_and_takes_nothing(
    act: Callable[..., list[Filed]], tmp_path: Path, elsewhere: Path
) -> None:
    """As on a full disk: the reason is given, the file stays whole, and its name is free in the folder."""
    resource = pytest.importorskip("resource")
    (path,) = _files(tmp_path / "a", "x.txt")
    Path(path).write_text("x" * 100_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        filed = act([path], str(elsewhere))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert filed == [Filed(path, error="File too large")]
    assert Path(path).read_text() == "x" * 100_000
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("act", [copy_to, move_to])
def test_a_copy_has_its_name_only_once_it_is_whole(
    act: Callable[..., list[Filed]], tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who leaves the program meanwhile finds no file that seems to be one; a name that was taken meanwhile stays."""
    (path,) = _files(tmp_path / "a", "x.txt")
    seen: list[list[str]] = []

    def sync_late(paths: object) -> None:
        seen.append([one.name.partition(UNFINISHED)[2] != "" for one in elsewhere.iterdir()])
        (elsewhere / "x.txt").write_text("another")

    monkeypatch.setattr("app.file_operations.sync", sync_late)
    assert act([path], str(elsewhere)) == [Filed(path, error="the folder has a file of that name already")]
    assert seen == [[True]]
    assert [one.read_text() for one in elsewhere.iterdir()] == ["another"]
    assert Path(path).exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """This happens before anything is done."""
    (tmp_path / "b").mkdir(mode=0o500)
    with pytest.raises(FileOperationError, match="can be written to"):
        folder_of(str(tmp_path / "b"))


def test_a_folder_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """~ is the home folder; nothing, a file, a missing and an impossible folder are refused with what was given."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder_of(" ~ ") == str(tmp_path)
    _files(tmp_path, "x.txt")
    for text, said in (
        ("", "got nothing"),
        (str(tmp_path / "x.txt"), "there is none"),
        ("~/no/where", "there is none"),
        ("~nobody-here/x", "there is none"),
        ("x" * 300 + "/y", "there is none"),
    ):
        with pytest.raises(FileOperationError, match=said):
            folder_of(text)


@pytest.mark.parametrize("act", [copy_to, move_to])
def test_a_new_folder_in_one_that_is_there_is_made(act: Callable[..., list[Filed]], tmp_path: Path) -> None:
    """It is made when files go into it, not before."""
    path, new = _files(tmp_path / "a", "x.txt")[0], folder_of(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    assert act([path], new) == [Filed(path, str(tmp_path / "new" / "x.txt"))]
    assert (tmp_path / "new" / "x.txt").read_text() == "this is x.txt"


TRASHING = "import sys; from app.file_operations import trash; print([one.error for one in trash(sys.argv[1:])])"


def _trashed(home: Path, *paths: str) -> str:
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "share")}
    done = subprocess.run(
        [sys.executable, "-c", TRASHING, *paths], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="the trash of freedesktop.org")
def test_the_trash_is_the_desktops_and_remembers_the_place(tmp_path: Path) -> None:
    """Two files of one name both go there, with their former places; a missing one is reported."""
    (first,), (second,) = _files(tmp_path / "a", "x y.txt"), _files(tmp_path / "b", "x y.txt")
    assert _trashed(tmp_path, first, second, str(tmp_path / "gone")) == "['', '', 'it is gone']"
    assert not os.path.exists(first)
    kept = tmp_path / "share" / "Trash"
    assert sorted(path.name for path in (kept / "files").iterdir()) == ["x y 1.txt", "x y.txt"]
    assert "x%20y.txt" in (kept / "info" / "x y.txt.trashinfo").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="the trash of freedesktop.org")
def test_a_file_of_another_device_goes_into_a_trash_there_or_at_home(tmp_path: Path, elsewhere: Path) -> None:
    """It leaves its folder, and its text is in one of the two trashes."""
    disk, memory = sorted((tmp_path, elsewhere), key=lambda one: one.stat().st_dev == SHARED.stat().st_dev)
    (path,) = _files(memory, "foltr-heron.txt")
    assert _trashed(disk, path) == "['']"
    assert not os.path.exists(path)
    there = [SHARED / f".Trash-{os.getuid()}", disk / "share" / "Trash"]
    found = [bin / "files" / "foltr-heron.txt" for bin in there if (bin / "files" / "foltr-heron.txt").exists()]
    assert [file.read_text() for file in found] == ["this is foltr-heron.txt"]
    for bin in there:  # what this test made, and nothing else
        (bin / "files" / "foltr-heron.txt").unlink(missing_ok=True)
        (bin / "info" / "foltr-heron.txt.trashinfo").unlink(missing_ok=True)


def test_trashing_what_is_gone_is_a_line(tmp_path: Path) -> None:
    """It raises no exception and makes no trash folder."""
    assert trash([str(tmp_path / "gone")]) == [Filed(str(tmp_path / "gone"), error="it is gone")]


def test_a_folder_in_the_place_of_a_file_is_not_trashed(tmp_path: Path) -> None:
    """The question named a file; what another program has put there since stays."""
    (tmp_path / "heron.txt").mkdir()
    assert trash([str(tmp_path / "heron.txt")]) == [Filed(str(tmp_path / "heron.txt"), error="it is no file")]
