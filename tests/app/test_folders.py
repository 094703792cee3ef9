"""Suggestions for the first start: folders that exist, counted within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.folders import count_files, suggest_roots


def test_only_folders_with_something_to_index_are_suggested(tmp_path: Path) -> None:
    """An empty folder and a missing one are none; counts leave out what is ignored, and hold what is found by name."""
    for name in (
        "Documents/a.txt",
        "Documents/node_modules/x.js",
        "Documents/b/c.md",
        "Downloads/photo.jpg",
        "src/a.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "Desktop").mkdir()
    found = {Path(one.path).name: one.shown_count for one in suggest_roots(tmp_path)}
    assert found == {"Documents": "2", "Downloads": "1", "src": "1"}


def test_the_desktops_own_names_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the documents folder is called otherwise, user-dirs.dirs says so; a folder comes once."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".config").mkdir()
    (tmp_path / "Dokumente").mkdir()
    (tmp_path / "Dokumente" / "a.txt").write_text("x")
    (tmp_path / "Documents").symlink_to("Dokumente")
    lines = ['XDG_DOCUMENTS_DIR="$HOME/Dokumente"', "# comment", 'XDG_DESKTOP_DIR="$HOME/"']
    (tmp_path / ".config" / "user-dirs.dirs").write_text("\n".join(lines))
    assert [one.path for one in suggest_roots(tmp_path)] == [str(tmp_path / "Dokumente")]


def test_counting_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound the count says that there is more."""
    monkeypatch.setattr("app.folders.MAX_COUNTED", 5)
    for i in range(8):
        (tmp_path / f"{i}.txt").write_text("x")
    assert count_files(str(tmp_path)).shown_count == "5+"
