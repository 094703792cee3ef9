"""The first start asks for folders; searching works meanwhile."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from app.tui.panels.first_start import FirstStart, FolderList
from tests.app.tui.conftest import Stages


def _folders(types: Any, *paths: Path) -> Any:
    return types.FakeIndexing(
        indexed=False, folders=[types.Folder(str(path), f"{n:,} files") for n, path in enumerate(paths, 1204)]
    )


async def test_folders_are_suggested_with_counts_and_indexing_begins(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """The first one is chosen already; Ctrl+S starts, and the search box has the focus then."""
    one = stage(indexing=_folders(conftest_types, tmp_path / "notes", tmp_path / "papers"))
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, lambda: isinstance(one.app.screen, FirstStart))
        await one.until(pilot, lambda: "1,204 files" in one.text)
        assert "[x] 1,204 files" in one.text
        assert "[ ] 1,205 files" in one.text
        await pilot.press("ctrl+s")
        await one.until(pilot, lambda: one.indexing.started == [(str(tmp_path / "notes"),)])
        await one.search(pilot, "wind")


async def test_enter_starts_and_space_or_a_click_chooses(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """As in other lists of ticks: Enter means yes to what is ticked, and takes no tick away."""
    one = stage(indexing=_folders(conftest_types, tmp_path / "notes", tmp_path / "papers"))
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, lambda: "[x] 1,204 files" in one.text)
        await pilot.press("down", "space")
        await one.until(pilot, lambda: "[x] 1,205 files" in one.text)
        await pilot.click(FolderList, offset=(10, 0))
        await one.until(pilot, lambda: "[ ] 1,204 files" in one.text)
        await pilot.press("enter")
        await one.until(pilot, lambda: one.indexing.started == [(str(tmp_path / "papers"),)])


async def test_enter_in_the_empty_field_starts_too(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """With what is ticked; where nothing is, one line says what is wanted."""
    one = stage(indexing=_folders(conftest_types, tmp_path / "notes"))
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, lambda: "[x] 1,204 files" in one.text)
        await pilot.press("space", "tab", "enter")
        await one.until(pilot, lambda: "Choose a folder with Space, or type its path." in one.text)
        await pilot.press("shift+tab", "space", "tab", "enter")
        await one.until(pilot, lambda: one.indexing.started == [(str(tmp_path / "notes"),)])


async def test_the_folder_under_the_cursor_is_seen_in_a_small_window(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """The panel scrolls to it, at the start and with the cursor."""
    one = stage(indexing=_folders(conftest_types, *(tmp_path / f"folder{n}" for n in range(6))))
    async with one.app.run_test(size=(40, 12)) as pilot:
        await one.until(pilot, lambda: "[x] 1,204 files" in one.text)
        await pilot.press(*["down"] * 5)
        await one.until(pilot, lambda: "[ ] 1,209 files" in one.text)
        await pilot.press("space")
        await one.until(pilot, lambda: "[x] 1,209 files" in one.text)


async def test_another_folder_is_checked(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """A folder that does not exist is refused in one line; one that exists is added and chosen."""
    (tmp_path / "mine").mkdir()
    one = stage(indexing=_folders(conftest_types))
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, lambda: "Name a folder" in one.text)
        box = one.app.screen.query_one("#first-other", Input)
        for absent in ("/nowhere [dim]", "~nobody-here"):
            box.value = absent
            await pilot.press("enter")
            assert f"There is no such folder: {absent}" in one.text
        box.value = str(tmp_path / "mine")
        await pilot.press("enter")
        assert one.app.screen.query_one(FolderList).chosen == (str(tmp_path / "mine"),)
        await pilot.press("ctrl+s")
        await one.until(pilot, lambda: one.indexing.started == [(str(tmp_path / "mine"),)])


async def test_nothing_is_indexed_without_a_choice(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """Esc looks around first; starting without a folder is not possible."""
    one = stage(indexing=_folders(conftest_types))
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, lambda: "Name a folder" in one.text)
        await pilot.press("ctrl+s")
        assert "Choose a folder with Space" in one.text
        await pilot.press("escape")
        await one.until(pilot, lambda: not isinstance(one.app.screen, FirstStart))
        assert one.indexing.started == []


async def test_a_folder_on_the_command_line_is_indexed_and_narrowed_to(stage: Stages) -> None:
    """`foltr-search FOLDER` asks nothing."""
    one = stage(folder="/home/anna/energy")
    async with one.searched("wind", size=(100, 30)):
        assert one.indexing.started == [("/home/anna/energy",)]
        assert one.engine.requests[-1].folder == "/home/anna/energy"
        assert "~/energy" in one.text


async def test_it_fits_a_small_terminal(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """At 80x24 the button is in view."""
    one = stage(indexing=_folders(conftest_types, *(tmp_path / name for name in "abcdef")))
    async with one.app.run_test(size=(80, 24)) as pilot:
        await one.until(pilot, lambda: "1,209 files" in one.text)
        assert "Start indexing" in one.text


async def test_a_path_being_typed_is_not_disturbed_by_the_suggestions(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """In their list its letters would tick folders, and Enter would start to index them."""
    indexing, found = _folders(conftest_types, tmp_path / "notes"), threading.Event()
    suggested = indexing.suggested
    indexing.suggest = lambda: found.wait(60) and suggested
    one = stage(indexing=indexing)
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, lambda: isinstance(one.app.screen, FirstStart))
        await pilot.click("#first-other")
        await pilot.press("t")
        found.set()
        await one.until(pilot, lambda: "1,204 files" in one.text)
        await pilot.press("m", "a", "enter")
        await one.until(pilot, lambda: "no such folder: tma" in one.text)
    assert not one.indexing.started


async def test_what_cannot_be_looked_at_is_said_and_a_folder_can_be_named(
    stage: Stages, conftest_types: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is being looked for any more; the folder one started in may be gone as well."""
    indexing = _folders(conftest_types)
    monkeypatch.setattr(indexing, "suggest", lambda: os.listdir(tmp_path / "missing"))
    one = stage(indexing=indexing)
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, lambda: "It could not be read." in one.text)
        monkeypatch.setattr("os.getcwd", lambda: os.listdir(tmp_path / "missing"))
        await pilot.click("#first-other")
        await pilot.press(".", "enter")
        await one.until(pilot, lambda: "No such file or directory: ." in one.text)
