"""Which folders were chosen, and how they are remembered."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from app import chosen_folders
from app.chosen_folders import forget_chosen, remember_root, remember_source, remembered_roots, remembered_sources
from app.settings import Paths, SettingsError
from tests.meanwhile import act_meanwhile


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_roots_are_remembered_once_and_forgotten_again(tmp_path: Path) -> None:
    """A remembered root survives as its real path, is kept once, and can be forgotten after it is gone."""
    paths = Paths(tmp_path / "config", tmp_path / "data")
    notes, mail = tmp_path / "notes", tmp_path / "mail"
    notes.mkdir()
    mail.mkdir()
    assert remembered_roots(paths) == ()
    for folder in (notes, mail, str(notes) + "/", notes / ".." / "notes"):
        remember_root(paths, folder)
    assert remembered_roots(paths) == (str(notes), str(mail))
    assert mode(paths.roots) == 0o600
    assert mode(paths.data_dir) == 0o700
    notes.rmdir()
    assert forget_chosen(paths, notes)
    assert not forget_chosen(paths, notes)
    assert remembered_roots(paths) == (str(mail),)


def test_folders_that_two_commands_name_at_once_are_both_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same holds if one of them removes a folder."""
    known = Paths(tmp_path / "config", tmp_path / "data")
    for name in "abc":
        (tmp_path / name).mkdir()
    remember_root(known, tmp_path / "a")
    other = act_meanwhile(chosen_folders, lambda: remember_root(known, tmp_path / "b"), monkeypatch)
    remember_root(known, tmp_path / "c")
    other.join()
    assert set(remembered_roots(known)) == {str(tmp_path / name) for name in "abc"}
    other = act_meanwhile(chosen_folders, lambda: remember_source(known, "mail"), monkeypatch)
    assert forget_chosen(known, tmp_path / "a")
    other.join()
    assert remembered_sources(known) == ("mail",)
    assert len(remembered_roots(known)) == 2


def test_a_root_whose_name_is_not_utf8_survives(tmp_path: Path) -> None:
    """Any folder name that the system allows comes back byte for byte."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        os.mkdir(folder)  # a name that is not text
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    paths = Paths(tmp_path / "config", tmp_path / "data")
    remember_root(paths, os.fsdecode(folder))
    assert [os.fsencode(root) for root in remembered_roots(paths)] == [folder]


def test_what_is_no_folder_is_no_root(tmp_path: Path) -> None:
    """A missing folder and a file are refused by name."""
    paths = Paths(tmp_path / "config", tmp_path / "data")
    (tmp_path / "file").write_bytes(b"")
    for name in ("missing", "file"):
        with pytest.raises(SettingsError, match=name):
            remember_root(paths, tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"v": 2, "roots": []}', b'{"v": 1, "roots": [1]}'])
def test_a_damaged_list_of_roots_is_one_line(tmp_path: Path, content: bytes) -> None:
    """A roots.json that is not ours is refused by name, not lost silently."""
    paths = Paths(tmp_path / "config", tmp_path)
    paths.roots.write_bytes(content)
    with pytest.raises(SettingsError, match=r"roots\.json"):
        remembered_roots(paths)
